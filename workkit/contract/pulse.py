"""The pulse of a layout that has no quicker way: what its other calls tell, put together. Also: the pulse of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from workkit.contract.inspector import Counts, Inspector, Pulse
from workkit.contract.listener import ListenerInfo
from workkit.errors import Unsupported
from workkit.jobs.admission import FREE
from workkit.jobs.job import Job, JobState

SOON: Final = 10
"""How many of the first waiting jobs a pulse holds."""

MOST_LISTENERS: Final = 50
"""How many listeners a pulse holds."""

WAITING: tuple[JobState, ...] = ("due", "waiting", "retrying", "paused")

T = TypeVar("T")


def composed_pulse(inspector: Inspector, *, now_ms: int, soon: Sequence[JobState] = WAITING) -> Pulse:
    """Make a pulse from the other calls of an inspector. A part that it refuses is `unknown`, with its reason. `soon`:
    the states whose first jobs it holds.
    """
    unknown: dict[str, str] = {}

    def asked(part: str, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except Unsupported as error:
            unknown.setdefault(part, str(error))
            return otherwise

    def first(state: JobState) -> list[Job]:
        return list(islice(inspector.jobs(state=state), SOON))

    listeners = asked("listeners", inspector.listeners, list[ListenerInfo]())
    first_jobs = [job for state in soon for job in asked("soon", partial(first, state), list[Job]())]
    return Pulse(
        now_ms=now_ms,
        counts=asked("counts", inspector.counts, Counts()),
        control=asked("control", inspector.control, FREE),
        soon=soonest(first_jobs),
        listeners=tuple(sorted(listeners, key=lambda info: info.beat_ms or 0)[:MOST_LISTENERS]),
        unknown=unknown,
    )


def soonest(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Choose the first jobs of several lists, soonest first."""
    return tuple(sorted(jobs, key=_due)[:SOON])


def summed_counts(parts: Sequence[Counts]) -> Counts:
    """Add up the counts of the parts of one schedule. A listener counts once in each."""
    totals: dict[str, int] = {}
    for counts in parts:
        for what, n in counts.totals.items():
            totals[what] = totals.get(what, 0) + n
    summed = {
        field.name: sum(getattr(counts, field.name) for counts in parts)
        for field in fields(Counts)
        if field.name not in ("totals", "late_ms", "unknown")
    }
    late_ms = max((counts.late_ms for counts in parts if counts.late_ms is not None), default=None)
    return Counts(**summed, late_ms=late_ms, totals=totals)


def _due(job: Job) -> float:
    return float("-inf") if job.due is None else job.due.timestamp()
