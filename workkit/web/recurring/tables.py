"""The tables of a recurring job: its last runs, and the last changes that somebody made of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Final

from workkit.contract.changes import Change
from workkit.contract.history import NO_RUN, PastRun
from workkit.jobs.job import Job
from workkit.text.brief import brief_repr
from workkit.text.duration import duration_text
from workkit.text.glance import clock_at, day_text, moment
from workkit.web.charts.shapes import STATES, WHY, kind_of
from workkit.web.recurring.cells import GLYPHS

RUNS: Final = 20
CHANGES: Final = 5
DID: Final = {
    "pause": "paused", "resume": "resumed", "skip": "next run left out", "run": "run by hand", "cancel": "cancelled",
    "retry": "retried from the dead set", "discard": "discarded from the dead set", "sync": "changed by a plan",
    "interrupt": "one run cancelled", "reschedule": "given another time", "snooze": "next run put off",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run, or an occurrence that did not run. `note`: why it did not, how it came about, its error."""

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

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change: what was done, from what to what, by whom, when."""

    change: Change
    did: str
    before: str
    after: str
    by: str
    when: str

    __repr__ = brief_repr


def with_details(ring: Sequence[PastRun], singles: Iterable[PastRun]) -> list[PastRun]:
    """Add to the runs of a ring what single runs know beside it: their listener, their error and their place."""
    known = {(run.due, run.ended, run.attempt): run for run in singles}
    found = []
    for run in ring:
        single = known.get((run.due, run.ended, run.attempt))
        found.append(
            run if single is None else replace(run, listener=single.listener, error=single.error, place=single.place)
        )
    return found


def run_rows(runs: Sequence[PastRun], *, now: datetime, zone: tzinfo) -> list[RunRow]:
    """Make the rows of the table of runs."""
    rows = []
    for run in runs[:RUNS]:
        local, kind = run.due.astimezone(zone), kind_of(run)
        has_run = run.ending not in NO_RUN
        rows.append(
            RunRow(
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
    """Say whether a change concerns a job."""
    return change.target == f"job:{job.name or job.id}" or (change.id is not None and change.id == job.id)


def change_rows(changes: Iterable[Change], *, now: datetime, zone: tzinfo) -> list[ChangeRow]:
    """Make the rows of the list of changes."""
    rows = []
    for change, _ in zip(changes, range(CHANGES), strict=False):
        before, after = _difference(change, now, zone)
        did = DID.get(change.verb, change.verb)
        if change.reason:
            did += f': "{change.reason}"'
        by = ", ".join(one for one in (change.by, change.via) if one)
        rows.append(
            ChangeRow(change=change, did=did, before=before, after=after, by=by, when=moment(change.at, now, zone))
        )
    return rows


def _difference(change: Change, now: datetime, zone: tzinfo) -> tuple[str, str]:
    """Write what stood before, and what stands after; both may be nothing."""
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
