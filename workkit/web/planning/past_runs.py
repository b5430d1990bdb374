"""What ran in a window of time, for each lane: single runs, the last ones of each job, and counts where these end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from workkit.contract.history import ALL, Bucket, PastRun
from workkit.errors import Unsupported
from workkit.text.brief import brief_repr
from workkit.text.duration import MILLISECOND, epoch_ms
from workkit.web.drawing.axis import Axis
from workkit.web.page import Asked
from workkit.web.planning.window import tier_of
from workkit.web.recurring.recent_runs import MOST

RING: Final = 60  # runs of a recurring job that are always there
SKEW: Final = timedelta(minutes=1)  # by which an entry may be written after its run has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The single runs of a window, the last one first. `since`: before that there may be others; None: these are all,
    as far as they are kept one by one.
    """

    runs: Sequence[PastRun] = field(default=(), repr=False)
    since: datetime | None = None

    __repr__ = brief_repr


def read_seen(asked: Asked, axis: Axis, unknown: dict[str, str]) -> Seen:
    """Read the single runs of a window, 2,000 at most."""
    until = axis.end + SKEW
    if axis.start >= axis.now:
        return Seen()
    try:
        inspector = asked.served.inspector()
        if axis.now <= axis.end:
            runs = [run for run in asked.served.recent.read(inspector.history, asked.now) if run.ended >= axis.start]
        else:
            runs = list(islice(inspector.history.runs(since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until)), MOST))
    except Unsupported as error:
        unknown["history"] = str(error)
        return Seen()
    return Seen(runs=runs, since=runs[-1].ended if len(runs) == MOST else None)


def by_job(seen: Seen) -> Mapping[str, list[PastRun]]:
    """Put single runs together by the job's name, or else id."""
    found: defaultdict[str, list[PastRun]] = defaultdict(list)
    for run in seen.runs:
        found[run.name or run.id or ""].append(run)
    return found


def joined(single: Iterable[PastRun], ring: Iterable[PastRun]) -> list[PastRun]:
    """Put the single runs of a job and its ring together. Of one that is in both, the single one knows more."""
    known = {(run.due, run.attempt, run.ending): run for run in ring}
    for run in single:
        key = (run.due, run.attempt, run.ending)
        known[key] = replace(run, times=1) if key in known else run
    return sorted(known.values(), key=lambda run: run.ended, reverse=True)


def known_since(seen: Seen, ring: Sequence[PastRun], axis: Axis) -> datetime:
    """Say from when on all runs of a job are known, from its ring or from single runs."""
    if seen.since is None:
        return axis.start
    full = len(ring) >= RING
    return max(axis.start, min(seen.since, ring[-1].ended)) if full else axis.start


def counted(asked: Asked, axis: Axis, subject: str, until: datetime) -> list[PastRun]:
    """Read the counts of a subject before an instant as runs, one for each cell, as long as it."""
    if until <= axis.start:
        return []
    cells = asked.served.inspector().history.past(
        subject, since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until), tier=tier_of(axis)
    )  # fmt: skip
    return runs_of_cells(cell for cell in cells if cell.end <= until)  # what overlaps is known run by run


def runs_of_cells(cells: Iterable[Bucket]) -> list[PastRun]:
    """Write counts as runs: those that were done as one from the beginning of the cell to its end, those that failed
    as one at its beginning.
    """
    found: list[PastRun] = []
    for bucket in cells:
        cell, length = bucket.cell, round((bucket.end - bucket.start) / MILLISECOND)
        failed = cell.retried + cell.dead
        one = PastRun(
            id=None, name=None, fn=None, due=bucket.start, ended=bucket.end, ending="done", took_ms=length,
            times=max(0, cell.runs - failed),
        )  # fmt: skip
        if one.times:
            found.append(one)
        if failed:
            found.append(replace(one, ending="retried", ended=bucket.start, took_ms=0, times=failed))
        if cell.missed:
            found.append(replace(one, ending="missed", ended=bucket.start, took_ms=0, times=cell.missed))
    return found


def read_cells(asked: Asked, axis: Axis, unknown: dict[str, str]) -> list[Bucket]:
    """Read the counts of the whole schedule in a window."""
    if axis.start >= axis.now:
        return []
    until = min(axis.now, axis.end)
    try:
        return asked.served.inspector().history.past(
            ALL, since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until) + 1, tier=tier_of(axis)
        )  # fmt: skip
    except Unsupported as error:
        unknown["history"] = str(error)
        return []
