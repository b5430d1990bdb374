"""Find keys of a schedule that have a wrong type: a server refuses such a key without naming it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import redis

_NATIVE = {
    **dict.fromkeys(("jobs", "errors", "graves", "stats", "control", "unique", "names", "held", "counts"), "hash"),
    "crashed": "hash",
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
        return list(_clauses(wanted, [kind.decode() for kind in pipe.execute()]))
    return []


def types_of(schedule: str, keys: Iterable[str] = ()) -> dict[str, str]:
    """Return the type of each key that every schedule has, and of those `keys` of a listener or a producer."""
    wanted = {f"{schedule}:{part}": kind for part, kind in _NATIVE.items()}
    return wanted | {key: kind for key in keys if (kind := _kind(key, schedule))}


def _kind(key: str, schedule: str) -> str | None:
    part = key.removeprefix(f"{schedule}:")
    return _NATIVE.get(part) or _OF_ONE.get(part.partition(":")[0])


def _clauses(wanted: dict[str, str], found: Iterable[str]) -> Iterator[str]:
    for (key, kind), stands in zip(wanted.items(), found, strict=True):
        if stands not in (kind, "none"):
            yield f"{key} is a {_WORDS.get(stands, stands)}, not a {_WORDS.get(kind, kind)}"
