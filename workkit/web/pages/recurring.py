"""The page Recurring: did the last runs of each recurring job go well, and when is the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from math import ceil
from typing import Any, Final

from workkit.contract.filters import accepted, read_filter, understood
from workkit.contract.history import NO_RUN, PastRun
from workkit.contract.record import job_record, run_record
from workkit.contract.where import ran_last
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.text.glance import moment
from workkit.text.wording import duration_text, iso
from workkit.web.charts.bars import STATES, Bars, Kind, bars, kind_of
from workkit.web.page import Asked, Page
from workkit.web.recurring_jobs import (
    SHOWS,
    SORTS,
    RecurringJobs,
    RecurringRow,
    asked_for,
    counted,
    in_a_row,
    page_of,
    words_in,
)
from workkit.web.words import pause_end, pause_of, until

GLYPHS: Final[dict[Kind, str]] = {
    "done": "done", "late": "late", "fail": "fail", "miss": "late", "left": "wait", "over": "done",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoLines:
    """Two lines: `text`, and `two` below it. `kind`: the sign before the text, or its class."""

    text: str
    two: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringLine:
    """A row as the page shows it. `p95_ms`: the upper bound of the duration for 95 % of its last 60 runs."""

    key: str
    job: Job
    title: str
    words: str
    next: TwoLines
    last: TwoLines
    took: TwoLines
    bars: Bars = field(repr=False)
    trouble: tuple[str, ...]
    in_a_row: int
    p95_ms: int | None
    last_run: PastRun | None
    is_running: bool
    is_paused: bool

    __repr__ = brief_repr


def line_of(
    row: RecurringRow, job: Job, *, pause: Pause | None, is_running: bool, read: datetime, now: datetime, zone: tzinfo
) -> RecurringLine:
    """Make the line of a row that was read at `read`. `job` is masked."""
    ring = list(row.runs)
    failures, p95 = in_a_row(ring), p95_ms(ring)
    ran = ran_last(ring)
    took = TwoLines(text="") if ran is None else TwoLines(text=duration_text(ran.took_ms))
    if p95 is not None:
        took = TwoLines(text=took.text, two=f"p95 {duration_text(p95)}")
    return RecurringLine(
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
    """Return the upper bound of the duration for 95 % of these runs, in ms; None without a run."""
    return took_within(ring, 0.95)


def took_within(ring: Sequence[PastRun], share: float) -> int | None:
    """Return the upper bound of the duration for a share of these runs, in ms; None without a run."""
    took = sorted(run.took_ms for run in ring if run.ending not in NO_RUN)
    return took[max(0, ceil(share * len(took)) - 1)] if took else None


def _next(
    row: RecurringRow, job: Job, pause: Pause | None, is_running: bool, read: datetime, now: datetime, zone: tzinfo
) -> TwoLines:
    if row.is_paused:
        end = pause_end(pause)
        return TwoLines(text="paused", two=f"until {moment(end, now, zone)}" if end else "", kind="faint")
    if job.due is None:
        trigger = job.trigger
        is_over = trigger is not None and trigger.next_after(now) is None
        return TwoLines(text="last run over" if is_over else "runs now" if is_running else "not told", kind="faint")
    at = moment(job.due, now, zone)
    if job.state == "retrying":
        return TwoLines(text=until(job.due, now), two=f"{at}, attempt {job.attempt + 1}")
    return TwoLines(
        text=until(job.due, now), two=at, kind="w-late" if row.is_overdue(read) and not is_running else "cd"
    )


def _last(
    ring: Sequence[PastRun],
    pause: Pause | None,
    failures: int,
    is_paused: bool,
    is_running: bool,
    now: datetime,
    zone: tzinfo,
) -> TwoLines:
    """Describe the last run: its state, then its lateness, or the number of failures in a row. For a paused job, say
    why it is paused.
    """
    if is_paused:
        return TwoLines(text="paused", two=(pause.reason or "") if pause else "", kind="pause")
    if is_running:
        return TwoLines(text="running", kind="run")
    last = next((run for run in ring if run.ending != "skipped"), next(iter(ring), None))
    if last is None:
        return TwoLines(text="has not run", kind="wait")
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
    return TwoLines(text=text, two=two, kind=GLYPHS[kind])


MOST_ROWS: Final = 50
MOST_UNNAMED: Final = 10_000
"""Most jobs without a name that have their runs kept. The page knows no runs of others; they come last."""

TABS: Final = (("all", "All"), ("failing", "Failing"), ("late", "Late"), ("missed", "Missed"), ("paused", "Paused"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A list of rows that a user can choose."""

    show: str
    text: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringView:
    """The content of the page. `understood`: the filter in words; `accepts`: the other accepted filters; `params`: the
    parameters of the request, without the place in the list.
    """

    schedule: str
    now: datetime
    show: str
    sort: str
    q: str
    tabs: tuple[Tab, ...]
    lines: tuple[RecurringLine, ...]
    found: int
    all: int
    next: str | None
    is_first: bool
    understood: str
    accepts: str
    has_more_unnamed: bool
    unknown: Mapping[str, str]

    def query(self, **other: str | None) -> str:
        """Return the address of the same list with some parameters changed."""
        from urllib.parse import urlencode

        usual = {"show": SHOWS[0], "sort": SORTS[0], "q": ""}
        params = {"show": self.show, "sort": self.sort, "q": self.q} | other
        written = urlencode({name: value for name, value in params.items() if value and value != usual.get(name)})
        return f"recurring?{written}" if written else "recurring"

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "show": self.show,
            "sort": self.sort,
            "counts": {tab.show: tab.n for tab in self.tabs},
            "recurring": [_record(line) for line in self.lines],
            "found": self.found,
            "next": self.next,
            "unknown": dict(self.unknown),
        }


