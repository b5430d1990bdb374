"""Where `workkit web` listens, an address and a port or a socket of this machine; and where browsers see it."""

from __future__ import annotations

import ipaddress
import re
import socket
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workkit.errors import InvalidOptions

UNIX = "unix:"
LOCALHOST = "localhost"
BACKLOG = 128
PIECES = ("s", "-", "metrics", "schedules.json")  # with which the addresses of spec/web.md, 1 begin
_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """An address with its port, or the path of a socket."""

    host: str = ""
    port: int = 0
    path: Path | None = None

    def __str__(self) -> str:
        return f"{UNIX}{self.path}" if self.path is not None else f"{_bracketed(self.host)}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.path is not None or self.host == LOCALHOST or ipaddress.ip_address(self.host).is_loopback

    @property
    def names(self) -> frozenset[str]:
        """The names, beside numeric addresses, under which it is known."""
        return frozenset({LOCALHOST} if self.is_local else ())

    def address(self, bound_to: socket.socket, root: str = "") -> str:
        """Say where it listens: a URL with the port that it has got, and with the path of the pages."""
        if self.path is not None:
            return str(self)
        return f"http://{_bracketed(self.host)}:{bound_to.getsockname()[1]}{root}/"


def read_binding(text: str) -> Binding:
    """Read ``ADDRESS:PORT`` or ``unix:PATH``. Raises InvalidOptions."""
    if text.startswith(UNIX) and text != UNIX:
        return Binding(path=Path(text.removeprefix(UNIX)))
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if colon and host and port.isascii() and port.isdigit() and int(port) < 65536:
        try:
            host = host if host == LOCALHOST else str(ipaddress.ip_address(host))
        except ValueError:
            pass
        else:
            return Binding(host=host, port=int(port))
    remedy = "Accepted: ADDRESS:PORT with a numeric address or localhost, such as 127.0.0.1:5040; or unix:PATH."
    raise InvalidOptions.about(f"--bind {text}", "is no address with a port", remedy, given=text, where="bind")


def check_origins(origins: Iterable[str]) -> frozenset[str]:
    """Give the host names of origins. Raises InvalidOptions."""
    found = set()
    for origin in origins:
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            name = None
        if not name or parts.scheme not in ("http", "https") or parts.path.strip("/") or parts.query:
            remedy = "Write it as browsers show it: https://jobs.example.com"
            raise InvalidOptions.about(f"--origin {origin}", "is no origin", remedy, given=origin, where="origin")
        found.add(name)
    return frozenset(found)


def read_root_path(text: str) -> str:
    """Read the path below which browsers see the pages: ``/ops``, or nothing. Raises InvalidOptions."""
    path = text.removesuffix("/")
    if path and not _PATH.fullmatch(path):
        remedy = "Write it as browsers show it, without a final slash: /ops. Accepted: letters, digits, and . _ ~ -"
        raise InvalidOptions.about(f"--root-path {text}", "is no path", remedy, given=text, where="root_path")
    if path.partition("/")[2].partition("/")[0] in PIECES:
        remedy = "Choose another path, such as /ops: it could not be told whether a proxy has stripped it."
        trouble = "begins as addresses of the pages do"
        raise InvalidOptions.about(f"--root-path {text}", trouble, remedy, given=text, where="root_path")
    return path


def bound(binding: Binding) -> socket.socket:
    """Open the socket. Raises OSError."""
    if binding.path is not None:
        if binding.path.exists() and stat.S_ISSOCK(binding.path.stat().st_mode):
            binding.path.unlink()  # of a process that was killed
        ours = socket.socket(socket.AF_UNIX)
        try:
            ours.bind(str(binding.path))
            ours.listen(BACKLOG)
        except BaseException:
            ours.close()
            raise
        return ours
    host = "127.0.0.1" if binding.host == LOCALHOST else binding.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ours = socket.create_server((host, binding.port), family=family, backlog=BACKLOG)
    # Connections take this over. asyncio sets it only where the socket names its protocol, which this one does not:
    # the body of each answer but a connection's first would wait 40 ms for the client to acknowledge the headers.
    ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return ours


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
