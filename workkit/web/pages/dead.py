"""The pages of the dead jobs: a list of the errors that killed them, and the jobs that died of one error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import Any, Final

from workkit.contract.broker import Inspector
from workkit.contract.filters import accepted, read_filter, understood
from workkit.contract.history import PastRun
from workkit.contract.record import attempts_text, dead_record
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job, argument_text
from workkit.text.glance import at_moment, day_text, moment
from workkit.text.masked_text import MASK
from workkit.text.wording import duration_text, iso, plural
from workkit.web.charts.axis import burst
from workkit.web.charts.bars import Drawing
from workkit.web.dead_jobs import DeadJob, ErrorGroup, KnownDead, by_error
from workkit.web.page import Asked, Page
from workkit.web.words import until
from workkit.web.works import Fate, Work

VIEWS: Final = ("error", "job")
MOST_GROUPS, MOST_ROWS, MOST_OPEN = 50, 50, 6
RATES: Final = (("10/second", "10 a second"), ("1/second", "1 a second"), ("100/second", "100 a second"), ("", "once"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadView:
    """The content of the page."""

    schedule: str
    now: datetime
    said: str
    rest: str
    by: str
    q: str
    understood: str
    accepted: str
    print: str
    count: int
    reading: int | None
    groups: tuple[Shown, ...]
    n_groups: int
    n_jobs: int
    rows: tuple[DeadRow, ...]
    after: str
    trials: tuple[Trial, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    rates: tuple[tuple[str, str], ...] = RATES

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        rows = self.rows or tuple(row for shown in self.groups for row in shown.rows if self.print)
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.said,
            "rest": self.rest,
            "dead": self.count,
            "read_percent": self.reading,
            "matching": self.n_jobs,
            "errors": self.n_groups,
            "groups": [shown.group.record() for shown in self.groups],
            "jobs": [dead_record(row.job) | {"dead": row.key} for row in rows],
            "next": self.after or None,
            "tried": [{"fingerprint": one.print, "sentence": one.said, "left": one.left} for one in self.trials],
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> DeadView:
    """Read the dead jobs, by their errors or one by one."""
    by = asked.one_of("by", VIEWS)
    known, dead_jobs, unknown = _dead_jobs(asked)
    groups = _groups(known, dead_jobs)
    rows, after = page_of(asked, dead_jobs, MOST_ROWS) if by == "job" else ((), "")
    shown: list[Shown] = []
    if by == "error":
        start = start_of([group.print for group in groups], asked.params.get("after", ""))
        for k, group in enumerate(groups[start : start + MOST_GROUPS], start):
            open_rows = tuple(row_of(dead_job) for dead_job in group.dead_jobs[:MOST_OPEN]) if k == 0 else ()
            shown.append(shown_of(group, asked, rows=open_rows, is_open=k == 0))
        after = shown[-1].group.print if start + MOST_GROUPS < len(groups) else ""
    return _view(asked, known, dead_jobs, groups, tuple(shown), by=by, rows=rows, after=after, unknown=unknown)


def look_at_one(asked: Asked) -> DeadView:
    """Read the jobs that died of one error. Raises NotFound for an invalid fingerprint."""
    wanted = asked.names["print"]
    if not re.fullmatch(r"[0-9a-f]{6,40}", wanted):
        raise NotFound.about(f'no error "{wanted[:100]}"', f"in {asked.served.name}", "All: dead.", given=wanted[:100])
    known, dead_jobs, unknown = _dead_jobs(asked)
    groups = [group for group in _groups(known, dead_jobs) if group.print.startswith(wanted)]
    shown: tuple[Shown, ...] = ()
    after = ""
    if groups:
        rows, after = page_of(asked, groups[0].dead_jobs, MOST_ROWS)
        one = shown_of(groups[0], asked, rows=rows, is_open=True, after=after)
        shown = (replace(one, message=groups[0].error.parts),)  # this page shows the whole message
    mine = groups[0].dead_jobs if groups else ()
    return _view(asked, known, mine, groups[:1], shown, by="error", after=after, unknown=unknown, one=wanted)


def _dead_jobs(asked: Asked) -> tuple[KnownDead, tuple[DeadJob, ...], dict[str, str]]:
    unknown: dict[str, str] = {}
    where = read_filter(asked.params.get("q", ""), "dead")
    try:
        known = asked.served.dead(asked.veil).look(asked.served.inspector(), count=asked.pulse.counts.dead)
    except Unsupported as error:
        unknown["dead"] = str(error)
        known = KnownDead(dead_jobs=(), of=0, is_all=True)
    if known.trouble:
        unknown["dead"] = asked.veil.text(known.trouble)
    if where.is_everything:
        return known, known.dead_jobs, unknown
    return known, tuple(dead_job for dead_job in known.dead_jobs if where.job(dead_job.job, now=asked.now)), unknown


def _groups(known: KnownDead, dead_jobs: tuple[DeadJob, ...]) -> list[ErrorGroup]:
    return known.groups if dead_jobs is known.dead_jobs else by_error(dead_jobs)


def _view(
    asked: Asked, known: KnownDead, dead_jobs: tuple[DeadJob, ...], groups: list[ErrorGroup], shown: tuple[Shown, ...],
    *, by: str, after: str, unknown: dict[str, str], rows: tuple[DeadRow, ...] = (), one: str = "",
) -> DeadView:  # fmt: skip
    q = asked.params.get("q", "").strip()
    reading = None if known.is_all else min(99, round(100 * len(known.dead_jobs) / max(1, known.of)))
    where = read_filter(q, "dead")
    tried = [work for work in asked.works if work.kind == "try"]
    inspector = asked.served.inspector()
    return DeadView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(
            known, len(dead_jobs), groups, reading=reading, has_filter=not where.is_everything, is_one=bool(one)
        ),
        rest=spoken_rest(known, groups, now=asked.now, zone=asked.zone, is_one=bool(one)),
        by=by,
        q=q,
        understood="" if where.is_everything else understood(where),
        accepted=accepted("dead"),
        print=one,
        count=known.of,
        reading=reading,
        groups=shown,
        n_groups=len(groups),
        n_jobs=len(dead_jobs),
        rows=rows,
        after=after,
        trials=tuple(trial(inspector, work, known.dead_jobs, now=asked.now) for work in tried),
        unknown=unknown,
    )


MOST_MESSAGE: Final = 200  # characters; longest message in a list


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRow:
    """A dead job in a list. `args`: its arguments as JSON for the form; empty where some are hidden or cut."""

    key: str
    job: Job
    attempts: str
    path: str
    args: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An error in the list, and when its jobs died. `message`: in pieces, each with whether it varies; `rows`: the
    jobs, where the error is open; `after`: the place of the next page.
    """

    group: ErrorGroup
    drawing: Drawing
    message: tuple[tuple[str, bool], ...]
    rows: tuple[DeadRow, ...] = ()
    is_open: bool = False
    after: str = ""


