"""Counts of the runs of one schedule. The loop's thread sends them to the server once a second. The record of a single
run goes with its ending, not through here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.contract.history import (
    ALL,
    EDGES_MS,
    FN,
    JOB,
    LATE_MS,
    LONG_MS,
    MORE,
    Cell,
    Counted,
    Sample,
    bucket_of,
    kept_call,
)
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Again, Dead, Done, Outcome, Ran
from workkit.worker.run.run import Run

APART = 1.0  # seconds between two writes
SAMPLED, SLOW = 10, 40  # single plain runs kept in one write: of any kind, and further late or long ones
SUBJECTS = 500  # in one write; further ones are counted together

Measured = tuple[Claim, Ran]
Lengths = tuple[list[int], list[float]]  # lateness and durations of some runs, in ms; each list is sorted


class RunCounter:
    """The runs of one schedule since the last write. Only the loop's thread uses it."""

    __slots__ = ("_by_fn", "_by_job", "_plain", "_sampled", "_slow", "_slow_seen", "at")

    def __init__(self) -> None:
        self.at = math.inf  # when to `write` next, `time.monotonic()` seconds
        self._forget()

    def _forget(self) -> None:
        self._by_fn: dict[str, Cell] = {}
        self._by_job: dict[str, Cell] = {}
        self._sampled: list[Measured] = []
        self._slow: list[Measured] = []
        self._plain = self._slow_seen = 0

    def done(self, runs: Sequence[Run], lengths: Mapping[str, Lengths]) -> None:
        """Count done runs of jobs that do not recur; `lengths` by function. There may be many thousands a second, so
        this counts as `_measure` does, but looks up the edges of buckets among sorted lengths.
        """
        slow, has_long = 0, False
        for fn, (late, took) in lengths.items():
            cell = self._by_fn.get(fn) or self._cell(self._by_fn, fn)
            cell.done += len(took)
            add_sorted(cell.durations.counts, 0, took, EDGES_MS)
            add_sorted(cell.lateness.counts, 0, late, EDGES_MS)
            if took[-1] >= 1:
                cell.busy_ms += sum(map(int, took[bisect_left(took, 1) :]))
            if late[-1] >= LATE_MS:
                slow_here = len(late) - bisect_left(late, LATE_MS)
                cell.late += slow_here
                slow += slow_here
            has_long = has_long or took[-1] >= LONG_MS
        room = SLOW - len(self._slow)
        if has_long or (slow and room):
            found = [run for run in runs if _is_slow(run)]
            slow = len(found)
            self._slow += [(run.claim, _ran(run)) for run in found[:room]]
        self._slow_seen += slow
        self._plain += len(runs) - slow
        if slow < len(runs) and len(self._sampled) < SAMPLED:
            self._sample(runs)

    def _sample(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if not _is_slow(run):
                self._sampled.append((run.claim, _ran(run)))
                if len(self._sampled) == SAMPLED:
                    return

    def ended(self, run: Run, outcome: Outcome) -> None:
        """Count a run by its outcome."""
        claim, late_ms, took_ms = run.claim, run.late_ms, run.took_ms
        if isinstance(outcome, Done) and outcome.discarded is None and not claim.recurs:
            self.done((run,), {claim.fn: ([late_ms], [took_ms])})
            return
        for cell in self._cells(claim):
            match outcome:
                case Done(discarded=None):
                    cell.done += 1
                case Done():
                    cell.discarded += 1
                case Again():
                    cell.retried += 1
                case Dead():
                    cell.dead += 1
                case _:
                    return
            _measure(cell, late_ms, took_ms)

    def missed(self, claim: Claim) -> None:
        """Count an occurrence that did not run."""
        for cell in self._cells(claim):
            cell.missed += 1

    def write(self, broker: Broker) -> None:
        """Send the counts. They are lost if the server does not answer: if only the answer was lost, a second request
        would count twice. Raises ServerUnreachable or ServerRefused.
        """
        self.at = math.inf
        total = Cell()
        for cell in self._by_fn.values():
            total += cell
        cells = {ALL: total} | {FN + fn if fn != MORE else MORE: cell for fn, cell in self._by_fn.items()}
        cells |= {JOB + job if job != MORE else f"{JOB}{MORE}": cell for job, cell in self._by_job.items()}
        samples = [
            *_samples(self._sampled, self._plain),
            *_samples(self._slow, self._slow_seen),
        ]
        self._forget()
        if broker.count is not None:
            broker.count(Counted(cells=cells, samples=samples))

    def _cells(self, claim: Claim) -> list[Cell]:
        cells = [self._by_fn.get(claim.fn) or self._cell(self._by_fn, claim.fn)]
        if claim.recurs:
            job = claim.terms.name or claim.id
            cells.append(self._by_job.get(job) or self._cell(self._by_job, job))
        return cells

    def _cell(self, cells: dict[str, Cell], subject: str) -> Cell:
        if self.at == math.inf:
            self.at = time.monotonic() + APART
        if len(cells) >= SUBJECTS:
            subject = MORE
        return cells.setdefault(subject, Cell())


def lengths_of(runs: Iterable[Run]) -> dict[str, Lengths]:
    """Sort the lengths of these runs, for each of their functions."""
    by_fn: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_fn[run.claim.fn].append(run)
    return {
        fn: (sorted([run.late_ms for run in same]), sorted([run.took_ms for run in same])) for fn, same in by_fn.items()
    }


def add_sorted(counts: list[int], at: int, values: Sequence[float], edges: Sequence[float]) -> None:
    """Count sorted values by the intervals that these edges begin, from `counts[at]` on."""
    begin = 0
    for place, edge in enumerate(edges, at):
        if values[-1] < edge:
            counts[place] += len(values) - begin
            return
        end = bisect_left(values, edge, begin)
        counts[place] += end - begin
        begin = end
    counts[at + len(edges)] += len(values) - begin


def _is_slow(run: Run) -> bool:
    return run.late_ms >= LATE_MS or run.took_ms >= LONG_MS


def _ran(run: Run) -> Ran:
    return Ran(late_ms=run.late_ms, took_ms=round(run.took_ms))


def _measure(cell: Cell, late_ms: int, took_ms: float) -> None:
    """Add one run to the sums."""
    cell.durations.counts[bucket_of(took_ms)] += 1
    cell.lateness.counts[bucket_of(late_ms)] += 1
    cell.busy_ms += int(took_ms)
    cell.late += late_ms >= LATE_MS


def _samples(kept: list[Measured], seen: int) -> list[Sample]:
    """Return the kept runs as samples; each represents its share of the `seen` runs."""
    return [
        Sample(
            id=claim.id,
            name=claim.terms.name,
            fn=claim.fn,
            due_ms=claim.asked_ms,
            ran=ran,
            attempt=claim.failures,
            times=seen // len(kept) + (place < seen % len(kept)),
            call=kept_call(claim.args, claim.kwargs),
        )
        for place, (claim, ran) in enumerate(kept)
    ]
