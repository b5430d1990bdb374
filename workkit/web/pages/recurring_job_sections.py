"""Sections of the page of a recurring job: charts of its past, tables of runs and changes, sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Final

from workkit.contract.admin import Change
from workkit.contract.history import NO_RUN, Bucket, Buckets, Cell, Day, PastRun, bucket_of, upper_ms
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.text.cells import brief_repr
from workkit.text.glance import away, clock_at, day_text, moment
from workkit.text.wording import MILLISECOND, duration_text, iso, progress
from workkit.web.charts.bars import STATES, WHY, Bars, Histogram, bars, durations, kind_of, lateness
from workkit.web.charts.year import Year, year
from workkit.web.pages.recurring import GLYPHS, took_within
from workkit.web.recurring_jobs import in_a_row
from workkit.web.words import pause_end, until

SPAN = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCharts:
    """Charts of the past. `span`: the content of the two histograms, "90 days" or "last runs"; `late`, `took`: the
    histograms as tables, each row a bound and the number of runs between the bound before and this one. `usual`: the
    usual durations.
    """

    year: Year | None = field(repr=False)
    bars: Bars = field(repr=False)
    lateness: Histogram = field(repr=False)
    durations: Histogram = field(repr=False)
    span: str
    late: tuple[tuple[str, int], ...]
    took: tuple[tuple[str, int], ...]
    has_run: bool
    usual: str

    __repr__ = brief_repr


def drawn(
    ring: Sequence[PastRun],
    days: Sequence[Day],
    cells: Sequence[Bucket],
    *,
    planned: Mapping[date, int],
    clocks: Mapping[date, str],
    timeout_ms: float | None,
    running: bool,
    now: datetime,
    zone: tzinfo,
) -> PastCharts:
    """Draw the past. `cells`: counts of the job by day (UTC). Where they have no run of the job, because a schedule
    counts only a limited number of jobs one by one, the last runs are counted.
    """
    recent = [bucket.cell for bucket in cells if bucket.cell.runs and bucket.end > now - SPAN]
    cell = sum(recent, Cell())
    late_days = {bucket.start.date() for bucket in cells if bucket.cell.late}
    late_days |= {run.ended.astimezone(UTC).date() for run in ring if kind_of(run) == "late"}
    ran = [run for run in ring if run.ending not in NO_RUN]
    is_counted = cell.durations.total > 0
    late = cell.lateness if is_counted else Buckets((bucket_of(run.late_ms), 1) for run in ran)
    took = cell.durations if is_counted else Buckets((bucket_of(run.took_ms), 1) for run in ran)
    return PastCharts(
        year=year(days, today=now.astimezone(UTC).date(), planned=planned, late=late_days, clocks=clocks),
        bars=bars(ring, now=now, zone=zone, running=running),
        lateness=lateness(late),
        durations=durations(took, timeout_ms=timeout_ms),
        span="90 days" if is_counted or not ran else "last runs",
        late=_table(late),
        took=_table(took),
        has_run=bool(days or ran),
        usual=_usual(ring),
    )


def _usual(ring: Sequence[PastRun]) -> str:
    half, most = (took_within(ring, share) for share in (0.5, 0.95))
    return "" if half is None or most is None else f"half within {duration_text(half)}, p95 {duration_text(most)}"


def _table(counted: Buckets) -> tuple[tuple[str, int], ...]:
    return tuple((_bound(bucket), n) for bucket, n in counted.pairs())


def _bound(bucket: int) -> str:
    end = upper_ms(bucket)
    return "longer" if end == float("inf") else f"below {duration_text(end)}" if end >= 1 else "below 1 ms"


RUNS: Final = 20
CHANGES: Final = 5
DID: Final = {
    "pause": "paused", "resume": "resumed", "skip": "next run left out", "run": "run by hand", "cancel": "cancelled",
    "retry": "retried from the dead set", "discard": "discarded from the dead set", "sync": "changed by a plan",
    "interrupt": "one run cancelled", "reschedule": "given another time", "snooze": "next run put off",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRunRow:
    """A run, or an occurrence that did not run. `note`: why it did not run, its cause, its error; `traceback`: the page
    that shows it.
    """

    run: PastRun
    day: str
    at: str
    kind: str
    word: str
    late: str
    is_late: bool
    took: str
    on: str
    note: str
    traceback: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChangeRow:
    """A change: the act, the values before and after, the author, the time."""

    change: Change
    did: str
    before: str
    after: str
    by: str
    when: str

    __repr__ = brief_repr


def with_details(ring: Sequence[PastRun], singles: Iterable[PastRun]) -> list[PastRun]:
    """Add the details of single runs to the runs of a ring: their listener, their error and their place."""
    known = {(run.due, run.ended, run.attempt): run for run in singles}
    found = []
    for run in ring:
        single = known.get((run.due, run.ended, run.attempt))
        found.append(
            run if single is None else replace(run, listener=single.listener, error=single.error, place=single.place)
        )
    return found


def run_rows(
    runs: Sequence[PastRun], *, now: datetime, zone: tzinfo, traceback: Callable[[PastRun], str] = lambda _: ""
) -> list[LastRunRow]:
    """Make the rows of the table of runs. `traceback` returns the path of a run's traceback."""
    rows = []
    for run in runs[:RUNS]:
        local, kind = run.due.astimezone(zone), kind_of(run)
        has_run = run.ending not in NO_RUN
        rows.append(
            LastRunRow(
                run=run,
                day=day_text(local.date(), now.astimezone(zone).date()),
                at=clock_at(local),
                kind=GLYPHS[kind],
                word="done, late" if kind == "late" else STATES[run.ending].partition(",")[0],
                late=duration_text(run.late_ms) if has_run else "",
                is_late=kind == "late",
                took=duration_text(run.took_ms) if has_run else "",
                on=(run.listener or "").partition(":")[0] if has_run else "",
                note="; ".join(_notes(run)),
                traceback=traceback(run),
            )
        )
    return rows


