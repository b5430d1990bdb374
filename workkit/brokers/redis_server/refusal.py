"""Translate the exceptions of a server or the client library into ours, without I/O."""

from __future__ import annotations

import re
import ssl
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import redis

from workkit.brokers.redis_server.address import family, is_secure, other_security
from workkit.brokers.redis_server.route import ANSWER_SECONDS, FULL, Misdirected, Unlocated, tls_trouble
from workkit.errors import ServerError, ServerFull, ServerRefused, ServerUnreachable

_WAYS_OUT = (
    'Start a Redis or Valkey there, name another with redis=URL, or use a private one: redis="embedded://.workkit".'
)
_CODES: tuple[tuple[type[Exception], str], ...] = (
    (redis.exceptions.MovedError, "MOVED"),
    (redis.exceptions.AskError, "ASK"),
    (redis.exceptions.TryAgainError, "TRYAGAIN"),
    (redis.exceptions.MasterDownError, "MASTERDOWN"),
    (redis.exceptions.ClusterDownError, "CLUSTERDOWN"),
    (redis.exceptions.ClusterCrossSlotError, "CROSSSLOT"),
    (redis.exceptions.BusyLoadingError, "LOADING"),
    (redis.exceptions.ReadOnlyError, "READONLY"),
    (redis.exceptions.OutOfMemoryError, "OOM"),
    (redis.exceptions.NoPermissionError, "NOPERM"),
    (redis.exceptions.NoScriptError, "NOSCRIPT"),
)
_INNER = re.compile(r"\b(?:OOM|MISCONF|READONLY|NOPERM|WRONGTYPE|CROSSSLOT|NOREPLICAS)\b")
# For versions of the client library without a code: the different texts of its AuthenticationError.
_OLD = (
    ("without any password configured", "ERR"),
    ("no password is set", "ERR"),
    ("Authentication required", "NOAUTH"),
)
_NOT_YET = ("LOADING", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "UNBLOCKED", "UNKILLABLE", "NOREPLICAS")
_WRONG = "the password is wrong."
_FULL = ("OOM", "MISCONF")
_ON_THE_WAY = ("MOVED", "ASK", "TRYAGAIN")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """The facts about a server that messages need.

    `url` has no passwords. `schedule`: the schedule on it. `moves`: another server may take its place, and the next
    call looks for it. `answered`: it has answered once, so a closed connection was cut, not refused. `settings`: the
    settings of its connections. `wrong`: keys of a wrong type, as clauses.
    """

    url: str
    schedule: str = ""
    moves: bool = False
    answered: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    wrong: Sequence[str] = ()


def code_of(error: Exception) -> str:
    """Find the first word of the server's error, its code; "" for an error that is not of a server. Only this function
    reads the text of an error: servers change their texts, and not their codes.

    The client library cuts the code off, and newer versions keep it in an attribute. A script's own error contains the
    code of a command as a word.
    """
    text, code = _said(error), getattr(error, "status_code", None)
    if not isinstance(code, str):
        code = next((code for kind, code in _CODES if isinstance(error, kind)), "")
    if not code and isinstance(error, redis.exceptions.AuthenticationError):
        code = next((code for part, code in _OLD if part in text), "WRONGPASS")
    if not code and (found := re.match(r"[A-Z]{3,}(?= )", text)):
        code = found[0]
    if code in ("", "ERR") and isinstance(error, redis.exceptions.ResponseError):
        inner = _INNER.search(text)
        code = inner[0] if inner else "ERR"
    return "NOPERM" if code == "ACL" else code  # Valkey, for a command within a script


