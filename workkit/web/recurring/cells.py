"""What stands in the cells of a recurring job's row. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import ceil
from typing import Final

from workkit.contract.history import NO_RUN, PastRun
from workkit.contract.where import ran_last
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.brief import brief_repr
from workkit.text.duration import duration_text
from workkit.text.glance import moment
from workkit.web.charts.bars import Bars, bars
from workkit.web.charts.shapes import STATES, Kind, kind_of
from workkit.web.recurring_jobs import Row, in_a_row, words_in
from workkit.web.words import pause_end, until

GLYPHS: Final[dict[Kind, str]] = {
    "done": "done", "late": "late", "fail": "fail", "miss": "late", "left": "wait", "over": "done",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Two lines: `text`, and `two` below it. `kind`: the sign before the text, or its class."""

    text: str
    two: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row as the page shows it. `p95_ms`: 95 % of its last 60 runs took at most that."""

    key: str
    job: Job
    title: str
    words: str
    next: Cell
    last: Cell
    took: Cell
    bars: Bars = field(repr=False)
    trouble: tuple[str, ...]
    in_a_row: int
    p95_ms: int | None
    last_run: PastRun | None
    is_running: bool
    is_paused: bool

    __repr__ = brief_repr


def line_of(
    row: Row, job: Job, *, pause: Pause | None, is_running: bool, read: datetime, now: datetime, zone: tzinfo
) -> Line:
    """Make the line of a row that was read at `read`, with its job as it is shown."""
    ring = list(row.runs)
    failures, p95 = in_a_row(ring), p95_ms(ring)
    ran = ran_last(ring)
    took = Cell(text="") if ran is None else Cell(text=duration_text(ran.took_ms))
    if p95 is not None:
        took = Cell(text=took.text, two=f"p95 {duration_text(p95)}")
    return Line(
        key=row.key,
        job=job,
        title=job.name or shown(job.fn),
        words=words_in(job, zone),
        next=_next(row, job, pause, is_running, read, now, zone),
        last=_last(ring, pause, failures, row.is_paused, is_running, now, zone),
        took=took,
        bars=bars(ring, now=now, zone=zone, running=is_running),
        trouble=row.trouble,
        in_a_row=failures,
        p95_ms=p95,
        last_run=next(iter(ring), None),
        is_running=is_running,
        is_paused=row.is_paused,
    )


def p95_ms(ring: Sequence[PastRun]) -> int | None:
    """Tell within which time 95 % of these runs ended; None without one."""
    return took_within(ring, 0.95)


def took_within(ring: Sequence[PastRun], share: float) -> int | None:
    """Tell within which time a share of these runs ended, in ms; None without one."""
    took = sorted(run.took_ms for run in ring if run.ending not in NO_RUN)
    return took[max(0, ceil(share * len(took)) - 1)] if took else None


def _next(
    row: Row, job: Job, pause: Pause | None, is_running: bool, read: datetime, now: datetime, zone: tzinfo
) -> Cell:
    if row.is_paused:
        end = pause_end(pause)
        return Cell(text="paused", two=f"until {moment(end, now, zone)}" if end else "", kind="faint")
    if job.due is None:
        trigger = job.trigger
        is_over = trigger is not None and trigger.next_after(now) is None
        return Cell(text="last run over" if is_over else "runs now" if is_running else "not told", kind="faint")
    at = moment(job.due, now, zone)
    if job.state == "retrying":
        return Cell(text=until(job.due, now), two=f"{at}, attempt {job.attempt + 1}")
    return Cell(text=until(job.due, now), two=at, kind="w-late" if row.is_overdue(read) and not is_running else "cd")


def _last(
    ring: Sequence[PastRun],
    pause: Pause | None,
    failures: int,
    is_paused: bool,
    is_running: bool,
    now: datetime,
    zone: tzinfo,
) -> Cell:
    """Say how the last run went: its state, then lateness, or how many have failed in a row. That of a paused job says
    why it is paused.
    """
    if is_paused:
        return Cell(text="paused", two=(pause.reason or "") if pause else "", kind="pause")
    if is_running:
        return Cell(text="running", kind="run")
    last = next((run for run in ring if run.ending != "skipped"), next(iter(ring), None))
    if last is None:
        return Cell(text="has not run", kind="wait")
    kind = kind_of(last)
    text = {"late": "late", "fail": "failed"}.get(kind, STATES[last.ending])
    at = moment(last.due, now, zone)
    match kind:
        case "late":
            two = f"by {duration_text(last.late_ms)}"
        case "fail":
            two = f"{failures:,} in a row" if failures > 1 else at
        case "done":
            two = f"{duration_text(last.late_ms)} late" if last.late_ms else "in time"
        case _:
            two = at
    return Cell(text=text, two=two, kind=GLYPHS[kind])
