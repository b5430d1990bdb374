"""The page of a job that recurs: did its runs go well, when are the next, what holds for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from workkit.contract.changes import Change
from workkit.contract.history import JOB, KEPT_MS, Bucket, Day, PastRun
from workkit.contract.record import change_record, job_record, run_record
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.wording import iso, zone_name
from workkit.web.ahead.clock_words import NextChange, city
from workkit.web.page import Asked
from workkit.web.recurring.overlapping import left_out, may_wait, overlap_key
from workkit.web.recurring.past import Drawn, drawn
from workkit.web.recurring.policies import Policy, policies
from workkit.web.recurring.rows import words_of
from workkit.web.recurring.said import Next, Run, last_said, next_said, pause_said, run_said
from workkit.web.recurring.same import Same, same_call
from workkit.web.recurring.tables import RUNS, ChangeRow, RunRow, change_rows, is_of, run_rows, with_details
from workkit.web.recurring.upcoming import (
    Coming,
    clocks_of_year,
    coming_runs,
    next_clock_change,
    planned,
    zone_of_times,
)
from workkit.web.words import pause_of

MOST_SINGLES: Final = 1_000
MOST_CHANGES: Final = 2_000  # of the schedule, among which those of the job are looked for
KEPT: Final = {
    "off": 'No history is kept here (history = "off"); next times and the last error are.',
    "counts": 'Only counts are kept here (history = "counts"); next times and the last error are.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringJobView:
    """What the page shows. `words`: when it runs, without its zone; `target`: what its pause names; `running`: a
    sentence for each run that goes on; `asks`: the question before a run by hand that would be left out.
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
    drawn: Drawn | None
    runs: tuple[RunRow, ...]
    coming: tuple[Coming, ...]
    city: str
    clock: NextChange | None
    policies: tuple[Policy, ...]
    changes: tuple[ChangeRow, ...]
    same: Same | None
    days: tuple[Day, ...]
    unknown: Mapping[str, str]
    recurs: bool = True

    @property
    def title(self) -> str:
        """The job's name, else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def raw(self) -> str:
        """The job's record, to be read and copied."""
        return json.dumps(job_record(self.job), indent=2, ensure_ascii=False, default=str)

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
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
        }


@dataclass(slots=True, kw_only=True)
class _Past:
    """What history has of a job; nothing, where `no_history` says why."""

    ring: list[PastRun] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)
    cells: list[Bucket] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    no_history: str = ""


def look(asked: Asked, job: Job, *, offset_ms: int) -> RecurringJobView:
    """Make the view of a job that was found, and is masked. `offset_ms`: by how much its spread puts off every run."""
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
        asks=left_out(job, asked.served.inspector().limits(like=overlap_key(job)) if may_wait(job) else ()),
        drawn=drawing,
        runs=tuple(run_rows(past.ring, now=now, zone=asked.zone)),
        coming=tuple(coming),
        city=city(zone_name(zone)),
        clock=next_clock_change(trigger, now=now),
        policies=tuple(policies(job, asked.pulse.control, offset_ms=offset_ms, now=now, zone=asked.zone)),
        changes=tuple(change_rows((one for one in past.changes if is_of(one, job)), now=now, zone=asked.zone)),
        same=same_call(job, now=now),
        days=tuple(past.days),
        unknown={"history": past.no_history} if past.no_history else {},
    )


def _past(asked: Asked, job: Job, key: str) -> _Past:
    """Read the past of a job: its last 60 runs, its days, its counts of 400 days, and who changed it."""
    inspector, now_ms = asked.served.inspector(), asked.pulse.now_ms
    try:
        ring = list(inspector.history.lately([key])[key])
        days = inspector.history.days(key)
        cells = inspector.history.past(f"{JOB}{key}", since_ms=now_ms - KEPT_MS["d"], until_ms=now_ms + 1, tier="d")
        shown = ring[:RUNS]
        since = min((run.ended for run in shown), default=asked.now) - timedelta(minutes=1)
        singles = [
            run for run in asked.served.recent.read(inspector.history, asked.now)[:MOST_SINGLES] if run.ended >= since
        ]
        ring = with_details(ring, (asked.veil.run(run) for run in singles if run.id == job.id or run.name == key))
        changes = [asked.veil.change(one) for one in islice(inspector.history.changes(), MOST_CHANGES)]
    except Unsupported as error:
        return _Past(no_history=str(error))
    kept = KEPT.get(asked.pulse.control.history, "") if not ring and not days else ""
    return _Past(ring=ring, days=days, cells=cells, changes=changes, no_history=kept)


def _has_run(past: _Past) -> bool:
    return bool(past.days) or any(run.ending != "skipped" for run in past.ring) or bool(past.no_history)
