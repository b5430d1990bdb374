"""The calendar of a schedule: when the jobs that have a name run within the next 30 days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.recurrence import spread_offset_ms
from workkit.triggers import explain
from workkit.web.ahead.remarks import instants
from workkit.web.cache import Served
from workkit.web.calendar.icalendar import Event, calendar
from workkit.web.words import pause_end

SPAN: Final = timedelta(days=30)
MOST_OF_A_JOB: Final = 100
MOST: Final = 2_000
MOMENT: Final = timedelta(seconds=1)
Dues = Mapping[str, datetime | None]
ABOUT: Final = f"Planned runs of the next 30 days; of each job the next {MOST_OF_A_JOB} at most."


def feed(served: Served) -> bytes:
    """Write the calendar of a schedule, with no argument of any job. Raises what its inspector raises."""
    pulse = served.inspector().pulse()
    now = pulse.now
    jobs = [one.job for one in served.named().values()]
    found = events(
        jobs, schedule=served.name, now=now, paused=pulse.control.paused, dues=_dues(served, now, pulse.control)
    )
    # The hour, so that a calendar in which nothing has changed is the same answer.
    made = now.replace(minute=0, second=0, microsecond=0)
    return calendar(found, title=served.name, about=ABOUT, made=made)


def _dues(served: Served, now: datetime, control: Control) -> Dues:
    """Tell when each recurring job runs next: what somebody has left out lies before that."""
    try:
        return {one.key: one.due for one in served.recurring(now, control).jobs if one.state != "retrying"}
    except Unsupported:
        return {}


def events(
    jobs: Iterable[Job], *, schedule: str, now: datetime, paused: Mapping[str, Pause], dues: Dues
) -> list[Event]:
    """List what is planned, the soonest first: of a paused job from the end of its pause on."""
    found: list[Event] = []
    for job in jobs:
        title = job.name or shown(job.fn)
        words = explain(job.trigger) if job.trigger is not None and job.trigger.recurs else "once"
        found += [
            Event(of=f"{schedule}\0{title}", at=at, title=title, more=f"{shown(job.fn)}\n{words}")
            for at in _instants(job, now, paused, dues.get(title))
        ]
    return sorted(found, key=lambda event: (event.at, event.title))[:MOST]


def _instants(job: Job, now: datetime, paused: Mapping[str, Pause], due: datetime | None) -> Iterator[datetime]:
    begin = _resumed(job, now, paused)
    if begin is None or job.trigger is None:
        return
    spread = timedelta(milliseconds=spread_offset_ms(job.terms, job.fn, job.args))
    if due is not None:
        begin = max(begin, due - MOMENT)
    most = min(MOST_OF_A_JOB, job.terms.count or MOST_OF_A_JOB)
    for at in instants(job.trigger, since=begin - spread, until=now + SPAN, most=most):
        yield at + spread


def _resumed(job: Job, now: datetime, paused: Mapping[str, Pause]) -> datetime | None:
    """Find from when on a job runs; None: it is paused until somebody resumes it."""
    begin = now
    for target in (SCHEDULE, f"fn:{job.fn}", f"job:{job.name or job.id}"):
        if target in paused:
            end = pause_end(paused[target])
            if end is None or end > now + SPAN:
                return None
            begin = max(begin, end)
    return begin