def _notes(run: PastRun) -> Iterator[str]:
    if run.by_hand:
        yield "by hand"
    if run.attempt and run.ending not in NO_RUN:
        yield f"attempt {run.attempt + 1}"
    if run.ending in WHY:
        yield WHY[run.ending]
    if run.error:
        yield run.error


def is_of(change: Change, job: Job) -> bool:
    """Return whether a change concerns a job."""
    return change.target == f"job:{job.name or job.id}" or (change.id is not None and change.id == job.id)


def change_rows(changes: Iterable[Change], *, now: datetime, zone: tzinfo) -> list[JobChangeRow]:
    """Make the rows of the list of changes."""
    rows = []
    for change, _ in zip(changes, range(CHANGES), strict=False):
        before, after = _difference(change, now, zone)
        did = DID.get(change.verb, change.verb)
        if change.reason:
            did += f': "{change.reason}"'
        by = ", ".join(one for one in (change.by, change.via) if one)
        rows.append(
            JobChangeRow(change=change, did=did, before=before, after=after, by=by, when=moment(change.at, now, zone))
        )
    return rows


def _difference(change: Change, now: datetime, zone: tzinfo) -> tuple[str, str]:
    """Return the values before and after as texts; both may be empty."""
    names = [name for name in change.names if name != "reason"]
    before, after = (
        ", ".join(_value(name, state[name], now, zone) for name in names if state.get(name) is not None)
        for state in (change.before, change.after)
    )
    return before, after


def _value(name: str, value: Any, now: datetime, zone: tzinfo) -> str:
    if isinstance(value, datetime):
        lead = "until " if name == "until" else ""
        return lead + moment(value.replace(microsecond=0), now, zone)
    return f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """``lead AT, rest``: when the next run is. `at` is None without a next run."""

    lead: str
    at: datetime | None = None
    text: str = ""
    rest: str = ""

    @property
    def says(self) -> str:
        """The whole sentence."""
        return f"{self.lead}{self.text}{self.rest}"


