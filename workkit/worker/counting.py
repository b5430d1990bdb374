"""Counts of the runs of one schedule, on their way to the server: once a second, by the loop's thread. What is kept by
itself at once goes with the ending of a run, not through here.
"""

from __future__ import annotations

import math
import time

from workkit.contract.broker import Broker
from workkit.contract.claim import Claim
from workkit.contract.history import ALL, FN, JOB, LATE_MS, LONG_MS, MORE, Cell, Counted, Sample
from workkit.jobs.outcome import Again, Dead, Done, Outcome, Ran

APART = 1.0  # seconds between two writes
SAMPLED, SLOW = 10, 40  # plain runs kept by themselves in one write: of any kind, and of the late and long ones beside
SUBJECTS = 500  # in one write; further ones are counted together
BITS = 63  # the last bucket

Measured = tuple[Claim, Ran]


class RunCounter:
    """The runs of one schedule since the last write. For the thread that talks to the brokers."""

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

    def plain(self, claim: Claim, late_ms: int, took_ms: float) -> None:
        """Count a run that is done, of a job that does not recur. Each of these costs every run."""
        cell = self._by_fn.get(claim.fn) or self._cell(self._by_fn, claim.fn)
        cell.done += 1
        _measure(cell, late_ms, took_ms)
        if late_ms >= LATE_MS or took_ms >= LONG_MS:
            self._slow_seen += 1
            if len(self._slow) < SLOW:
                self._slow.append((claim, Ran(late_ms=late_ms, took_ms=round(took_ms))))
        else:
            self._plain += 1
            if self._plain <= SAMPLED:
                self._sampled.append((claim, Ran(late_ms=late_ms, took_ms=round(took_ms))))

    def ended(self, claim: Claim, late_ms: int, took_ms: float, outcome: Outcome) -> None:
        """Count a run by its outcome."""
        if isinstance(outcome, Done) and outcome.discarded is None and not claim.recurs:
            self.plain(claim, late_ms, took_ms)
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
        """Send what was counted. If the server does not answer, these counts are lost: a second request would count
        twice if only the answer was lost. Raises ServerUnreachable or ServerRefused.
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


def _measure(cell: Cell, late_ms: int, took_ms: float) -> None:
    """Add one run to the sums. This is `bucket_of`, without the calls."""
    took = int(took_ms * 10)
    bucket = (took * took).bit_length()
    cell.durations.counts[min(BITS, bucket)] += 1
    cell.busy_ms += int(took_ms)
    if late_ms > 0:
        late = late_ms * 10
        bucket = (late * late).bit_length()
        cell.lateness.counts[min(BITS, bucket)] += 1
        if late_ms >= LATE_MS:
            cell.late += 1
    else:
        cell.lateness.counts[0] += 1


def _samples(kept: list[Measured], seen: int) -> list[Sample]:
    """Let each run that is kept stand for its share of those that were seen."""
    return [
        Sample(
            id=claim.id,
            name=claim.terms.name,
            fn=claim.fn,
            due_ms=claim.due_ms,
            ran=ran,
            attempt=claim.attempt,
            times=seen // len(kept) + (place < seen % len(kept)),
        )
        for place, (claim, ran) in enumerate(kept)
    ]