def shown_of(group: ErrorGroup, asked: Asked, *, rows: tuple[DeadRow, ...], is_open: bool, after: str = "") -> Shown:
    """Make the entry of one error, with the beginning of its message."""
    message = tuple(beginning(group.error.parts, MOST_MESSAGE))
    drawing = burst(group.died, now=asked.now)
    return Shown(group=group, drawing=drawing, message=message, rows=rows, is_open=is_open, after=after)


def beginning(parts: Iterable[tuple[str, bool]], most: int) -> Iterator[tuple[str, bool]]:
    """Cut a message in pieces to `most` characters. A cut message ends in an ellipsis."""
    for text, varies in parts:
        if len(text) > most:
            yield f"{text[:most]}…", varies
            return
        most -= len(text)
        yield text, varies


def page_of(asked: Asked, dead_jobs: tuple[DeadJob, ...], most: int) -> tuple[tuple[DeadRow, ...], str]:
    """Return a page of dead jobs, and where the next page begins, if there is one."""
    start = start_of([dead_job.key for dead_job in dead_jobs], asked.params.get("after", ""))
    page = dead_jobs[start : start + most]
    return tuple(row_of(dead_job) for dead_job in page), page[-1].key if start + most < len(dead_jobs) else ""


def start_of(keys: list[str], after: str) -> int:
    """Find where the next page begins. Raises InvalidOptions where that place no longer exists."""
    if not after:
        return 0
    if after not in keys:
        remedy = "Begin again without after."
        raise InvalidOptions.about("after", "names none of them any more", remedy, where="after", given=after[:100])
    return keys.index(after) + 1


