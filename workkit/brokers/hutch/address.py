"""Read an AMQP URL: one or several hosts, login, virtual host, TLS. Pure text, no I/O.

The URL of the management API is read here too; its parts are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

from workkit.brokers.hutch import DEFAULT_URL
from workkit.brokers.redis_server.address import masked
from workkit.errors import InvalidSchedule
from workkit.text.nearest import nearest_word

OPTIONS: Final = ("heartbeat", "cacertfile", "certfile", "keyfile", "verify", "server_name_indication")
"""The options of a URL, by RabbitMQ's own names."""

_SCHEMES: Final = {"amqp": 5672, "amqps": 5671}
_WEB: Final = {"http": 15672, "https": 15671}
_SECURE: Final = ("amqps", "https")
_HEARTBEAT: Final = 30  # seconds, as in hutch
_NODE = re.compile(r"(?:\[([^\[\]]+)\]|([^:\[\]/@]+))?(?::(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One broker, or the nodes of a cluster, any of which can serve. `shown` has no password."""

    nodes: tuple[tuple[str, int], ...]
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    is_tls: bool = False
    heartbeat: int = _HEARTBEAT
    tls: tuple[tuple[str, str], ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The address of a broker's management API, and its user. `path`: the part of the path before ``/api``."""

    nodes: tuple[tuple[str, int], ...]
    user: str
    password: str = field(repr=False)
    path: str = ""
    is_tls: bool = False
    tls: tuple[tuple[str, str], ...] = ()
    shown: str = ""


def read_address(url: Any) -> Address:
    """Read ``amqp://USER:PASSWORD@HOST:PORT,HOST:PORT/VHOST?heartbeat=30``; ``amqps`` is over TLS. Without a path the
    virtual host is ``/``. Raises InvalidSchedule.
    """
    read = _read(url, "amqp", _SCHEMES, example=DEFAULT_URL)
    if "/" in read.path:
        raise read.refused("has two parts after its host", "Write a / in the virtual host as %2F.")
    options = dict(read.options)
    user, password = read.login or ("guest", "guest")
    return Address(
        nodes=read.nodes,
        user=user,
        password=password,
        vhost=unquote(read.path) or "/",
        is_tls=read.is_secure,
        heartbeat=int(options.pop("heartbeat", _HEARTBEAT)),
        tls=tuple(options.items()),
        shown=read.shown,
    )


def read_site(url: Any, address: Address) -> Site:
    """Read ``https://USER:PASSWORD@HOST:PORT/PATH?cacertfile=FILE``. Missing parts come from the AMQP URL; for an empty
    URL all parts but the port do: 15672, with TLS 15671. Raises InvalidSchedule.
    """
    if not url:
        scheme = "https" if address.is_tls else "http"
        nodes = tuple((host, _WEB[scheme]) for host, _ in address.nodes)
        places = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in nodes)
        return Site(
            nodes=nodes,
            user=address.user,
            password=address.password,
            is_tls=address.is_tls,
            tls=address.tls,
            shown=f"{scheme}://{places}",
        )
    read = _read(url, "management", _WEB, example="http://127.0.0.1:15672")
    if "heartbeat" in read.options:
        raise read.refused("has the option heartbeat, which only AMQP knows", "Leave it out.")
    user, password = read.login or (address.user, address.password)
    return Site(
        nodes=read.nodes,
        user=user,
        password=password,
        path=f"/{quote(read.path, safe='/%')}" if read.path else "",
        is_tls=read.is_secure,
        tls=tuple(read.options.items()) or (address.tls if read.is_secure else ()),
        shown=read.shown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The parts of a URL. `option`: the name of the argument that has it."""

    option: str
    url: str = field(repr=False)
    scheme: str = ""
    login: tuple[str, str] | None = field(default=None, repr=False)
    nodes: tuple[tuple[str, int], ...] = ()
    path: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_secure(self) -> bool:
        return self.scheme in _SECURE

    @property
    def shown(self) -> str:
        return masked(self.url.partition("?")[0])

    def refused(self, trouble: str, remedy: str, **fields: Any) -> InvalidSchedule:
        shown = masked(self.url)
        return InvalidSchedule.about(
            f'{self.option}="{shown}"', trouble, remedy, where=self.option, given=shown, **fields
        )


def _read(url: Any, option: str, schemes: Mapping[str, int], *, example: str) -> _Read:
    if not isinstance(url, str):
        raise InvalidSchedule.about(
            f"{option}={url!r}", "is not a URL", f"Write a URL such as {example}", where=option, given=url
        )
    bad = _Read(option=option, url=url)
    scheme, slashes, rest = url.partition("://")
    scheme = scheme.lower()
    if not slashes or scheme not in schemes:
        what = "an AMQP URL" if option == "amqp" else "the URL of a management API"
        words = " or ".join(f"{one}://" for one in schemes)
        raise bad.refused(f"is not {what}", f"Write {words} and the host.", accepted=example)
    place, _, query = rest.partition("?")
    place, _, path = place.partition("/")
    login, at, hosts = place.rpartition("@")
    if "@" in path or "#" in url:
        raise bad.refused("has a login with /, ? or # in it", "Write them as %2F, %3F and %23.")
    user, _, password = login.partition(":")
    options = _options(bad, query)
    if scheme not in _SECURE and (tls := [name for name in options if name != "heartbeat"]):
        secure = next(one for one in schemes if one in _SECURE)
        raise bad.refused(f"has the option {tls[0]}, which only TLS knows", f"Write {secure}://.")
    return _Read(
        option=option,
        url=url,
        scheme=scheme,
        login=(unquote(user), unquote(password)) if at else None,
        nodes=tuple(_node(bad, text, port=schemes[scheme]) for text in hosts.split(",")),
        path=path.rstrip("/"),
        options=options,
    )


def _options(bad: _Read, query: str) -> dict[str, str]:
    found = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in found.items():
        if name not in OPTIONS:
            near = nearest_word(name, OPTIONS)
            hint = f"Did you mean {near}?" if near else f"Accepted: {', '.join(OPTIONS)}."
            raise bad.refused(f"has an unknown option, {name}", hint, suggestion=near)
        if name == "heartbeat" and not (value.isascii() and value.isdigit() and int(value) < 65536):
            raise bad.refused(f"has heartbeat={value}", "Write whole seconds, 0 for none.")
        if name == "verify" and value not in ("verify_peer", "verify_none"):
            raise bad.refused(f"has verify={value}", "Accepted: verify_peer, verify_none.")
    return found


def _node(bad: _Read, text: str, *, port: int) -> tuple[str, int]:
    found = _NODE.fullmatch(text)
    if found is None or not 0 < int(found[3] or port) < 65536:
        raise bad.refused("names a host that is none", "Write HOST:PORT, several apart by commas.")
    return found[1] or found[2] or "127.0.0.1", int(found[3] or port)
