"""Read URLs that name several servers: sentinels and their service, or nodes of a cluster. Pure text, no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode

from workkit.errors import InvalidSchedule

ONE = ("redis", "rediss", "valkey", "valkeys")
MANY = tuple(f"{one}+{kind}" for one in ONE for kind in ("sentinel", "cluster"))
SCHEMES = ("redis", "rediss", "redis+sentinel", "redis+cluster", "valkey", "valkeys", "unix", "embedded")  # as named

_OPTION = re.compile(r"(?i)password=[^&]*$")

_URL_WITH_LOGIN = re.compile(r"""(?<=["'])\w[\w+.-]*://[^"'\n]*@|\w[\w+.-]*://\S*@""")
_QUERY_PASSWORD = re.compile(r"""(?i)([?&]\w*password=)[^&\s'"]*?(?=[.,:;)]*(?:[&\s'"]|$))""")
_DATABASE = re.compile(r"\d{0,5}", re.ASCII)

Node = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """A URL of several servers, parsed. `single` is a URL for the client library with the user, password, database and
    options; its host has no meaning. `sentinel` holds the options for the sentinels themselves.
    """

    kind: Literal["sentinel", "cluster"]
    nodes: tuple[Node, ...]
    service: str = ""
    single: str = field(repr=False)
    shown: str
    sentinel: dict[str, str] = field(default_factory=dict, repr=False)


def is_secure(url: str) -> bool:
    """Say whether a URL asks for TLS."""
    return _base(url) in ("rediss", "valkeys")


def other_security(url: str) -> str:
    """Write a URL of a server with TLS instead of none, or the other way round."""
    base = _base(url)
    return (base.removesuffix("s") if is_secure(url) else f"{family(url)}s") + url.removeprefix(base)


def family(url: str) -> str:
    """Name the product of a URL's scheme: redis or valkey. Both mean the same server and the same client library."""
    return "valkey" if _base(url) in ("valkey", "valkeys") else "redis"


def plain_url(url: str) -> str:
    """Write a URL of one server as the client library reads it."""
    base = _base(url)
    return base.replace("valkey", "redis") + url.removeprefix(base) if base in ONE else url


def _base(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]


def read_addresses(url: str) -> Addresses:
    """Read a URL with one of the schemes in `MANY`. Raises InvalidSchedule."""
    check_login(url)
    scheme, _, rest = url.partition("://")
    kind = scheme.partition("+")[2]
    place, mark, query = rest.partition("?")
    place, _, path = place.partition("/")
    login, at, hosts = place.rpartition("@")
    options = dict(parse_qsl(query, keep_blank_values=True))
    sentinel = {key: options.pop(f"sentinel_{key}") for key in ("username", "password") if f"sentinel_{key}" in options}
    nodes = tuple(_node(host, url=url, port=26379 if kind == "sentinel" else 6379) for host in hosts.split(","))
    service, _, db = path.rstrip("/").partition("/") if kind == "sentinel" else ("", "", path.rstrip("/"))
    if kind == "sentinel" and not service:
        raise refused_url(
            url,
            f" names no service. Write {scheme}://{hosts}/SERVICE, by the name that the sentinels give to the primary.",
        )
    if not _DATABASE.fullmatch(db):
        raise _no_database(url, db)
    if kind == "cluster" and db.strip("0"):
        raise refused_url(url, f": a cluster has only database 0. Leave /{db} out.")
    path = f"{service}/{db or 0}" if kind == "sentinel" else ""
    user, colon, _ = login.partition(":")
    hidden = f"{user}{':***' if colon else ''}{at}"
    return Addresses(
        kind="sentinel" if kind == "sentinel" else "cluster",
        nodes=nodes,
        service=unquote(service),
        single=plain_url(f"{_base(url)}://{login}{at}localhost/{db}{mark}{urlencode(options)}"),
        shown=f"{scheme}://{hidden}{','.join(written(node) for node in nodes)}{'/' if path else ''}{path}",
        sentinel=sentinel,
    )


def written(node: Node) -> str:
    """Write ``host:port``, with an IPv6 address in brackets."""
    host, port = node
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def masked(url: str) -> str:
    """Hide the passwords of a URL, also of a broken one: all text from the first colon of a possible login to the last
    at sign, and the values of password options.
    """
    login, at, rest = url.rpartition("@")
    scheme, slashes, user = login.partition("://")
    if not at:  # a text in the place of a port may be a password, in a URL without a host
        shown = re.sub(r"^([\w+.-]+://[^][/?#:,]*:)(?!\d+(?:[/?#]|$))[^/?#,]+(?=[/?#]|$)", r"\1***", url)
    elif not re.fullmatch(r"[\w+.-]+", scheme) or not slashes:  # no URL: user and password look alike
        begins = re.search(r":/*|//+", login)
        shown = f"{login[: begins.end()]}***@{rest}" if begins else url
    elif ":" in user:
        shown = f"{scheme}://{user.partition(':')[0]}:***@{'' if _OPTION.search(login) else rest}"
    else:
        shown = url
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", shown)


def without_passwords(text: str) -> str:
    """Remove the passwords of all URLs in a text."""
    text = _URL_WITH_LOGIN.sub(lambda found: masked(found[0]), text)
    return _QUERY_PASSWORD.sub(r"\1***", text)


def refused_url(url: str, trouble: str, *, accepted: str | None = None) -> InvalidSchedule:
    """Make the error ``redis='...'`` and `trouble`; no part of it holds a password."""
    return InvalidSchedule(f"redis={masked(url)!r}{trouble}", given=masked(url), where="redis", accepted=accepted)


def hides(url: str, part: str) -> bool:
    """Say whether `masked` hides this part of a URL."""
    return part not in masked(url)


SIMPLE = re.compile(
    r"(?:redis|valkey)s?://(?:[\w.~%-]*(?::[\w.~%-]*)?@)?[\w.-]+(?::[1-5]?\d{1,4})?(?:/\d{0,4})?", re.ASCII
)
"""A URL that is surely valid: it has a host, perhaps a login, a port and a database, and no options."""


def check_login(url: str) -> None:
    """Refuse a URL with an at sign after its host, except in the value of an option: its password has a character that
    ends the host, so the rest would be read as a server. Raises InvalidSchedule.
    """
    behind = re.sub(r"^[^:]*://[^/?#]*", "", url)
    if "@" in re.sub(r"(?<=[?&])[^=&#@]+=[^&#]*", "", behind):
        raise refused_url(url, " has a password with /, ? or # in it. Write them as %2F, %3F and %23.")


def check_database(url: str) -> None:
    """Refuse a URL of one server if its path is not the number of a database, or if an option names another database:
    the client library would take database 0, or read digits out of the path. Raises InvalidSchedule.
    """
    rest, _, query = url.partition("://")[2].partition("?")
    path = rest.partition("/")[2].removesuffix("/")
    fragment = rest[rest.index("#") :] if "#" in rest else ""
    if fragment or not _DATABASE.fullmatch(path):
        raise _no_database(url, fragment or path)
    named = dict(parse_qsl(query)).get("db")
    if path and named is not None and named != path:
        raise refused_url(url, f" names two databases, {path} and {named}. Keep one.")


def _no_database(url: str, given: str) -> InvalidSchedule:
    shown = "***" if hides(url, given) else repr(given)
    return refused_url(url, f": {shown} is not the number of a database. Write a number after the last /, or nothing.")


def _node(text: str, *, url: str, port: int) -> Node:
    found = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^:\[\]]+))(?::(\d+))?", text)
    if not found or not 0 < int(found[3] or port) < 65536:
        what = "***" if hides(url, text) else repr(text)
        raise refused_url(url, f": {what} is not a server. Write HOST:PORT, several apart by commas.")
    return found[1] or found[2], int(found[3] or port)