def _said(error: Exception) -> str:
    """Return the server's text, without the words that the client library puts before it in a pipeline."""
    return str(error).rpartition(" of pipeline caused error: ")[2]


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence about a server: its trouble, and the remedy. `link` is the text between the URL and the trouble. If
    there is no remedy, the trouble ends with a full stop.
    """

    trouble: str
    remedy: str = ""
    link: str = ": "


def refusal(error: redis.exceptions.RedisError, place: ServerPlace) -> ServerError:
    """Make our exception for one of the client library."""
    url, text, code = place.url, _said(error), code_of(error)

    def made(kind: type[ServerError], words: Words, **how: Any) -> ServerError:
        rest = f". {words.remedy}" if words.remedy else ""
        message = f"{url}{words.link}{words.trouble}{rest}"
        return kind(
            message, given=url, where=url, trouble=words.trouble.removesuffix("."), remedy=words.remedy or None, **how
        )

    if isinstance(error, Misdirected):
        return made(ServerRefused, Words(error.trouble, error.remedy), lasting=error.lasting)
    if place.moves and code == "READONLY":
        return made(ServerUnreachable, Words("its primary was demoted; the next call asks for the new one."))
    if code == "TRYAGAIN" or (place.moves and code in _ON_THE_WAY):
        return made(ServerUnreachable, Words("its keys are moving to another node", "Try again."))
    for matches, translate, lasting in _REFUSALS:
        if matches(error, code):
            kind = ServerFull if code in _FULL else ServerRefused
            return made(kind, translate(place, text), lasting=lasting)
    if code in _NOT_YET:
        return made(ServerUnreachable, Words(text.rstrip("."), "It is not ready yet; try again."))
    if isinstance(error, (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)):
        return made(ServerUnreachable, _unreachable(error, place))
    return made(ServerRefused, Words(text))


def _unreachable(error: Exception, place: ServerPlace) -> Words:
    text, secure = str(error), is_secure(place.url)
    cause = error.__cause__ or error.__context__
    other = other_security(place.url)
    ways_out = "The next call looks for it again." if place.moves else _WAYS_OUT
    if isinstance(error, Unlocated):
        return Words(error.trouble, error.remedy or ways_out)
    if secure and (found := tls_trouble(error, place.settings)):
        return Words(f"{found}.")
    if secure and not place.answered and (isinstance(cause, ssl.SSLEOFError) or "reset by peer" in text):
        return Words(f"closed without a TLS answer; either it accepts no more clients (maxclients), or try {other}.")
    if isinstance(cause, ssl.SSLError) or "SSL" in text or "WRONG_VERSION_NUMBER" in text:
        return Words("no TLS answer; the port seems to speak plain Redis", f"Try {other}.")
    if isinstance(error, redis.exceptions.TimeoutError):
        if secure and not place.answered:
            seconds = f"{ANSWER_SECONDS:.0f} s"
            return Words(f"no TLS answer within {seconds}; the port seems to speak plain Redis", f"Try {other}.")
        return Words(f"no answer within {ANSWER_SECONDS:.0f} s", ways_out)
    if FULL in text:
        return Words(
            "it accepts no more clients (maxclients); raise maxclients, or close connections that nobody needs",
            "CLIENT LIST names them.",
        )
    if "refused" in text:
        return Words("connection refused", ways_out)
    if any(word in text.lower() for word in ("closed by server", "reset by peer", "broken pipe")):
        if not place.answered and not secure and not place.url.startswith("unix"):
            return Words(f"closed without an answer; if the port speaks TLS, try {other}.")
        return Words("connection cut", ways_out)
    if "No such file" in text:
        return Words("no server listens there", ways_out)
    return Words(text.rstrip("."), ways_out)


def _wants_password(place: ServerPlace, _: str) -> Words:
    scheme, where = _without_login(place)
    return Words("needs a password", f"Write {scheme}://:PASSWORD@{where}.", " ")


def _has_no_password(place: ServerPlace, _: str) -> Words:
    scheme, where = _without_login(place)
    return Words("this server has no password, and one is given", f"Leave it out: {scheme}://{where}.")


def _is_wrong_password(place: ServerPlace, _: str) -> Words:
    user = place.settings.get("username")
    return Words(f"the password of the user {user} is wrong, or there is no such user." if user else _WRONG)


def _without_login(place: ServerPlace) -> tuple[str, str]:
    scheme, _, where = place.url.partition("://")
    return scheme, where.rpartition("@")[2]


def _is_cluster(place: ServerPlace, _: str) -> Words:
    where = place.url.partition("://")[2].partition("/")[0]
    use = f"use {family(place.url)}{'s' if is_secure(place.url) else ''}+cluster://{where}"
    name = place.schedule
    if name.partition("{")[2].partition("}")[0]:
        return Words(f"is one node of a cluster, and slots move from node to node: {use}.", link=" ")
    better = f'Name it "{{{name}}}"' if name else "Put the schedule's name into braces"
    what = f'schedule "{name}"' if name else "a schedule"
    return Words(f"{what} on a cluster: its keys would fall into different slots", f"{better}, and {use}.")


def _is_no_schedule(place: ServerPlace, _: str) -> Words:
    """Move the remedy into the trouble, because the `lost` line of a listener shows only the trouble."""
    name = place.schedule
    see = f"workkit doctor {name} says more" if name else "workkit doctor SCHEDULE says more"
    if place.wrong:
        return Words(f"{' and '.join(place.wrong)}; {see}.")
    return Words(f"a key{f' of {name}' if name else ''} holds another kind of value than the layout says; {see}.")


def _cannot_save(_: ServerPlace, text: str) -> Words:
    what = "append-only file" if "AOF" in text else "snapshot"
    others = "" if what != "snapshot" else ", or set stop-writes-on-bgsave-error no and do without snapshots"
    return Words(
        f"it accepts no writes (MISCONF), because it cannot save its {what}; its log says why, such as a full disk",
        f"Make room for it{others}. Nothing was half-added, so simply add again.",
    )


def _is_of_database(error: BaseException) -> bool:
    """Whether the server has refused the SELECT at the beginning of a connection. Only the login is sent before it."""
    if not isinstance(error, redis.exceptions.ResponseError):
        return False
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    begun = [frame.f_locals.get("self") for frame in frames if frame.f_code.co_name.startswith("on_connect")]
    return any(getattr(connection, "db", 0) for connection in begun)


def _has_no_database(place: ServerPlace, text: str) -> Words:
    number = place.settings.get("db") or 0
    return Words(
        f"there is no database {number} ({text.rstrip('.')})", "Many servers have only database 0: end the URL with /0."
    )


Refusal = tuple[Callable[[Exception, str], bool], Callable[[ServerPlace, str], Words], bool]

# In redis-py, AuthenticationError is a ConnectionError, so check refusals first.
_REFUSALS: tuple[Refusal, ...] = (
    (lambda e, code: isinstance(e, redis.exceptions.AuthenticationError) and code == "ERR", _has_no_password, True),
    (lambda e, code: code == "NOAUTH", _wants_password, True),
    (
        lambda e, code: isinstance(e, redis.exceptions.AuthenticationError) or code == "WRONGPASS",
        _is_wrong_password,
        True,
    ),
    (lambda e, code: code == "NOPERM", lambda place, t: Words(f"this user may not do that ({t})."), True),
    (
        lambda e, code: code == "READONLY",
        lambda place, t: Words(
            "is a read-only replica", f"Name the primary, or use {family(place.url)}+sentinel://.", " "
        ),
        False,
    ),
    (
        lambda e, code: code == "OOM",
        lambda place, t: Words(
            "is out of memory (maxmemory) and stored nothing",
            "Add memory; nothing was half-added, so simply add again.",
            " ",
        ),
        False,
    ),
    (lambda e, code: code == "MISCONF", _cannot_save, False),
    (lambda e, code: code in ("CROSSSLOT", "MOVED", "ASK"), _is_cluster, True),
    (lambda e, code: code == "WRONGTYPE", _is_no_schedule, False),
    (lambda e, code: code == "ERR" and _is_of_database(e), _has_no_database, True),
)


def is_in_client(error: BaseException) -> bool:
    """Whether an error comes from within the client library. The library fails if another thread closes
    its connection.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).startswith("redis.")


