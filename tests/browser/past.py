"""Runs that were: rings, days, single runs and counts of a native schedule, as its listeners would write them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.brokers.history.written import write_cell, write_day
from workkit.brokers.native.history import HEAD, RUNS_KEPT, Entry, entry_of, slot
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.results import LONGEST_ERROR
from workkit.contract.history import ALL, ENDINGS, KEPT_MS, LATE_MS, NO_RUN, TIERS, Buckets, Cell, Day, Ended, bucket_of
from workkit.jobs.job import Job

WHOLE_MS = 26 * 3_600_000
"""So far back each run of a job that recurs is told singly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Was:
    """One run of a job that was due, as it ended."""

    due_ms: int
    late_ms: int = 3
    took_ms: int = 800
    ending: Ended = "done"
    error: str = ""
    listener: str = "web-1"

    @property
    def entry(self) -> Entry:
        """Its 16 bytes."""
        return entry_of(self.due_ms, late_ms=self.late_ms, took_ms=self.took_ms, ending=self.ending)


def tell(client: Any, name: str, told: Sequence[tuple[Job, Sequence[Was]]], *, now_ms: int) -> None:
    """Write what was, before anything else has run: of each job its runs, the first one first."""
    keys, pipe = Keys(name), client.pipeline(transaction=False)
    for job, runs in told:
        if not runs or job.trigger is None:
            continue
        last = [was.entry.encode() for was in reversed(runs)][:RUNS_KEPT]
        days = [write_day(day) for day in _days(runs)]
        pipe.hset(keys.days, job.name or job.id, b"".join(days[:-1]))
        pipe.hset(keys.lately, job.name or job.id, days[-1] + bytes(HEAD - len(days[-1])) + b"".join(last))
    since = now_ms - WHOLE_MS
    told_singly = [
        (was, job) for job, runs in told for k, was in enumerate(runs) if k >= len(runs) - 40 or was.due_ms >= since
    ]
    single = sorted(told_singly, key=lambda one: one[0].entry.ended_ms)
    for n, (was, job) in enumerate(single):
        fields = {"i": job.id, "n": job.name or "", "f": job.fn, "r": was.entry.encode(), "w": was.listener}
        pipe.xadd(keys.runs, {**fields, "m": was.error[:LONGEST_ERROR], "x": 1}, id=f"{was.entry.ended_ms}-{n}")
    for (key, subject), cell in _cells(told, now_ms).items():
        pipe.hset(keys.past(key), subject, write_cell(cell))
    pipe.execute()


def _days(runs: Iterable[Was]) -> list[Day]:
    by_day: defaultdict[Any, list[Was]] = defaultdict(list)
    for was in runs:
        by_day[datetime.fromtimestamp(was.entry.ended_ms / 1000, UTC).date()].append(was)
    return [
        Day(
            day=day,
            runs=sum(was.ending not in NO_RUN for was in found),
            worst=max((was.ending for was in found), key=ENDINGS.index),
        )
        for day, found in sorted(by_day.items())
    ]


def _cells(told: Iterable[tuple[Job, Sequence[Was]]], now_ms: int) -> dict[tuple[str, str], Cell]:
    cells: defaultdict[tuple[str, str], Cell] = defaultdict(Cell)
    for job, runs in told:
        subjects = [ALL, f"fn:{job.fn}"]
        if job.trigger is not None and job.trigger.recurs:
            subjects.append(f"job:{job.name or job.id}")
        for was in runs:
            one = _cell(was)
            for tier in TIERS:
                if was.entry.ended_ms >= now_ms - KEPT_MS[tier]:
                    for subject in subjects[:1] if tier == "1" else subjects:
                        cells[slot(tier, was.entry.ended_ms), subject] += one
    return cells


def _cell(was: Was) -> Cell:
    if was.ending in NO_RUN:
        return Cell(missed=int(was.ending != "skipped"))
    return Cell(
        done=int(was.ending == "done"),
        retried=int(was.ending == "retried"),
        dead=int(was.ending == "dead"),
        discarded=int(was.ending in ("discarded", "cancelled")),
        late=int(was.late_ms >= LATE_MS),
        busy_ms=was.took_ms,
        lateness=Buckets([(bucket_of(was.late_ms), 1)]),
        durations=Buckets([(bucket_of(was.took_ms), 1)]),
    )


def tell_missed(client: Any, name: str, job: Job, due_ms: int) -> None:
    """Write that an occurrence was too late to run."""
    fields = {"id": job.id, "name": job.name or "", "fn": job.fn, "due": due_ms, "reason": "late", "times": 1}
    client.xadd(Keys(name).missed, fields)
