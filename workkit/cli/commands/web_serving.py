"""The server of `workkit web`: its address, or its socket on this machine; its start and its end; the time limits of a
request. Also the same in a thread, beside the listener of the demo.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import re
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from workkit.cli import failure, terminal
from workkit.errors import InvalidOptions, Unsupported

if TYPE_CHECKING:
    from workkit.schedule import Schedule

UNIX = "unix:"
LOCALHOST = "localhost"
BACKLOG = 128
PIECES = ("s", "-", "metrics", "schedules.json")  # the first parts of the addresses of spec/web.md, 1
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
        """The names by which it is known, beside numeric addresses."""
        return frozenset({LOCALHOST} if self.is_local else ())

    def address(self, bound_to: socket.socket, root: str = "") -> str:
        """Return the address of the server: a URL with the actual port, and with the path of the pages."""
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
    """Return the host names of origins. Raises InvalidOptions."""
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
    """Read the path under which browsers see the pages: ``/ops``, or nothing. Raises InvalidOptions."""
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


TICK_S = 1  # seconds between two checks whether systemd needs a sign of life
STOP_S = 3  # the most seconds that requests may take to end at a stop
TURN_S = 0.0005  # the most seconds that a background thread may delay one that answers
COLLECTS = 10_000, 20, 50  # gc thresholds: data of many jobs lives long, and each full collection stops every page
HEADERS_S = 10.0  # the most seconds for a request's headers, from the connection or its first byte
BODY_S = 32.0  # the most seconds for its body; the application itself answers a form after 30 s, with a kinder text


class Deadlines(asyncio.Protocol):
    """A connection that is closed if the headers or the body of a request take too long. Otherwise a client that sends
    a byte now and then could hold it open forever. It wraps a protocol of uvicorn, which limits only the idle time
    after an answer.
    """

    headers_s: float
    body_s: float
    cycle: Any  # of uvicorn: one request and its answer, once the headers are there
    transport: Any
    _waits_for: tuple[object, float] | None = None  # the request before, and seconds to wait
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the headers of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Accept the received bytes, and wait for the missing ones."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Continue with a request that came before the answer was over."""
        super().on_response_complete()  # type: ignore[misc]
        if self.cycle.more_body:
            self._wait()

    def _wait(self) -> None:
        missing = self._missing()
        if missing != self._waits_for:
            self._stop()
            self._waits_for = missing
            if missing is not None:
                self._alarm = asyncio.get_running_loop().call_later(missing[1], self.transport.close)

    def _missing(self) -> tuple[object, float] | None:
        if self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body):
            return self.cycle, self.headers_s
        return (self.cycle, self.body_s) if self.cycle.more_body else None

    def _stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()


def serve(application: Any, binding: Binding, *, root: str, said: str, opens: bool) -> int:
    """Serve an application until it is stopped; return the exit code. Raises Unsupported."""
    with ExitStack() as ends:
        try:
            bound_to = bound(binding)
        except OSError as error:
            raise Unsupported.about(f"--bind {binding}", f"cannot be used: {error.strerror or error}") from error
        ends.callback(bound_to.close)
        address = binding.address(bound_to, root)

        def announce() -> None:
            terminal.say(f"listening  {said.format(address)}")
            if opens and binding.path is None:
                click.launch(address)

        return _run(web_server(application), bound_to, binding, announce=announce)


def web_server(application: Any, *, headers_s: float = HEADERS_S, body_s: float = BODY_S) -> Any:
    """Make the server of an application. It prints nothing. At its end streams end, and requests have 3 s. Its event
    loop sends signs of life to systemd. A request that comes too slowly closes its connection: see `Deadlines`.
    """
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    from workkit.worker.service import service_manager

    manager = service_manager()

    async def alive() -> None:
        manager.alive()

    connection = type("Connection", (Deadlines, AutoHTTPProtocol), {"headers_s": headers_s, "body_s": body_s})
    config = uvicorn.Config(
        application, http=connection, log_config=None, access_log=False, server_header=False, proxy_headers=False,
        lifespan="on", timeout_graceful_shutdown=STOP_S, callback_notify=None if manager.beat_s is None else alive,
        timeout_notify=max(0, int((manager.beat_s or 0) - TICK_S)),
    )  # fmt: skip

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Notify systemd once the server answers."""
            await super().startup(sockets)
            if self.started:
                manager.ready("STATUS=listening")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """End the streams first, because the server waits for unfinished answers."""
            manager.tell("STOPPING=1", "STATUS=stopping")
            application.state.hub.end()
            await super().shutdown(sockets)

    return Server(config)


def _run(server: Any, bound_to: socket.socket, binding: Binding, *, announce: Callable[[], None]) -> int:
    def stop(*_: object) -> None:
        server.should_exit = True

    for one in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal that it has obeyed again, for this process
        signal.signal(one, stop)
    sys.setswitchinterval(TURN_S)  # the process is ours: it has no threads of other programs
    gc.set_threshold(*COLLECTS)
    try:
        announce()  # a reader of this line may stop the server at once
        server.run(sockets=[bound_to])
    finally:
        if binding.path is not None:
            binding.path.unlink(missing_ok=True)
    return 0 if server.started else failure.REFUSED


ADDRESS, ANY_PORT = "127.0.0.1:5040", "127.0.0.1:0"


@contextmanager
def shown(s: Schedule) -> Iterator[str]:
    """Serve the pages of a schedule to this machine, and yield their address: that of `workkit web`, or if it is taken,
    another port. SIGTERM interrupts as Ctrl-C does.
    """
    from workkit import asgi
    from workkit.web.auth import Local

    binding, bound_to = _bound()
    application = asgi.build([s], way=Local(), signer=asgi.signer(), hosts=binding.names)
    server = web_server(application)
    serving = threading.Thread(target=server.run, kwargs={"sockets": [bound_to]}, name="workkit-web", daemon=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(bound_to):
        serving.start()
        try:
            yield binding.address(bound_to)
        finally:
            server.should_exit = True
            serving.join(2 * STOP_S)
            signal.signal(signal.SIGTERM, before)


def _bound() -> tuple[Binding, socket.socket]:
    binding = read_binding(ADDRESS)
    try:
        return binding, bound(binding)
    except OSError:  # the port is taken, perhaps by `workkit web`
        binding = read_binding(ANY_PORT)
        return binding, bound(binding)


def check_extra() -> None:
    """Refuse to continue without the extra. Raises Unsupported."""
    try:
        import jinja2
        import starlette
        import uvicorn  # noqa: F401
    except ImportError as error:
        remedy = "Install it: pip install 'workkit[web]'."
        raise Unsupported.about("workkit web", f"needs the extra web ({error.name} is missing)", remedy) from error
    del jinja2, starlette
