"""The page of a recurring job: did its runs go well, when are the next, which terms it has.

Future times depend only on the trigger and a window. They are cached: windows begin at whole hours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final

from workkit.contract.admin import Change
from workkit.contract.history import JOB, Bucket, Day, PastRun
from workkit.contract.record import change_record, deadline_text, job_record, run_record
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.terms import deadline_ms, instant_of
from workkit.text.cells import brief_repr
from workkit.text.glance import at_moment, capital, clock_at, day_text
from workkit.text.wording import epoch_ms, iso, zone_name
from workkit.triggers import Trigger
from workkit.triggers.zone import clock_changes
from workkit.triggers.zone import zone as zone_of
from workkit.verbs.opening import limits_of
from workkit.web.charts.year import planned_days
from workkit.web.page import Asked
from workkit.web.pages.batches import MemberRow
from workkit.web.pages.policies import Policy, Same, policies, same_call
from workkit.web.pages.recurring_job_sections import (
    RUNS,
    JobChangeRow,
    LastRunRow,
    Next,
    PastCharts,
    Run,
    change_rows,
    drawn,
    is_of,
    last_said,
    next_said,
    pause_said,
    run_rows,
    run_said,
    with_details,
)
from workkit.web.pages.single_job_sentences import Wrong
from workkit.web.recurring_jobs import words_of
from workkit.web.words import NextChange, city, left_out, may_wait, moves, next_change, overlap_key, pause_of, what_came

MOST_SINGLES: Final = 1_000
MOST_CHANGES: Final = 2_000  # changes of the schedule that are searched for those of the job
BEFORE: Final = timedelta(days=7)  # before the first day on which a run ended: a failed attempt may be as old
KEPT: Final = {
    "off": 'No history is kept here (history = "off"); next times and the last error are.',
    "counts": 'Only counts are kept here (history = "counts"); next times and the last error are.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringJobView:
    """The content of the page. `words`: when it runs, without its zone; `target`: the target of its pause; `running`: a
    sentence for each run in progress; `asks`: the question before a run by hand that would be left out; `tracebacks`:
    the paths for the last run, for each failed bar, and for each day; `wrong`: the error before the next attempt.
    `late`: that a run is past its deadline; `deadline`: when the next one should have ended; `follow`: the jobs that
    wait for one of its runs.
    """

    schedule: str
    now: datetime
    job: Job
    key: str
    words: str
    zone: str
    next: Next
    last: str
    paused: str
    is_paused_itself: bool
    running: tuple[Run, ...]
    asks: str
    drawn: PastCharts | None
    runs: tuple[LastRunRow, ...]
    coming: tuple[Coming, ...]
    city: str
    clock: NextChange | None
    policies: tuple[Policy, ...]
    changes: tuple[JobChangeRow, ...]
    same: Same | None
    days: tuple[Day, ...]
    unknown: Mapping[str, str]
    log: tuple[str, ...]
    tracebacks: Tracebacks
    wrong: Wrong | None
    follow: tuple[MemberRow, ...]
    late: str = ""
    deadline: str = ""
    recurs: bool = True

    @property
    def title(self) -> str:
        """The job's name, else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def raw(self) -> str:
        """The job's record, to read and copy."""
        return json.dumps(job_record(self.job), indent=2, ensure_ascii=False, default=str)

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "job": job_record(self.job),
            "sentence": f"{self.next.says} {self.last}".strip(),
            "paused": self.paused or None,
            "running": [one.says for one in self.running],
            "upcoming": [{"at": iso(one.at), "left_out": one.left_out} for one in self.coming],
            "clock_change": None if self.clock is None else self.clock.says,
            "runs": [run_record(row.run) for row in self.runs],
            "days": [{"day": one.day.isoformat(), "runs": one.runs, "worst": one.worst} for one in self.days],
            "policies": [{"option": one.option, "says": one.says, "default": one.is_default} for one in self.policies],
            "changes": [change_record(row.change) for row in self.changes],
            "python": None if self.same is None else self.same.python,
            "command": None if self.same is None else self.same.command,
            "plan": self.same.plan or None if self.same is not None else None,
            "left_out": self.asks or None,
            "unknown": dict(self.unknown),
            "log": list(self.log),
            "late": self.late or None,
            "deadline": self.deadline or None,
            "next": [row.record(self.schedule) for row in self.follow],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracebacks:
    """The paths of the pages with tracebacks. `last`: of the last run, "" where it has none; `bars`: by the place of
    the bar; `days`: of the last failure of each day (UTC).
    """

    last: str
    bars: tuple[tuple[int, str], ...]
    days: Mapping[str, str]

    __repr__ = brief_repr