# The types of the keys of a schedule: a server refuses a key of another type without naming it.
_NATIVE = {
    **dict.fromkeys(("jobs", "errors", "graves", "stats", "control", "unique", "names", "held", "counts"), "hash"),
    **dict.fromkeys(("crashed", "tags"), "hash"),
    **dict.fromkeys(("next", "again", "listeners", "slots", "dead", "cancelled", "waiting"), "zset"),
    **dict.fromkeys(("windows", "rates", "turns", "first:1", "first:2", "first:3"), "zset"),
    "ended": "set",
    "wake": "list",
    "missed": "stream",
    "watch": "string",
}
_OF_ONE = {"running": "hash", "skip": "set", "progress": "hash", "producer": "string"}  # listener or producer
_WORDS = {"zset": "sorted set"}


def wrong_types(client: Any, schedule: str, keys: Iterable[str]) -> list[str]:
    """Ask the server which of these keys, and of those that every schedule has, have a wrong type.

    Returns a clause for each, such as ``app:next is a string, not a sorted set``; none if the server does not answer.
    """
    wanted = types_of(schedule, keys)
    with suppress(redis.exceptions.RedisError, OSError):
        pipe = client.pipeline(transaction=False)
        for key in wanted:
            pipe.type(key)
        pairs = zip(wanted.items(), map(bytes.decode, pipe.execute()), strict=True)
        return [
            f"{key} is a {_WORDS.get(stands, stands)}, not a {_WORDS.get(kind, kind)}"
            for (key, kind), stands in pairs
            if stands not in (kind, "none")
        ]
    return []


def types_of(schedule: str, keys: Iterable[str] = ()) -> dict[str, str]:
    """Return the type of each key that every schedule has, and of those `keys` of a listener or a producer."""
    wanted = {f"{schedule}:{part}": kind for part, kind in _NATIVE.items()}
    return wanted | {key: kind for key in keys if (kind := _kind(key, schedule))}


def _kind(key: str, schedule: str) -> str | None:
    part = key.removeprefix(f"{schedule}:")
    return _NATIVE.get(part) or _OF_ONE.get(part.partition(":")[0])
