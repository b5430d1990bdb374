"""What a server or the client library refuses, in our words: exceptions to exceptions, without I/O."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from workkit.brokers.redis_server.route import ANSWER_SECONDS, FULL, Misdirected, Unlocated
from workkit.brokers.redis_server.tls import trouble
from workkit.errors import ServerError, ServerFull, ServerRefused, ServerUnreachable

_WAYS_OUT = "Start a Redis or Valkey there, name another with --redis URL, or use a private one: --embedded."
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
)
_NOT_YET = ("LOADING", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "UNBLOCKED", "UNKILLABLE", "NOREPLICAS")
_FULL = re.compile(r"\b(?:OOM|MISCONF)\b")  # the script's own error may stand around it
_ON_THE_WAY = ("MOVED", "ASK", "TRYAGAIN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What messages say of a server: its URL without passwords, the schedule it is used for, whether its place may
    change (it is found anew then), whether it ever answered (what is closed later is cut, not refused), the
    settings of its connections, and which keys have a type that is not theirs, where that was refused.
    """

    url: str
    schedule: str = ""
    moves: bool = False
    answered: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    wrong: Sequence[str] = ()


def code_of(error: Exception) -> str:
    """The word with which the server began its error; versions of the client library cut it off or leave it."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    found = re.match(r"[A-Z]{2,}(?= )", _said(error))
    return found[0] if found else ""


def _said(error: Exception) -> str:
    """What the server said, without what the client library puts before it in a pipeline."""
    return str(error).rpartition(" of pipeline caused error: ")[2]


def refusal(error: redis.exceptions.RedisError, place: Place) -> ServerError:
    """Our exception for one of the client library's."""
    url, text, code = place.url, _said(error), code_of(error)
    if isinstance(error, Misdirected):
        return ServerRefused(f"{url}: {text}", given=url, lasting=error.lasting)
    if place.moves and code == "READONLY":
        return ServerUnreachable(f"{url}: its primary was demoted; the next call asks for the new one.", given=url)
    if code == "TRYAGAIN" or (place.moves and code in _ON_THE_WAY):
        return ServerUnreachable(f"{url}: its keys are on their way to another node. Try again.", given=url)
    for matches, translate, lasting in _REFUSALS:
        if matches(error, text):
            kind = ServerFull if _FULL.search(f"{code} {text}") else ServerRefused
            return kind(f"{url}{translate(place, text)}", given=url, lasting=lasting)
    if code in _NOT_YET:
        return ServerUnreachable(f"{url}: {text.rstrip('.')}. It is not ready yet; try again.", given=url)
    if isinstance(error, (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)):
        return ServerUnreachable(f"{url}: {_unreachable(error, place)}", given=url)
    return ServerRefused(f"{url}: {text}", given=url)


def _unreachable(error: Exception, place: Place) -> str:
    text, secure = str(error), place.url.startswith("rediss")
    cause = error.__cause__ or error.__context__
    other = "redis" + place.url.removeprefix("rediss") if secure else "rediss" + place.url.removeprefix("redis")
    ways_out = "The next call looks for it anew." if place.moves else _WAYS_OUT
    if isinstance(error, Unlocated):
        return text if text.endswith(".") else f"{text}. {ways_out}"
    if secure and (found := trouble(error, place.settings)):
        return f"{found}."
    if secure and not place.answered and (isinstance(cause, ssl.SSLEOFError) or "reset by peer" in text):
        return f"closed without a TLS answer; either it takes no more clients (maxclients), or try {other}."
    if isinstance(cause, ssl.SSLError) or "SSL" in text or "WRONG_VERSION_NUMBER" in text:
        return f"no TLS answer; the port seems to speak plain Redis. Try {other}."
    if isinstance(error, redis.exceptions.TimeoutError):
        if secure and not place.answered:
            return f"no TLS answer within {ANSWER_SECONDS:.0f} s; the port seems to speak plain Redis. Try {other}."
        return f"no answer within {ANSWER_SECONDS:.0f} s. {ways_out}"
    if FULL in text:
        return (
            "it has as many clients as it takes (maxclients); raise maxclients, or close connections that nobody "
            "needs. CLIENT LIST names them."
        )
    if "refused" in text:
        return f"connection refused. {ways_out}"
    if any(word in text.lower() for word in ("closed by server", "reset by peer", "broken pipe")):
        if not place.answered and not secure and not place.url.startswith("unix"):
            return f"closed without an answer; if the port speaks TLS, try {other}."
        return f"connection cut. {ways_out}"
    if "No such file" in text:
        return f"no server listens there. {ways_out}"
    return f"{text.rstrip('.')}. {ways_out}"


