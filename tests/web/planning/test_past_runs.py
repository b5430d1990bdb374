"""What ran in a window, put together from single runs, rings and counts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.web.charts.rects import NOW, PARIS, ran
from workkit.contract.history import Bucket, Cell, PastRun
from workkit.web.charts.axis import axis
from workkit.web.planning.past_runs import RING, Seen, joined, known_since, runs_of_cells

HOUR = timedelta(hours=1)
AXIS = axis("24h", now=NOW, zone=PARIS)


def ring(count: int, every: timedelta) -> list[PastRun]:
    return [ran(NOW - (k + 1) * every) for k in range(count)]


def test_a_single_run_knows_more_than_the_one_of_the_ring() -> None:
    of_ring = PastRun(id=None, name=None, fn=None, due=NOW - HOUR, ended=NOW - HOUR, ending="done")
    older = ran(NOW - 2 * HOUR)
    found = joined([ran(NOW - HOUR), older], [of_ring])
    assert [(run.due, run.listener) for run in found] == [(NOW - HOUR, "worker-1"), (NOW - 2 * HOUR, "worker-1")]
    assert len(joined([], [of_ring, ran(NOW - HOUR, "dead")])) == 2


@pytest.mark.parametrize(
    ("seen", "runs", "since"),
    [
        (Seen(), ring(RING, timedelta(minutes=1)), AXIS.start),  # all single runs are there
        (Seen(since=NOW - HOUR), ring(5, HOUR), AXIS.start),  # the ring has all of its runs
        (Seen(since=NOW - HOUR), ring(RING, timedelta(seconds=10)), NOW - HOUR),
        (Seen(since=NOW - HOUR), ring(RING, HOUR), AXIS.start),
        (Seen(since=NOW - HOUR), [], AXIS.start),
    ],
)
def test_runs_are_all_known_from_an_instant_on(seen: Seen, runs: list[PastRun], since: Any) -> None:
    assert known_since(seen, runs, AXIS) == since


def test_counts_are_runs_as_long_as_their_cell() -> None:
    start, end = NOW, NOW + HOUR
    cells = [
        Bucket(start=start, end=end, cell=cell) for cell in (Cell(), Cell(done=4, dead=2, retried=1), Cell(missed=3))
    ]
    found = [(run.ending, run.times, run.ended - run.due) for run in runs_of_cells(cells)]
    assert found == [("done", 4, HOUR), ("retried", 3, timedelta()), ("missed", 3, timedelta())]