def at_moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant in a sentence: ``today at 02:30``, ``Mon 23 Nov at 09:00``."""
    local = at.astimezone(zone)
    return f"{day_text(local.date(), now.astimezone(zone).date())} at {clock_at(local)}"


def next_said(job: Job, first: datetime | None, *, has_run: bool, now: datetime, zone: tzinfo) -> Next:
    """Say when the next run is. `first`: the first of the coming runs, without skipped ones."""
    if first is None:
        return Next(lead="Its last run is over." if has_run else "It never runs.")
    text = at_moment(first, now, zone)
    if first <= now:
        return Next(lead="Its run of ", at=first, text=text, rest=f" is {until(first, now)}.")
    distance = f", in {away((first - now) / MILLISECOND)}."
    if not has_run:
        return Next(lead="Has not run yet; first ", at=first, text=text, rest=distance)
    lead = "It would run next " if job.state == "paused" else "Next "
    return Next(lead=lead, at=first, text=text, rest=distance)


def last_said(ring: Sequence[PastRun], error: str | None, *, now: datetime, zone: tzinfo) -> str:
    """Describe the last run, "" without one. `error`: the job's last error, for a run without one."""
    last = next((run for run in ring if run.ending != "skipped"), None)
    if last is None:
        return ""
    at = at_moment(last.due, now, zone)
    failures = in_a_row(run for run in ring if run.ending != "skipped")
    because = f": {said.rstrip('.')}." if (said := last.error or error) else "."
    match last.ending:
        case "missed":
            return f"The last one, {at}, was missed: {WHY[last.ending]}."
        case "overlap":
            return f"The last one, {at}, was left out: {WHY[last.ending]}."
        case "retried" | "dead":
            said = f"The last run, {at}, failed after {duration_text(last.took_ms)}{because}"
            return said + (f" It has failed {failures:,} times in a row." if failures > 1 else "")
        case "cancelled" | "discarded":
            return f"The last run, {at}, was {last.ending} after {duration_text(last.took_ms)}."
    late = f"started {duration_text(last.late_ms)} after due" if last.late_ms else "started in time"
    return f"The last run, {at}, took {duration_text(last.took_ms)} and {late}."


def pause_said(pause: Pause | None, target: str, changes: Iterable[Change], *, now: datetime, zone: tzinfo) -> str:
    """Say that it is paused, since when as far as the changes tell, until when and why; "" where it is not paused."""
    if pause is None:
        return ""
    at = next((one.at for one in changes if one.verb == "pause" and one.target == target), None)
    since = "" if at is None else f" since {_short(at, now, zone)}"
    end = pause_end(pause)
    till = "" if end is None else f" until {_short(end, now, zone)}"
    kind, _, of = target.partition(":")
    who = "Paused" if kind == "job" else f"The function {of} is paused" if kind == "fn" else "The schedule is paused"
    return f"{who}{since}{till}" + (f': "{pause.reason}".' if pause.reason else ".")


def _short(at: datetime, now: datetime, zone: tzinfo) -> str:
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    return clock_at(local) if local.date() == today else at_moment(at, now, zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run in progress, as a sentence; and its id, where a user may cancel it."""

    says: str
    listener: str
    due: str
    is_cancelled: bool


def run_said(run: Job, listener: str, *, now: datetime, zone: tzinfo) -> Run:
    """Make the line of a run in progress: see `running_said`."""
    return Run(
        says=running_said(run, listener.partition(":")[0], now=now, zone=zone),
        listener=listener,
        due="" if run.due is None else iso(run.due),
        is_cancelled=run.state == "cancelling",
    )


def running_said(run: Job, listener: str, *, now: datetime, zone: tzinfo) -> str:
    """Describe a run in progress: where it runs, for which time, and its progress."""
    due = "" if run.due is None else f" the run due {at_moment(run.due, now, zone)}"
    said = f"{listener} runs{due or ' it'}"
    attempt = f", attempt {run.attempt + 1}" if run.attempt else ""
    return said + attempt + ("." if run.progress is None else f": {progress(run.progress)}.")
