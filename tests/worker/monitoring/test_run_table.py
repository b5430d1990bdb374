"""The counts of runs in shared memory: what is read, how many functions have a row, what remains of a process."""

from __future__ import annotations

import os

from workkit.brokers.connect import open_broker
from workkit.contract.listener import Claim
from workkit.jobs.job import Job
from workkit.worker import run_table
from workkit.worker.counting import lengths_of
from workkit.worker.lane import Lane, LaneRun
from workkit.worker.run_table import (
    DURATION,
    EDGES,
    LATENESS,
    MISSED,
    MOST_FUNCTIONS,
    OUTCOMES,
    RunTable,
    Totals,
    histogram,
)

LANE = Lane(open_broker("s", redis="redis://127.0.0.1:1/"))  # never connected
DONE, FAILED = OUTCOMES.index("done"), OUTCOMES.index("failed")


def test_a_run_is_in_its_outcome_and_in_both_histograms() -> None:
    table = RunTable()
    table.note("s", "#'app/f", "done", took_ms=1000.0, late_ms=0)
    table.note("s", "#'app/f", "failed", took_ms=1001.0, late_ms=None)
    table.count("s", "#'app/f", MISSED)
    assert not sum(dict(table.rows())["s", "app.f"])
    table.flush()
    ((key, numbers),) = table.rows()
    assert key == ("s", "app.f")
    assert (numbers[DONE], numbers[FAILED], numbers[MISSED]) == (1, 1, 1)
    took = histogram(numbers, DURATION)
    at = EDGES.index(1.0)
    assert (took.buckets[at], took.buckets[at + 1], sum(took.buckets)) == (1, 1, 2), "an edge belongs to its bucket"
    assert took.sum == 2.001
    late = histogram(numbers, LATENESS)
    assert (late.buckets[0], sum(late.buckets), late.sum) == (1, 1, 0.0), "a further attempt is late on purpose"


def test_a_run_beyond_all_edges_is_in_the_last_bucket() -> None:
    table = RunTable()
    table.note("s", "f", "done", took_ms=86_400_000.0, late_ms=86_400_000)
    table.flush()
    ((_, numbers),) = table.rows()
    for at in (DURATION, LATENESS):
        assert histogram(numbers, at).buckets[-1] == 1


def test_a_lateness_beyond_all_numbers_is_the_largest_number() -> None:
    """The due time of a record is what anybody wrote."""
    table = RunTable()
    for _ in range(2):
        table.note("s", "f", "done", took_ms=1.0, late_ms=10**300)
        table.flush()
    ((_, numbers),) = table.rows()
    assert histogram(numbers, LATENESS).buckets[-1] == 2
    assert histogram(numbers, LATENESS).sum == (2**64 - 1) / 1e6


def test_functions_beyond_the_bound_share_one_row_for_each_schedule() -> None:
    table = RunTable()
    for schedule in ("a", "b"):
        for n in range(MOST_FUNCTIONS):
            table.note(schedule, f"f{n}", "done", took_ms=1.0, late_ms=0)
    table.flush()
    rows = dict(table.rows())
    assert len(rows) == MOST_FUNCTIONS + 1
    assert rows["b", "other"][DONE] == MOST_FUNCTIONS
    table.note("a", "f0", "done", took_ms=1.0, late_ms=0)
    table.flush()
    assert dict(table.rows())["a", "f0"][DONE] == 2, "a function that has a row keeps it"


def test_no_number_of_schedules_and_no_length_of_a_name_fills_the_table() -> None:
    table = RunTable()
    for n in range(500):
        table.note(f"schedule-{n}", "é" * 400 + str(n), "done", took_ms=1.0, late_ms=0)
    table.flush()
    rows = dict(table.rows())
    assert sum(numbers[DONE] for numbers in rows.values()) == 500
    assert rows["other", "other"][DONE] > 300


def test_another_reader_of_the_file_sees_what_a_killed_process_counted() -> None:
    file = run_table.shared_file()
    reader = RunTable(file)
    child = os.fork()
    if not child:
        writer = RunTable(file)
        for _ in range(1000):
            writer.note("s", "f", "done", took_ms=1.0, late_ms=0)
        writer.flush()
        os.kill(os.getpid(), 9)
    assert os.waitpid(child, 0)[1] == 9
    os.close(file)
    assert dict(reader.rows())["s", "f"][DONE] == 1000


def test_sums_keep_what_ended_and_bound_the_functions_of_all_tables() -> None:
    totals, tables = Totals(), [RunTable(), RunTable()]
    for number, table in enumerate(tables):
        totals.add(table)
        for n in range(MOST_FUNCTIONS - 1):
            table.note("s", f"f{number}.{n}", "done", took_ms=1.0, late_ms=0)
        table.note("s", "both", "done", took_ms=1.0, late_ms=0)
        table.flush()
    before = totals.read()
    assert len(before) == MOST_FUNCTIONS + 1
    assert before["s", "both"][DONE] == 2
    totals.retire(tables[0])
    assert totals.read() == before
    assert sum(numbers[DONE] for numbers in before.values()) == 2 * MOST_FUNCTIONS


def test_runs_that_are_done_count_the_same_in_bulk_and_one_by_one() -> None:
    bulk, single = RunTable(), RunTable()
    edges = [at for edge in EDGES for at in (edge * 1000, edge * 1000 + 1, edge * 1000 - 1)]
    for table in (bulk, single):
        table.note("s", "#'app/f", "failed", took_ms=3.0, late_ms=5)
    for attempts in ([attempt("#'app/f", took_ms=2.5, late_ms=7), attempt("#'app/g", took_ms=900.0, late_ms=0)], []):
        bulk.done("s", lengths_of(attempts))
    bulk.done("s", lengths_of([attempt("#'app/f", took_ms=ms, late_ms=round(ms)) for ms in edges]))
    single.note("s", "#'app/f", "done", took_ms=2.5, late_ms=7)
    single.note("s", "#'app/g", "done", took_ms=900.0, late_ms=0)
    for ms in edges:
        single.note("s", "#'app/f", "done", took_ms=ms, late_ms=round(ms))
    for table in (bulk, single):
        table.flush()
    assert dict(bulk.rows()) == dict(single.rows())
    assert dict(bulk.rows())["s", "app.f"][DONE] == 1 + len(edges)


def attempt(fn: str, *, took_ms: float, late_ms: int) -> LaneRun:
    claim = Claim(receipt=None, describe=lambda _: Job(id="x", schedule="s", fn=fn), id="x", fn=fn, args=(), due_ms=0)
    run = LaneRun(claim, LANE)
    run.late_ms, run.took_ms = late_ms, took_ms
    return run