def row_of(dead_job: DeadJob) -> DeadRow:
    """Make the row of one dead job."""
    job = dead_job.job
    return DeadRow(
        key=dead_job.key,
        job=job,
        attempts=attempts_text(job),
        path=dead_job.path,
        args=given_json(job) if dead_job.is_whole else "",
    )


def given_json(job: Job) -> str:
    """Return the arguments of a job as JSON for the form; "" where it has both positional and named ones, or hidden
    ones.
    """
    given = [*job.args] if job.args or not job.kwargs else dict(job.kwargs)
    written = "" if job.args and job.kwargs else argument_text(given)
    return "" if MASK in written else written


DAY_MS = 86_400_000


def headline(
    known: KnownDead,
    matching: int,
    groups: Sequence[ErrorGroup],
    *,
    reading: int | None,
    has_filter: bool,
    is_one: bool,
) -> str:
    """Say how many jobs are dead, and of how many errors."""
    if reading is not None:
        return f"Reading {plural(known.of, 'dead job')}: {reading} %."
    if not known.dead_jobs:
        return "Nobody died. What fails for good comes here, with its arguments and traceback."
    if is_one:
        return f"{plural(matching, 'job')} died of one error." if matching else "Nobody is dead of this error any more."
    errors = plural(len(groups), "error")
    if has_filter:
        return f"{matching:,} of {plural(known.of, 'dead job')}, {errors}."
    return f"{plural(known.of, 'dead job')}, {errors}."


def spoken_rest(known: KnownDead, groups: Sequence[ErrorGroup], *, now: datetime, zone: tzinfo, is_one: bool) -> str:
    """Say which facts are notable, and when the oldest job expires."""
    said: list[str] = []
    first = groups[0] if groups else None
    if first is not None and first.n > 1 and len(first.died) > 1:
        span = between(first.died[-1], first.died[0], now, zone)
        some = "All" if len(groups) == 1 else f"{first.n:,}"
        said.append(f"They died {span}." if is_one else f"{some} of them died of one error {span}.")
    if known.dead_jobs and not is_one:
        kept = [] if known.most is None else [f"until {known.most:,} newer ones stand here"]
        if known.kept_ms is not None:
            kept.append(f"for {plural(known.kept_ms // DAY_MS, 'day')}")
        if kept and known.kept_ms is not None and known.is_all:
            leaves = datetime.fromtimestamp(known.dead_jobs[-1].died_ms / 1000, UTC) + timedelta(
                milliseconds=known.kept_ms
            )
            today = now.astimezone(zone).date()
            said.append(f"Kept {', or '.join(kept)}; the oldest leaves {on(leaves.astimezone(zone), today)}.")
        elif kept:
            said.append(f"Kept {', or '.join(kept)}.")
        if known.of > len(known.dead_jobs) and known.is_all:
            said.append(f"The last {len(known.dead_jobs):,} are shown.")
    return " ".join(said)


def on(at: datetime, today: date) -> str:
    """Name the day of an instant."""
    text = day_text(at.date(), today)
    return text if text in ("today", "tomorrow", "yesterday") else f"on {text}"


