"""The runs of a recurring job that are to come, and what changes of the clock do to them. Pure.

What depends on the trigger and a window alone is worked out once and kept: windows begin at whole hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from workkit.contract.history import PastRun
from workkit.jobs.job import Job
from workkit.text.brief import brief_repr
from workkit.text.glance import capital, clock_at, day_text
from workkit.triggers import Trigger
from workkit.triggers.clock.zone import clock_changes
from workkit.triggers.clock.zone import zone as zone_of
from workkit.web.charts.year import planned_days
from workkit.web.clock_changes import NextChange, moves, next_change, what_came

NEXT: Final = 20
KEPT: Final = 2_000  # windows of triggers
YEAR: Final = timedelta(days=400)
MONTH: Final = timedelta(days=31)
SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A run to come: its day, where the one before has another, its time in the job's zone, and in UTC. `left_out`:
    somebody left it out.
    """

    at: datetime
    day: str
    local: str
    utc: str
    left_out: bool = False

    __repr__ = brief_repr


def coming_runs(
    job: Job, ring: Iterable[PastRun], *, offset_ms: int, now: datetime, zone: tzinfo, most: int = NEXT
) -> list[Coming]:
    """List the next runs, those that were left out among them. `ring`: its last runs; `offset_ms`: by how much its
    spread puts off every run.
    """
    left_out = {run.due for run in ring if run.ending == "skipped" and run.due > now}
    found = sorted({*left_out, *_times(job, offset_ms=offset_ms, now=now, most=most)})[:most]
    coming, before, today = [], None, now.astimezone(zone).date()
    for at in found:
        local, utc = at.astimezone(zone), at.astimezone(UTC)
        other = "" if utc.date() == local.date() else f"{utc:%a} "
        day = "" if local.date() == before else capital(day_text(local.date(), today))
        coming.append(Coming(at=at, day=day, local=clock_at(local), utc=other + clock_at(utc), left_out=at in left_out))
        before = local.date()
    return coming


def _times(job: Job, *, offset_ms: int, now: datetime, most: int) -> Sequence[datetime]:
    """List the times from the next run on. Of a job that runs, or is to be tried again, it is the next by its rule."""
    assert job.trigger is not None, "it recurs"
    offset = timedelta(milliseconds=offset_ms)
    is_next = job.due is not None and job.state in ("waiting", "due", "paused")
    first = job.due if is_next and job.due is not None else now
    known = [first] if is_next else []
    return [*known, *(tick + offset for tick in _ticks(job.trigger, (first - offset).replace(microsecond=0), most))]


@lru_cache(maxsize=KEPT)
def _ticks(trigger: Trigger, after: datetime, most: int) -> tuple[datetime, ...]:
    return tuple(trigger.upcoming(after, most))


def zone_of_times(trigger: Trigger, shown: tzinfo) -> tzinfo:
    """Choose the zone of a job's times: its own; where that is UTC, the one that pages are shown in."""
    return shown if trigger.tz == "UTC" else zone_of(trigger.tz)


def next_clock_change(trigger: Trigger, *, now: datetime) -> NextChange | None:
    """Find the next change of the clock that touches a job; its sentence counts the runs until then from the hour."""
    return _next_change(trigger, _hour(now))


@lru_cache(maxsize=KEPT)
def _next_change(trigger: Trigger, since: datetime) -> NextChange | None:
    return next_change(trigger, now=since)


def planned(trigger: Trigger, *, now: datetime, most: int | None = None) -> Mapping[date, int]:
    """Count the runs of each of the next 30 days (UTC)."""
    return _planned(trigger, _hour(now), most)


@lru_cache(maxsize=KEPT)
def _planned(trigger: Trigger, since: datetime, most: int | None) -> Mapping[date, int]:
    return planned_days(trigger, after=since - SECOND, zone=UTC, most=most)


def clocks_of_year(trigger: Trigger, *, now: datetime) -> Mapping[date, str]:
    """Say for each day (UTC) of the past year and the next month on which the job's clock changes what came of it."""
    return _clocks(trigger, _hour(now))


@lru_cache(maxsize=KEPT)
def _clocks(trigger: Trigger, now: datetime) -> Mapping[date, str]:
    if trigger.tz == "UTC":
        return {}
    found = {}
    for change in clock_changes(trigger.tz, now - YEAR, now + MONTH):
        came = what_came(trigger, change) if change.at <= now else None
        found[change.at.date()] = capital(came or moves(change))
    return found


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