def _record(line: RecurringLine) -> dict[str, Any]:
    last = None if line.last_run is None else run_record(line.last_run)
    return job_record(line.job) | {
        "key": line.key,
        "why": line.job.why,
        "running": line.is_running,
        "trouble": list(line.trouble),
        "failed_in_a_row": line.in_a_row,
        "last": last,
        "p95_ms": line.p95_ms,
    }


def look(asked: Asked) -> RecurringView:
    """Read the recurring jobs and their last 60 runs."""
    show, sort = asked.one_of("show", SHOWS), asked.one_of("sort", SORTS)
    q = asked.params.get("q", "").strip()
    where = read_filter(q, "recurring")
    unknown: dict[str, str] = {}
    try:
        standing = asked.served.recurring(asked.now, asked.pulse.control)
    except Unsupported as error:
        standing, unknown["recurring"] = RecurringJobs(read=asked.now), str(error)
    if standing.no_history:
        unknown["history"] = standing.no_history
    rows, counts = standing.rows(sort, now=asked.now), standing.counts()
    if not where.is_everything:
        rows = asked_for(rows, where, now=asked.now)
        counts = counted(rows)
    chosen = rows if show == "all" else [row for row in rows if row.belongs(show)]
    page, following = page_of(chosen, asked.params.get("after"), most=MOST_ROWS)
    running = {job.id for info in asked.pulse.listeners for job in info.running}
    lines = [
        line_of(
            row,
            replace(asked.veil.job(row.recurs.standing), due=row.due(standing.read, asked.now)),
            pause=asked.veil.pause(pause_of(row.recurs.job, asked.pulse.control)),
            is_running=row.recurs.job.id in running,
            read=standing.read,
            now=asked.now,
            zone=asked.zone,
        )
        for row in page
    ]
    return RecurringView(
        schedule=asked.served.name,
        now=asked.now,
        show=show,
        sort=sort,
        q=q,
        tabs=tuple(Tab(show=one, text=text, n=counts[one]) for one, text in TABS),
        lines=tuple(lines),
        found=len(chosen),
        all=len(standing.jobs),
        next=following,
        is_first=not asked.params.get("after"),
        understood=understood(where),
        accepts=accepted("recurring"),
        has_more_unnamed=len(standing.jobs) >= MOST_UNNAMED and any(row.recurs.job.name is None for row in rows[-1:]),
        unknown=unknown,
    )


PAGE = Page(
    name="recurring", path="recurring", title="Recurring", template="recurring.html", look=look, icon="loop", key="r"
)