def _wants_password(place: Place, _: str) -> str:
    scheme, _, where = place.url.partition("://")
    return f" needs a password. Write {scheme}://:PASSWORD@{where.rpartition('@')[2]}."


def _is_cluster(place: Place, _: str) -> str:
    where = place.url.partition("://")[2].partition("/")[0]
    scheme = "rediss" if place.url.startswith("rediss") else "redis"
    use = f"use {scheme}+cluster://{where}"
    name = place.schedule
    if name.partition("{")[2].partition("}")[0]:
        return f" is one node of a cluster, and slots move from node to node: {use}."
    better = f'Name it "{{{name}}}"' if name else "Put the schedule's name into braces"
    what = f'schedule "{name}"' if name else "a schedule"
    return f": {what} on a cluster: its keys would fall into different slots. {better}, and {use}."


def _is_no_schedule(place: Place, _: str) -> str:
    """In one sentence, with the remedy: a listener's `lost` line shows the first."""
    name = place.schedule
    see = f"workkit doctor {name} says more" if name else "workkit doctor SCHEDULE says more"
    if place.wrong:
        return f": {' and '.join(place.wrong)}; {see}."
    return f": a key{f' of {name}' if name else ''} holds another kind of value than the layout says; {see}."


def _cannot_save(_: Place, text: str) -> str:
    what = "append-only file" if "AOF" in text else "snapshot"
    others = "" if what != "snapshot" else ", or set stop-writes-on-bgsave-error no and go without snapshots"
    return (
        f": it takes no writes (MISCONF), because it cannot save its {what}; its log says why, such as a full disk. "
        f"Make room for it{others}. Nothing was half-added, so simply add again."
    )


Refusal = tuple[Callable[[Exception, str], bool], Callable[[Place, str], str], bool]

# redis-py files AuthenticationError under ConnectionError, so refusals are looked for first.
_REFUSALS: tuple[Refusal, ...] = (
    (
        lambda e, t: "NOAUTH" in t or "Authentication required" in t or "called without any password" in t,
        _wants_password,
        True,
    ),
    (
        lambda e, t: isinstance(e, redis.exceptions.AuthenticationError) or "WRONGPASS" in t,
        lambda place, t: ": the password is wrong.",
        True,
    ),
    (lambda e, t: "NOPERM" in t, lambda place, t: f": this user may not do that ({t}).", True),
    (
        lambda e, t: code_of(e) == "READONLY" or "READONLY" in t,
        lambda place, t: " is a read-only replica. Name the primary, or use redis+sentinel://.",
        False,
    ),
    (
        lambda e, t: re.search(r"\bOOM\b", f"{code_of(e)} {t}") is not None,
        lambda place, t: (
            " is out of memory (maxmemory) and took nothing. Add memory; nothing was half-added, so simply add again."
        ),
        False,
    ),
    (lambda e, t: re.search(r"\bMISCONF\b", f"{code_of(e)} {t}") is not None, _cannot_save, False),
    (lambda e, t: code_of(e) in ("CROSSSLOT", "MOVED", "ASK"), _is_cluster, True),
    (lambda e, t: code_of(e) == "WRONGTYPE", _is_no_schedule, False),
    (lambda e, t: "DB index is out of range" in t, lambda place, t: ": there is no such database.", True),
)