@dataclass(slots=True, kw_only=True)
class _Past:
    """The history of a job; empty where `no_history` gives the reason. `changes`: of all jobs, not masked."""

    ring: list[PastRun] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)
    cells: list[Bucket] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    no_history: str = ""


def look(
    asked: Asked, job: Job, *, offset_ms: int, log: tuple[str, ...], again: Job | None, wrong: Wrong | None,
    follow: tuple[MemberRow, ...],
) -> RecurringJobView:  # fmt: skip
    """Make the view of a masked job. `offset_ms`: by how much its spread delays every run; `log`: the log of its run in
    progress, or of its last failed run; `again`: its run that waits for a retry, and `wrong` its error; `follow`: the
    jobs that wait for one of its runs.
    """
    now, trigger, key = asked.now, job.trigger, job.name or job.id
    assert trigger is not None, "it recurs"
    past = _past(asked, job, key)
    zone = zone_of_times(trigger, asked.zone)
    coming = coming_runs(job, past.ring, offset_ms=offset_ms, now=now, zone=zone)
    first = next((one.at for one in coming if not one.left_out), None)
    running = [
        run_said(run, info.listener, now=now, zone=asked.zone)
        for info in asked.pulse.listeners
        for run in info.running
        if run.id == job.id
    ]
    drawing = None
    if not past.no_history:
        drawing = drawn(
            past.ring,
            past.days,
            past.cells,
            planned=planned(trigger, now=now),
            clocks=clocks_of_year(trigger, now=now),
            timeout_ms=job.options.timeout_ms,
            running=bool(running),
            now=now,
            zone=asked.zone,
        )
    dead = asked.dead()
    traceback = partial(dead.traceback_path, which=key, retrying=0 if again is None else again.attempt)
    last = next((run for run in past.ring if run.ending != "skipped"), None)
    tracebacks = Tracebacks(
        last=traceback(last) if last is not None else "",
        bars=tuple((x, path) for x, run in (drawing.bars.failed if drawing else ()) if (path := traceback(run))),
        days={one.died.date().isoformat(): one.path for one in reversed(dead.of_job(key))},
    )
    changes = (asked.veil.change(one) for one in past.changes if is_of(one, job))
    pause = pause_of(job, asked.pulse.control)
    target = next((one for one, found in asked.pulse.control.paused.items() if found is pause), "")
    words = words_of(job)
    return RecurringJobView(
        schedule=asked.served.name,
        now=now,
        job=job,
        key=key,
        words=words.removesuffix(f" {trigger.tz}"),
        zone=trigger.tz if words.endswith(f" {trigger.tz}") else "",
        next=next_said(job, first, has_run=_has_run(past), now=now, zone=asked.zone),
        last=last_said(past.ring, job.error, now=now, zone=asked.zone),
        paused=pause_said(asked.veil.pause(pause), target, past.changes, now=now, zone=asked.zone),
        is_paused_itself=target == f"{JOB}{key}",
        running=tuple(running),
        asks=left_out(job, limits_of(asked.served.s, like=overlap_key(job)) if may_wait(job) else ()),
        drawn=drawing,
        runs=tuple(run_rows(past.ring, now=now, zone=asked.zone, traceback=traceback)),
        coming=tuple(coming),
        city=city(zone_name(zone)),
        clock=next_clock_change(trigger, now=now),
        policies=tuple(policies(job, asked.pulse.control, offset_ms=offset_ms, now=now, zone=asked.zone)),
        changes=tuple(change_rows(changes, now=now, zone=asked.zone)),
        same=same_call(job, now=now),
        days=tuple(past.days),
        unknown={"history": past.no_history} if past.no_history else {},
        log=log,
        tracebacks=tracebacks,
        wrong=wrong,
        follow=follow,
        late=late_said(asked, job),
        deadline=_deadline_said(asked, job, first),
    )


def late_said(asked: Asked, job: Job) -> str:
    """Say that a run of the job is past its deadline, or cannot meet it; "" if none is."""
    late = next((one for one in asked.pulse.counts.past_deadline if one.job.id == job.id), None)
    return "" if late is None else f"A run {'is ' if late.is_past else ''}{deadline_text(late, asked.zone)}."


