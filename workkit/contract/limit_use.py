"""What is in use of limits and rates, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from workkit.jobs.job import Job
from workkit.text.cells import brief_repr

MOST_LIMITS: Final = 200
"""How many limits are told of at once, the worst first."""

MOST_HOLDERS: Final = 10
"""How many holders of one limit are told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A job that has a slot, and the listener that runs it; None: it does not run now, and keeps its slot."""

    job: Job
    listener: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit key, or one rate key, that is in use.

    `key`: as in `Admission`: ``schedule``, ``fn:<name as stored>``, with ``=<value as JSON>`` behind it where a limit
    counts by a parameter, ``over:<name, or else id>``, ``unique:<key>``; or ``window:<key>``, a window of throttle.
    `used` slots of `limit` are taken, by `holders` among others; `waiting` jobs wait for one, or for their turn of a
    rate; the first that waits for a slot has been due since `oldest`. `turn`: the next free turn, where the key is a
    rate's, or the end of a window; `turn_ms`: the time between two. None: not known.
    """

    key: str
    used: int = 0
    limit: int | None = None
    waiting: int | None = 0
    oldest: datetime | None = None
    holders: tuple[Holder, ...] = ()
    turn: datetime | None = None
    turn_ms: float | None = None

    __repr__ = brief_repr

    @property
    def is_alone(self) -> bool:
        """Whether the key allows one run, of a job or for a unique key: then to be full is nothing special."""
        return self.key.startswith(("over:", "unique:"))

    @property
    def is_rate(self) -> bool:
        """Whether it says when a next run may start, not how many may run."""
        return self.turn is not None


def worst_first(found: Iterable[LimitUse], *, like: str = "") -> list[LimitUse]:
    """Order limits: those whose key has a text, then those with most that wait, then the fullest, then rates by their
    next turn, then keys that allow one run. At most 200.
    """
    return sorted(found, key=lambda use: (like not in use.key, _rank(use)))[:MOST_LIMITS]


def _rank(use: LimitUse) -> tuple[int, bool, bool, float, float, str]:
    share = use.used / use.limit if use.limit else 0.0
    turn = -use.turn.timestamp() if use.turn is not None else 0.0
    return -(use.waiting or 0), use.is_alone, use.is_rate, -share, turn, use.key
