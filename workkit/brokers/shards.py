"""How one schedule is divided into shards: their names, and the shard to which a job is added. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha1
from typing import TypeVar

from workkit.errors import InvalidSchedule, NotFound

MOST_SHARDS = 64
_SHARD = re.compile(r"\{([^{}]+)\.(0|[1-9]\d?)\}")

S = TypeVar("S")
T = TypeVar("T")


def shard_names(name: str, shards: int) -> list[str]:
    """Name the schedules that together are schedule `name`: itself, or ``{name.0}``, ``{name.1}`` and so on, without
    the braces of `name`. A cluster puts each into a slot of its own. Raises InvalidSchedule.
    """
    if type(shards) is not int or not 1 <= shards <= MOST_SHARDS:
        raise InvalidSchedule(f"shards={shards!r} is out of range. Accepted: 1 to {MOST_SHARDS}.", given=shards)
    if shards == 1:
        return [name]
    bare = name.replace("{", "").replace("}", "")
    return [f"{{{bare}.{number}}}" for number in range(shards)]


def shard_in(name: str) -> tuple[str, int] | None:
    """Read the name of a shard: the schedule that it belongs to, and its number; None for any other name."""
    found = _SHARD.fullmatch(name)
    return (found[1], int(found[2])) if found and int(found[2]) < MOST_SHARDS else None


def shard_of(id: str, shards: int) -> int:
    """Find the shard to which a job is added: the first 8 digits of its id, as a number, modulo the shards."""
    return int(id[:8], 16) % shards


def shard_of_text(text: str, shards: int) -> int:
    """Find the shard of a name, a unique key or a window, by its SHA-1: jobs that share one are in the same shard."""
    return shard_of(sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest(), shards)


def first_found(shards: Sequence[S], id: str, verb: Callable[[S], T]) -> T:
    """Ask the shard of an id first, then the others, and return the first answer. Raises NotFound if no shard has the
    job, if possible one with a suggestion.
    """
    refused: list[NotFound] = []
    for shard in by_home(shards, id):
        try:
            return verb(shard)
        except NotFound as error:
            refused.append(error)
    raise next((error for error in refused if error.suggestion is not None), refused[0])


def by_home(shards: Sequence[S], id: str) -> list[S]:
    """Order the shards: the one of an id first."""
    try:
        home = shard_of(id, len(shards))
    except ValueError:  # it is not the beginning of an id
        home = 0
    return [shards[home], *shards[:home], *shards[home + 1 :]]