def between(first: datetime, last: datetime, now: datetime, zone: tzinfo) -> str:
    """Name a span: ``between 09:41 and 10:58``; or one time, where both are in one minute."""
    begun, ended = (at.replace(second=0, microsecond=0) for at in (first, last))
    if begun == ended:
        return at_moment(begun, now, zone)
    return f"between {moment(begun, now, zone)} and {moment(ended, now, zone)}"


MOST_RUNS: Final = 2000
ENDED: Final = ("ran", "failed", "over")
WRITTEN_MS: Final = 3_000
"""Time after the end of a run in which its entry may still come, in ms. Listeners write runs of plain jobs once a
second.
"""
STATES: Final = {"running": "It runs.", "due": "It is due.", "cancelling": "It runs, and is being cancelled."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A dead job that was tried alone. `left`: how many others are dead of the same error; `ran`: it succeeded, so the
    others may follow.
    """

    print: str
    job: str
    said: str
    left: int
    upto: int
    ran: bool


def trial(inspector: Inspector, work: Work, dead_jobs: Sequence[DeadJob], *, now: datetime) -> Trial:
    """Look up the tried job. Once it has ended, no further call is made."""
    others = [dead_job for dead_job in dead_jobs if dead_job.print == work.print and dead_job.died_ms < work.begun_ms]
    if work.fate not in ENDED:
        work.said, work.fate = _found(inspector, work, dead_jobs, now=now)
    said, fate = work.said, work.fate
    left = f" {len(others):,} left as they are." if fate in ("failing", "failed") and others else ""
    return Trial(
        print=work.print,
        job=work.job,
        said=said + left,
        left=len(others),
        upto=max((dead_job.died_ms for dead_job in others), default=0),
        ran=fate == "ran",
    )


def _found(inspector: Inspector, work: Work, dead_jobs: Sequence[DeadJob], *, now: datetime) -> tuple[str, Fate]:
    """Return where the tried job is, and its fate."""
    again = next((one for one in dead_jobs if one.job.id == work.job_id and one.died_ms >= work.begun_ms), None)
    if again is not None:
        same = again.print == work.print
        return ("Failed again with the same error." if same else f"Failed again: {again.job.error}."), "failed"
    try:
        job = inspector.job(work.job_id)
    except NotFound:
        job = None
    except Unsupported:
        return "It was put back; what becomes of it cannot be followed here.", "over"
    if job is not None and job.state in STATES:
        return STATES[job.state], "going"
    if job is not None and job.state == "retrying":
        at = "" if job.due is None else f"; its next attempt is in {until(job.due, now)}"
        return f"Failed again{at}.", "failing"
    try:
        run = _run(inspector, work)
    except Unsupported:
        if job is None:
            return "It is not dead; more of it is not known here.", "going"
        run = None
    if run is not None and run.ending == "done":
        return f"It ran, in {duration_text(run.took_ms)}.", "ran"
    if run is not None and run.ending == "dead":  # the index of the dead is a moment older; it knows the error later
        return "Failed again.", "failing"
    if run is not None and run.ending != "retried":
        return f"It ended: {run.ending}.", "over"
    if job is not None:
        return f"It is {job.state}.", "going"
    now_ms = round(now.timestamp() * 1000)
    work.gone_ms = work.gone_ms or now_ms
    if now_ms - work.gone_ms < WRITTEN_MS:
        return "It is over; how long it took is told in a moment.", "going"
    return "It ran; how long it took is not kept.", "ran"


def _run(inspector: Inspector, work: Work) -> PastRun | None:
    runs = islice(inspector.history.runs(since_ms=work.begun_ms), MOST_RUNS)
    return next((run for run in runs if run.id == work.job_id), None)


PAGE = Page(name="dead", path="dead", title="Dead", template="dead.html", look=look, icon="dead", key="d")
ONE = Page(name="dead-error", path="dead/{print}", title="Dead", template="dead.html", look=look_at_one, within="dead")