def _deadline_said(asked: Asked, job: Job, due: datetime | None) -> str:
    by = None if due is None else deadline_ms(job.terms, epoch_ms(due))
    at = None if by is None else instant_of(by)
    return "" if at is None else f"Its next run should have ended {at_moment(at, asked.now, asked.zone)}."


def _past(asked: Asked, job: Job, key: str) -> _Past:
    """Read the past of a job: its last 60 runs, its days, its counts since its first one, and its changes."""
    inspector, now_ms = asked.served.inspector(), asked.pulse.now_ms
    try:
        ring = list(inspector.history.lately([key])[key])
        days = inspector.history.days(key)
        first = datetime.combine(days[0].day if days else asked.now.date(), time(), UTC) - BEFORE
        cells = inspector.history.past(f"{JOB}{key}", since_ms=epoch_ms(first), until_ms=now_ms + 1, tier="d")
        shown = ring[:RUNS]
        since = min((run.ended for run in shown), default=asked.now) - timedelta(minutes=1)
        singles = [
            run
            for run in asked.served.recent.read(inspector.history.runs, asked.now)[:MOST_SINGLES]
            if run.ended >= since
        ]
        ring = with_details(ring, (asked.veil.run(run) for run in singles if run.id == job.id or run.name == key))
        changes = list(islice(inspector.history.changes(), MOST_CHANGES))
    except Unsupported as error:
        return _Past(no_history=str(error))
    kept = KEPT.get(asked.pulse.control.history, "") if not ring and not days else ""
    return _Past(ring=ring, days=days, cells=cells, changes=changes, no_history=kept)


def _has_run(past: _Past) -> bool:
    return bool(past.days) or any(run.ending != "skipped" for run in past.ring) or bool(past.no_history)


NEXT: Final = 20
WINDOWS_KEPT: Final = 2_000  # most windows in the cache
YEAR: Final = timedelta(days=400)
MONTH: Final = timedelta(days=31)
SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A future run: its day, where it differs from that of the run before, its time in the job's zone, and in UTC.
    `left_out`: a user skipped it.
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
    """List the next runs, with the skipped ones. `ring`: its last runs; `offset_ms`: by how much its spread delays
    every run.
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
    """List the times from the next run on. For a job that runs or waits for a retry, the trigger gives the next run."""
    assert job.trigger is not None, "it recurs"
    offset = timedelta(milliseconds=offset_ms)
    is_next = job.due is not None and job.state in ("waiting", "due", "paused")
    first = job.due if is_next and job.due is not None else now
    known = [first] if is_next else []
    return [*known, *(tick + offset for tick in _ticks(job.trigger, (first - offset).replace(microsecond=0), most))]


@lru_cache(maxsize=WINDOWS_KEPT)
def _ticks(trigger: Trigger, after: datetime, most: int) -> tuple[datetime, ...]:
    return tuple(trigger.upcoming(after, most))


def zone_of_times(trigger: Trigger, shown: tzinfo) -> tzinfo:
    """Return the zone of a job's times: its own; where that is UTC, the zone of the page."""
    return shown if trigger.tz == "UTC" else zone_of(trigger.tz)


def next_clock_change(trigger: Trigger, *, now: datetime) -> NextChange | None:
    """Find the next change of the clock that touches a job. Its sentence counts the runs until then from the present
    hour.
    """
    return _next_change(trigger, _hour(now))


@lru_cache(maxsize=WINDOWS_KEPT)
def _next_change(trigger: Trigger, since: datetime) -> NextChange | None:
    return next_change(trigger, now=since)


def planned(trigger: Trigger, *, now: datetime, most: int | None = None) -> Mapping[date, int]:
    """Count the runs of each of the next 30 days (UTC)."""
    return _planned(trigger, _hour(now), most)


@lru_cache(maxsize=WINDOWS_KEPT)
def _planned(trigger: Trigger, since: datetime, most: int | None) -> Mapping[date, int]:
    return planned_days(trigger, after=since - SECOND, zone=UTC, most=most)


def clocks_of_year(trigger: Trigger, *, now: datetime) -> Mapping[date, str]:
    """Return the effect of each clock change on the job, by day (UTC), for the past year and the next month."""
    return _clocks(trigger, _hour(now))


@lru_cache(maxsize=WINDOWS_KEPT)
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
