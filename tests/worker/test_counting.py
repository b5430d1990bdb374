"""What a listener counts of its runs, on its way to the history of a schedule: spec/history.md, 4 and 5."""

from __future__ import annotations

from typing import Any

from workkit.contract.history import EDGES_MS, LATE_MS, LONG_MS, Buckets, Cell, Counted, bucket_of
from workkit.contract.listener import Claim
from workkit.jobs.job import Job
from workkit.jobs.outcome import DONE, Dead, Failure
from workkit.worker.counting import SAMPLED, SLOW, RunCounter, lengths_of
from workkit.worker.run.run import Run

LENGTHS = [(0, 0.0), (1, 0.04), (999, 0.99), (1000, 1.0), (1638, 1638.3), (1639, 1638.4), (10**9, 10**12), (10**300, 5)]


class Told:
    """Where counts are sent to."""

    def count(self, counted: Counted) -> None:
        self.counted = counted


def _unread(claim: Claim) -> Job:
    raise AssertionError("nobody reads the job")


def attempt(fn: str, late_ms: int, took_ms: float) -> Run:
    claim = Claim(receipt=None, describe=_unread, id="a" * 40, fn=fn, args=(), due_ms=0)
    run = Run(claim)
    run.late_ms, run.took_ms = late_ms, took_ms
    return run


def done(counter: RunCounter, runs: list[Run]) -> None:
    counter.done(runs, lengths_of(runs))


def told(counter: RunCounter) -> Counted:
    there = Told()
    counter.write(there)  # type: ignore[arg-type]  # a broker does more
    return there.counted


def test_each_length_of_time_is_in_its_bucket() -> None:
    counter = RunCounter()
    done(counter, [attempt(fn, late, took) for late, took in LENGTHS for fn in ("a", "b", "b")])
    cells = told(counter).cells
    for subject, n in (("fn:a", 1), ("fn:b", 2), ("schedule", 3)):
        cell = cells[subject]
        assert cell.lateness == Buckets((bucket_of(late), n) for late, _ in LENGTHS)
        assert cell.durations == Buckets((bucket_of(took), n) for _, took in LENGTHS)
        assert cell.done == n * len(LENGTHS)
        assert cell.late == n * sum(late >= LATE_MS for late, _ in LENGTHS)
        assert cell.busy_ms == n * sum(int(took) for _, took in LENGTHS)


def test_runs_that_are_done_count_the_same_at_once_and_one_by_one() -> None:
    at_once, one_by_one = RunCounter(), RunCounter()
    attempts = [attempt("a", late, took) for late, took in LENGTHS]
    done(at_once, attempts)
    for one in attempts:
        one_by_one.ended(one, DONE)
    assert told(at_once) == told(one_by_one)


def test_lengths_at_the_edges_of_buckets_count_the_same_at_once_and_one_by_one() -> None:
    at_once, one_by_one = RunCounter(), RunCounter()
    near = [at for edge in EDGES_MS for at in (edge * 0.999, edge, edge * 1.001)]
    attempts = [attempt("a", round(took), took) for took in near[::-1]]
    done(at_once, attempts)
    for one in attempts:
        one_by_one.ended(one, DONE)
    assert told(at_once).cells == told(one_by_one).cells


def test_a_run_that_failed_is_measured_as_one_that_is_done() -> None:
    well, dead = RunCounter(), RunCounter()
    for late, took in LENGTHS:
        well.ended(attempt("a", late, took), DONE)
        dead.ended(attempt("a", late, took), Dead(failure=Failure(type="OSError", message="")))
    was, found = told(well).cells["fn:a"], told(dead).cells["fn:a"]
    assert (found.dead, found.done) == (len(LENGTHS), 0)
    assert Cell(**{**fields(was), "done": 0, "dead": len(LENGTHS)}) == found


def fields(cell: Cell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in cell.__slots__}


def test_samples_stand_for_all_runs_of_their_kind() -> None:
    counter = RunCounter()
    for _ in range(3):
        done(counter, [attempt("a", late, 1.0) for late in (0, LATE_MS) for _ in range(25)])
        done(counter, [attempt("a", 0, LONG_MS)])
    samples = told(counter).samples
    slow = [one for one in samples if one.ran.late_ms >= LATE_MS or one.ran.took_ms >= LONG_MS]
    usual = [one for one in samples if one not in slow]
    assert (len(usual), sum(one.times for one in usual)) == (SAMPLED, 75)
    assert (len(slow), sum(one.times for one in slow)) == (SLOW, 78)
