"""The past of a window of time: single runs, counts where these end, and what happened to the schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Literal

from workkit.contract.changes import LONGEST_MARK, MARK, Change
from workkit.contract.history import ALL, Bucket, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.errors import Unsupported
from workkit.text.brief import brief_repr
from workkit.text.duration import MILLISECOND, epoch_ms
from workkit.text.wording import iso
from workkit.web.charts.axis import Axis
from workkit.web.page import Asked
from workkit.web.pages.window import tier_of
from workkit.web.recurring_jobs import MOST_RUNS

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
            runs = [run for run in asked.served.recent.read(inspector, asked.now) if run.ended >= axis.start]
        else:
            runs = list(islice(inspector.runs(since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until)), MOST_RUNS))
    except Unsupported as error:
        unknown["history"] = str(error)
        return Seen()
    return Seen(runs=runs, since=runs[-1].ended if len(runs) == MOST_RUNS else None)


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
    cells = asked.served.inspector().past(
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
        return asked.served.inspector().past(
            ALL, since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until) + 1, tier=tier_of(axis)
        )  # fmt: skip
    except Unsupported as error:
        unknown["history"] = str(error)
        return []


LOOKED_AT: Final = 2_000  # changes, the last ones
MOST_HAPPENED: Final = 40  # that are shown, the last ones
FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened: in words, and by whom where that is known."""

    at: datetime
    kind: Literal["mark", "sync", "version"]
    says: str
    by: str = ""

    @property
    def sentence(self) -> str:
        """What it is, and who says so or did so."""
        if self.kind == "mark":
            return f"Marked: {self.says}" + (f", by {self.by}" if self.by else "")
        return self.says + (f" by {self.by}" if self.by else "")

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {"at": iso(self.at), "kind": self.kind, "says": self.says, "by": self.by or None}


def read_happened(asked: Asked, since: datetime, until: datetime, unknown: dict[str, str]) -> list[Happened]:
    """Read what happened in a window of time, the last one first."""
    try:
        kept = asked.served.fresh("happened", lambda: _read_changes(asked), seconds=FRESH_S)
    except Unsupported as error:
        unknown.setdefault("history", str(error))
        kept = ()
    found = [_happened(asked.veil.change(change)) for change in kept if since <= change.at <= until]
    found += (one for one in versions(asked.pulse.listeners, asked.now) if since <= one.at <= until)
    return sorted(found, key=lambda one: one.at, reverse=True)[:MOST_HAPPENED]


def _read_changes(asked: Asked) -> Sequence[Change]:
    return [one for one in islice(asked.served.inspector().changes(), LOOKED_AT) if one.verb in (MARK, "sync")]


def _happened(change: Change) -> Happened:
    if change.verb == "sync":
        return Happened(at=change.at, kind="sync", says="A plan was synced", by=change.by or "")
    text = str(change.after.get("text") or "something")  # what another program wrote may be anything
    return Happened(at=change.at, kind="mark", says=text[:LONGEST_MARK], by=change.by or "")


def versions(listeners: Sequence[ListenerInfo], now: datetime) -> Iterator[Happened]:
    """Find the newest version, where listeners of an earlier one are there still."""
    began: dict[str, datetime] = {}
    for info in listeners:
        if info.up_ms:
            at = now - info.up_ms * MILLISECOND
            began[info.version] = min(at, began.get(info.version, at))
    if len(began) > 1:
        version, at = max(began.items(), key=lambda one: one[1])
        yield Happened(at=at, kind="version", says=f"Version {version} began to listen")
