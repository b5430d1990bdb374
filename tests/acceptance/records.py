"""What a schedule keeps of its past runs, against what happened: spec/history.md, 5. Pure but for `look_records`.

Only what is written with an ending is judged. The sample of plain runs is a matter of statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.acceptance.history import History, Promise, Run
from workkit.brokers.connect import open_broker
from workkit.contract.history import NO_RUN, PastRun


@dataclass(frozen=True, slots=True)
class Record:
    """One occurrence in the history of a schedule: where it stands, and which it is."""

    id: str
    due: int
    attempt: int
    ending: str

    @property
    def place(self) -> tuple[str, int, int]:
        return self.id, self.due, self.attempt

    def __str__(self) -> str:
        return f"{self.id[:8]}@{self.due} attempt {self.attempt} as {self.ending}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All that is kept: the rings of recurring jobs, by their field; single runs; runs in the days of each job."""

    rings: Mapping[str, Sequence[Record]]
    single: Sequence[Record]
    days: Mapping[str, int]


def look_records(client: Any, schedule: str, *, url: str) -> Records:
    """Read the history of a schedule of jobs without names."""
    inspector = open_broker(schedule, redis=url).inspector
    fields = [field.decode() for field in client.hkeys(f"{schedule}:lately")]
    return Records(
        rings={job: [_record(run, job) for run in runs] for job, runs in inspector.history.lately(fields).items()},
        single=[_record(run, run.id or "?") for run in inspector.history.runs()],
        days={job: sum(day.runs for day in inspector.history.days(job)) for job in fields},
    )


def _record(run: PastRun, id: str) -> Record:
    return Record(id=id, due=round(run.due.timestamp() * 1000), attempt=run.attempt, ending=run.ending)


def check_records(history: History, records: Records, promises: Mapping[str, Promise]) -> Iterator[str]:
    """Complain of a run that left no record, of a record whose run did not end so, and of one that is there twice."""
    ended: dict[tuple[str, int, int], list[Run]] = {}
    for run in history.runs:
        if run.end is not None:
            ended.setdefault((run.id, run.due, run.attempt), []).append(run)
    recurring = {run.id for run in history.runs if promises.get(run.label, Promise()).dues or run.label == "endless"}
    in_rings = {record.place: record for ring in records.rings.values() for record in ring}
    single = {record.place: record for record in records.single if record.ending != "done"}
    yield from _not_kept(ended, recurring, in_rings, single, history)
    for record in (*in_rings.values(), *single.values()):
        if record.ending in NO_RUN:
            continue
        if record.ending == "cancelled" and record.id in history.cancelled:
            continue  # it may have been interrupted before its first line
        if not any(_fits(run, record) for run in ended.get(record.place, ())):
            yield f"history has {record}, and no run ended so"
    for name, found in (("its ring", [r for ring in records.rings.values() for r in ring]), ("S:runs", records.single)):
        yield from (
            f"history has {record} {n} times in {name}"
            for record, n in Counter(found).items()
            if n > 1 and record.ending != "done"
        )
    for job, ring in records.rings.items():
        runs = sum(record.ending not in NO_RUN for record in ring)
        if len(ring) < 60 and records.days.get(job) != runs:
            yield f"the days of {job[:8]} have {records.days.get(job)} runs, its ring {runs}"
        if job not in recurring and job not in history.cancelled:
            yield f"{job[:8]} has a ring, and does not recur"


def _not_kept(
    ended: Mapping[tuple[str, int, int], Sequence[Run]],
    recurring: set[str],
    in_rings: Mapping[tuple[str, int, int], Record],
    single: Mapping[tuple[str, int, int], Record],
    history: History,
) -> Iterator[str]:
    """Every run of a recurring job, and every failure, has its record; but a cancelled job's ending may be refused. A
    run that asked to wait is none.
    """
    for place, runs in ended.items():
        id = place[0]
        if any(history.is_forgotten(run) for run in runs):
            continue
        if id in recurring and place not in in_rings and id not in history.cancelled:
            yield f"{runs[0].occurrence} ended, and its ring does not have it"
        if all(run.how not in ("returned", "Retry") for run in runs) and place not in single:
            yield f"{runs[0].occurrence} failed, and S:runs does not have it"


def _fits(run: Run, record: Record) -> bool:
    """Whether a run that ended so may have left this record. A cancelled run may have returned."""
    if record.ending in ("cancelled", "discarded"):
        return True
    return (run.how == "returned") == (record.ending == "done")
