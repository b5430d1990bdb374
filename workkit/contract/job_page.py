"""One page of the jobs of a schedule: in their order, by a filter, within a time. Pure; the clock is passed in.

A layout walks its jobs from a place on, and `read_page` takes as many as are asked for. A place is a text that only the
layout reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from workkit.contract.where import Where
from workkit.errors import Ambiguous, InvalidOptions, NotFound
from workkit.jobs.job import Job, JobState
from workkit.text.cells import brief_repr

STEP: Final = 50  # jobs that are looked at, at least, however little time there is

Placed = tuple[Job, Callable[[], str]]
"""A job, and what writes the place behind it, from which a next page goes on."""


def as_it_is(job: Job) -> Job:
    """Hide nothing."""
    return job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """Which jobs are asked for: `limit` at most, of a `state`, that `where` means, behind the place `after`.

    `see` makes of a job what the asker may see of it; the filter looks at that. Looking ends after `budget_ms`.
    """

    state: JobState | None = None
    where: Where = field(default_factory=Where)
    after: str | None = None
    limit: int = 50
    budget_ms: float = 60.0
    see: Callable[[Job], Job] = as_it_is

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs, as the asker may see them. `after`: where to look further; None: there is nothing more. `looked`: how
    many jobs were looked at; `until`: when the last of these is due. `cut`: why the layout looks no further.
    """

    jobs: tuple[Job, ...]
    after: str | None = None
    looked: int = 0
    until: datetime | None = None
    cut: str = ""

    __repr__ = brief_repr


def read_page(walk: Iterator[Placed], query: JobQuery, *, now: datetime, clock_s: Callable[[], float]) -> JobPage:
    """Take a page from a walk that begins behind `query.after`."""
    end_s = clock_s() + query.budget_ms / 1000
    found: list[Job] = []
    looked, until = 0, None
    for job, place in walk:
        looked += 1
        until = job.due or until
        if query.state in (None, job.state):
            seen = query.see(job)
            if query.where.job(seen, now=now):
                found.append(seen)
        if len(found) == query.limit or (looked % STEP == 0 and clock_s() >= end_s):
            after = place()  # before the walk goes on
            if next(walk, None) is None:
                return JobPage(jobs=tuple(found), looked=looked, until=until)
            return JobPage(jobs=tuple(found), after=after, looked=looked, until=until)
    return JobPage(jobs=tuple(found), looked=looked, until=until)


def looked_up(
    where: Where, find: Callable[[str], Job], *, state: JobState | None, now: datetime
) -> tuple[Job, ...] | None:
    """Find the one job that a filter names, of a state or of any; empty where there is none. None: jobs have to be
    looked through, as the filter names none, or begins several, or dead ones are asked for: of one job, there may be
    many dead records.
    """
    if where.lookup is None or state == "dead":
        return None
    try:
        job = find(where.lookup)
    except Ambiguous:
        return None
    except NotFound:
        return ()
    return (job,) if state in (None, job.state) and where.job(job, now=now) else ()


def meant_jobs(jobs: Callable[..., Iterator[Job]], where: Where, *, now: Callable[[], datetime]) -> Iterator[Job]:
    """Read the jobs that are meant. `jobs` is `Inspector.jobs`, of a state perhaps."""
    if where.is_everything:
        return jobs()
    at, found = now(), jobs(named=where.named)
    return (job for job in found if where.job(job, now=at))


def no_place(after: str) -> InvalidOptions:
    """Make the error for a text that is no place of a list."""
    remedy = "Begin at the first page: leave it out."
    return InvalidOptions.about(f'after="{after}"', "is no place in this list", remedy, where="after", given=after)
