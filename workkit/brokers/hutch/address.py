"""Read an AMQP URL: one or several hosts, login, virtual host, TLS. Pure text, no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from workkit.brokers.redis_server.address import masked
from workkit.errors import InvalidSchedule
from workkit.text.nearest import nearest_word

DEFAULT_URL: Final = "amqp://guest:guest@127.0.0.1:5672/"
OPTIONS: Final = ("heartbeat", "cacertfile", "certfile", "keyfile", "verify", "server_name_indication")
"""Options of a URL, by the names of RabbitMQ's own."""

_SCHEMES: Final = {"amqp": 5672, "amqps": 5671}
_HEARTBEAT: Final = 30  # seconds, as hutch has it
_NODE = re.compile(r"(?:\[([^\[\]]+)\]|([^:\[\]/@]+))?(?::(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One broker, or the nodes of a cluster, of which any will do. `shown` holds no password."""

    nodes: tuple[tuple[str, int], ...]
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    is_tls: bool = False
    heartbeat: int = _HEARTBEAT
    tls: tuple[tuple[str, str], ...] = ()
    shown: str = ""


def read_address(url: Any) -> Address:
    """Read ``amqp://USER:PASSWORD@HOST:PORT,HOST:PORT/VHOST?heartbeat=30``; ``amqps`` is over TLS. Without a path the
    virtual host is ``/``. Raises InvalidSchedule.
    """
    if not isinstance(url, str):
        remedy = f"Write a URL such as {DEFAULT_URL}"
        raise InvalidSchedule.about(f"amqp={url!r}", "is not a URL", remedy, where="amqp", given=url)
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme.lower() not in _SCHEMES:
        raise _refused(url, "is not an AMQP URL", "Write amqp:// or amqps:// and the host.", accepted=DEFAULT_URL)
    place, _, query = rest.partition("?")
    place, slash, path = place.partition("/")
    login, at, hosts = place.rpartition("@")
    if "@" in path or "#" in url:
        raise _refused(url, "has a login with /, ? or # in it", "Write them as %2F, %3F and %23.")
    if "/" in path.rstrip("/"):
        raise _refused(url, "has two parts after its host", "Write a / in the virtual host as %2F.")
    user, _, password = login.partition(":")
    options = _options(url, query)
    is_tls = scheme.lower() == "amqps"
    if tls := [name for name in options if name != "heartbeat" and not is_tls]:
        raise _refused(url, f"has the option {tls[0]}, which only TLS knows", "Write amqps://.")
    return Address(
        nodes=tuple(_node(url, text, port=_SCHEMES[scheme.lower()]) for text in hosts.split(",")),
        user=unquote(user) if at else "guest",
        password=unquote(password) if at else "guest",
        vhost=unquote(path.rstrip("/")) if slash and path.rstrip("/") else "/",
        is_tls=is_tls,
        heartbeat=int(options.pop("heartbeat", _HEARTBEAT)),
        tls=tuple(options.items()),
        shown=masked(url.partition("?")[0]),
    )


def _options(url: str, query: str) -> dict[str, str]:
    found = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in found.items():
        if name not in OPTIONS:
            near = nearest_word(name, OPTIONS)
            hint = f"Did you mean {near}?" if near else f"Accepted: {', '.join(OPTIONS)}."
            raise _refused(url, f"has an unknown option, {name}", hint, suggestion=near)
        if name == "heartbeat" and not (value.isascii() and value.isdigit() and int(value) < 65536):
            raise _refused(url, f"has heartbeat={value}", "Write whole seconds, 0 for none.")
        if name == "verify" and value not in ("verify_peer", "verify_none"):
            raise _refused(url, f"has verify={value}", "Accepted: verify_peer, verify_none.")
    return found


def _node(url: str, text: str, *, port: int) -> tuple[str, int]:
    found = _NODE.fullmatch(text)
    if found is None or not 0 < int(found[3] or port) < 65536:
        raise _refused(url, "names a host that is none", "Write HOST:PORT, several apart by commas.")
    return found[1] or found[2] or "127.0.0.1", int(found[3] or port)


def _refused(url: str, trouble: str, remedy: str, **fields: Any) -> InvalidSchedule:
    return InvalidSchedule.about(f'amqp="{masked(url)}"', trouble, remedy, where="amqp", given=masked(url), **fields)
