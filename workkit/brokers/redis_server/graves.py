"""Read a dead set, which is a sorted set by the time of death, from a place on; and ask what stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from workkit.errors import InvalidOptions

AT_ONCE: Final = 1000  # names that are asked for in one command

Place = tuple[float, bytes]
"""A member of the set, by its score and its name."""


def page_after(client: Any, key: str, place: Place, limit: int) -> tuple[list[tuple[bytes, float]], bool]:
    """Read members behind a place, at most so many; and whether there are no more. Many may have one score: those
    before the place are read again and left out.
    """
    found: list[tuple[bytes, float]] = []
    start = 0
    while True:
        page = client.zrange(key, place[0], inf, byscore=True, offset=start, num=limit + 1, withscores=True)
        found += [(name, score) for name, score in page if (score, name) > place]
        if len(page) <= limit:
            return found[:limit], len(found) <= limit
        if len(found) > limit:
            return found[:limit], False
        start += len(page)


def stand(client: Any, key: str, names: Sequence[bytes]) -> list[bool]:
    """Say of each name whether it is a member of a sorted set."""
    pipe = client.pipeline(transaction=False)
    for start in range(0, len(names), AT_ONCE):
        pipe.zmscore(key, names[start : start + AT_ONCE])
    return [score is not None for scores in pipe.execute() for score in scores]


def read_place(after: str) -> Place:
    """Read what these write; empty: before all. Raises InvalidOptions."""
    if not after:
        return -inf, b""
    score, _, name = after.partition(" ")
    try:
        return float(score), bytes.fromhex(name)
    except ValueError:
        trouble, remedy = "is no place in the dead set", "Give the after of a page of dead jobs."
        raise InvalidOptions.about(f"after={after[:100]!r}", trouble, remedy, where="after", given=after) from None


def place_behind(page: Sequence[tuple[bytes, float]], *, after: str) -> str:
    """Write the place behind a page; behind an empty one it is that from which it was read."""
    return f"{page[-1][1]!r} {page[-1][0].hex()}" if page else after


def place_before(after: str) -> str:
    """Write the place before all members that have the score of this one: others may come with the same, whose names
    are less.
    """
    return f"{after.partition(' ')[0]} " if after else after
