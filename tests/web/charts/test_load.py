from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS
from workkit.contract.history import Bucket, Cell
from workkit.web.charts.axis import axis
from workkit.web.charts.load import Step, expected, load

DAY = axis("24h", now=NOW, zone=PARIS)
FIVE = timedelta(minutes=5)
HOUR = timedelta(hours=1)


def bucket(back: int, busy: float) -> Bucket:
    start = NOW - (back + 1) * FIVE
    return Bucket(start=start, end=start + FIVE, cell=Cell(busy_ms=round(busy * 300_000)))


def test_the_past_is_an_area_of_busy_threads() -> None:
    shown = load(DAY, [bucket(1, 30), bucket(0, 60)], [], threads=60)
    assert shown.past == "M1430 46L1432.5 23L1437.5 0L1440 0L1440 46Z"
    assert shown.ahead == ""


def test_the_expected_load_is_a_line() -> None:
    steps = [Step(start=NOW, end=NOW + HOUR, busy=6), Step(start=NOW + HOUR, end=NOW + 2 * HOUR, busy=60)]
    assert load(DAY, [], steps, threads=60).ahead == "M1440 41.4L1470 41.4L1530 0"


def test_more_than_all_threads_are_drawn_as_all() -> None:
    assert " 0L" in load(DAY, [bucket(0, 200)], [], threads=60).past


def test_runs_are_spread_over_the_steps_that_they_fill() -> None:
    steps = expected([([NOW + HOUR], 30 * 60_000.0), ([NOW + HOUR] * 4, 600_000.0)], now=NOW, until=NOW + 24 * HOUR)
    assert len(steps) == 144
    assert [round(step.busy, 3) for step in steps[5:10]] == [0, 5, 1, 1, 0]


@given(st.lists(st.tuples(st.integers(0, 80_000_000), st.integers(0, 6_000_000)), max_size=30))
def test_no_time_of_a_run_is_lost(runs: list[tuple[int, int]]) -> None:
    plans = [([NOW + timedelta(milliseconds=due)], float(took)) for due, took in runs]
    steps = expected(plans, now=NOW, until=NOW + 24 * HOUR)
    total = sum(step.busy for step in steps) * 600_000
    whole = sum(min(took, 86_400_000 - due) for due, took in runs)
    assert total == pytest.approx(whole, rel=1e-6, abs=1)


def test_its_sentence_names_the_usual_and_the_peaks() -> None:
    past = [bucket(k, 3 + k % 10) for k in range(100)]
    ahead = [Step(start=NOW + k * HOUR, end=NOW + (k + 1) * HOUR, busy=60 if k == 7 else 5) for k in range(24)]
    assert load(DAY, past, ahead, threads=60).label == (
        "How many threads were busy, and will be: mostly 4 to 11 of 60; all 60 at 18:15:30."
    )
    assert load(DAY, [], [], threads=0).label == "How many threads were busy is not known."
    assert "nobody listens now" in load(DAY, past, [], threads=0).label


def test_no_span_ahead_expects_nothing() -> None:
    assert expected([([NOW], 1.0)], now=NOW, until=NOW) == []
