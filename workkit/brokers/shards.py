"""How one schedule is divided into shards: their names, the shard to which a job is added, and the usual rules that
merge the answers of shards (`sharded.py` has the others).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha1
from heapq import merge
from itertools import chain
from typing import Any, TypeVar

from workkit.errors import InvalidSchedule, NotFound
from workkit.jobs.job import Job

MOST_SHARDS = 64
_SHARD = re.compile(r"\{([^{}]+)\.(0|[1-9]\d?)\}")

S = TypeVar("S")
T = TypeVar("T")


def shard_names(name: str, shards: int) -> list[str]:
    """Name the schedules that together are schedule `name`: itself, or ``{name.0}``, ``{name.1}`` and so on, without
    the braces of `name`. A cluster puts each into its own slot. Raises InvalidSchedule.
    """
    if type(shards) is not int or not 1 <= shards <= MOST_SHARDS:
        raise InvalidSchedule(f"shards={shards!r} is out of range. Accepted: 1 to {MOST_SHARDS}.", given=shards)
    if shards == 1:
        return [name]
    bare = name.replace("{", "").replace("}", "")
    return [f"{{{bare}.{number}}}" for number in range(shards)]


def shard_in(name: str) -> tuple[str, int] | None:
    """Read the name of a shard: its schedule and its number; None for any other name."""
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
    job, if possible with a suggestion.
    """
    refused: list[NotFound] = []
    for shard in by_home(shards, id):
        try:
            return verb(shard)
        except NotFound as error:
            refused.append(error)
    raise next((error for error in refused if error.suggestion is not None), refused[0])


def by_home(shards: Sequence[S], id: str) -> list[S]:
    """Order the shards: the shard of an id first."""
    try:
        home = shard_of(id, len(shards))
    except ValueError:  # it is not the beginning of an id
        home = 0
    return [shards[home], *shards[:home], *shards[home + 1 :]]


class Side:
    """One side of all shards, such as their inspectors. Each member follows its rule."""

    def __init__(self, shards: Sequence[Any], rules: Mapping[str, Rule]) -> None:
        self.shards, self.rules = tuple(shards), rules

    def __getattr__(self, member: str) -> Callable[..., Any]:
        """Make the call of a member by its rule."""
        if member not in self.rules:
            raise AttributeError(member)
        return partial(self.rules[member], self, member)

    def ask(self, member: str, *args: Any, **how: Any) -> list[Any]:
        """Ask every shard, in their order."""
        return [getattr(shard, member)(*args, **how) for shard in self.shards]

    def home(self, text: str) -> Any:
        """Find the shard of a name."""
        return self.shards[shard_of_text(text, len(self.shards))]


Rule = Callable[..., Any]
"""The rule of a member: it gets the side, the name of the member and the arguments of the call."""


def first(side: Side, member: str, *args: Any, **how: Any) -> Any:
    """Ask the first shard."""
    return getattr(side.shards[0], member)(*args, **how)


def of_id(side: Side, member: str, job: Job, *args: Any, **how: Any) -> Any:
    """Ask the shard that has the job. Try the shard of its id first. Raises NotFound."""
    return first_found(side.shards, job.id, lambda shard: getattr(shard, member)(job, *args, **how))


def told(side: Side, member: str, *args: Any, **how: Any) -> list[Any]:
    """Call all shards; only the first one records the author of the change."""
    one, *others = side.shards
    return [getattr(shard, member)(*args, **how) for shard in (one, *(shard.by(None) for shard in others))]


def joined(join: Callable[[list[Any]], Any]) -> Rule:
    """Ask every shard, and merge their answers into one."""
    return lambda side, member, *args, **how: join(side.ask(member, *args, **how))


def sides(side: Side, member: str, *args: Any, **how: Any) -> Side:
    """Ask every shard for a side, and make one side of them."""
    return Side(side.ask(member, *args, **how), side.rules)


def in_order(key: Callable[[Any], Any]) -> Rule:
    """Merge the listings of the shards while they are read. Each listing has this order."""
    return joined(lambda parts: merge(*parts, key=key))


def put_together(parts: list[Any]) -> dict[Any, Any]:
    """Merge several mappings into one."""
    return {key: value for part in parts for key, value in part.items()}


def concatenated(parts: list[Any]) -> list[Any]:
    """Concatenate several lists."""
    return list(chain.from_iterable(parts))


def summed_places(parts: list[Any]) -> list[Any]:
    """Add up the numbers at the same place of each list."""
    return [sum(found) for found in zip(*parts, strict=True)]


def first_full(parts: list[Any]) -> Any:
    """Choose the first answer that is not empty, else the last one."""
    return next((part for part in parts if part), parts[-1])
