"""How busy and how late: the load, the strip of minutes, the lateness of a day."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS, rects
from workkit.contract.history import BUCKETS, Bucket, Buckets, Cell, bucket_of
from workkit.web.charts.axis import axis
from workkit.web.charts.load import STRIP_HEIGHT, Spark, Step, Strip, expected, lateness_spark, load, strip

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


MINUTE = timedelta(minutes=1)
THIS = NOW.replace(second=0)


def minute(minutes: int, **counts: Any) -> Bucket:
    start = THIS + minutes * MINUTE
    return Bucket(start=start, end=start + MINUTE, cell=Cell(**counts))


def strip_of(past: list[Bucket], planned: list[int] | None = None) -> Strip:
    return strip(past, planned or [], now=NOW, zone=PARIS)


def test_a_bar_of_a_minute_has_a_height_of_its_runs() -> None:
    shown = strip_of([minute(-60, done=10), minute(-30, done=5), minute(0, done=1)])
    assert rects(shown.paths["d"]) == [(0, 38, 6, 34), (240, 55, 6, 17), (480, 68.6, 6, 3.4)]
    assert set(shown.paths) == {"d"}
    assert (shown.width, shown.height, shown.ran) == (966, 92, 16)


def test_late_runs_stand_on_the_bar_and_failed_ones_hang_below_the_line() -> None:
    shown = strip_of([minute(-15, done=5, late=2, retried=1)])
    assert rects(shown.paths["d"]) == [(360, 61.8, 6, 10.2)]  # three at their time
    assert rects(shown.paths["l"]) == [(360, 53.5, 6, 6.8)]
    assert rects(shown.paths["f"]) == [(360, 75, 6, 8)]


def test_planned_minutes_are_outlines_and_the_rest_of_this_one_stands_on_its_bar() -> None:
    shown = strip_of([minute(0, done=5)], [2, 0, 10])
    assert rects(shown.paths["p"]) == [(480.5, 45.2, 5, 6.8), (496.5, 38, 5, 34)]
    assert shown.planned == 12


def test_the_line_of_now_moves_within_its_minute() -> None:
    assert strip_of([]).here == 484
    assert strip([], [], now=THIS, zone=PARIS).here == 480


def test_its_ticks_are_times_of_the_zone() -> None:
    assert [tick.text for tick in strip_of([]).ticks] == ["10:15", "10:35", "10:55", "11:15", "11:35", "11:55", "12:15"]
    assert [tick.text for tick in strip_of([]).ticks if tick.kind] == ["11:15"]


def test_its_sentence_counts() -> None:
    past = [minute(-k, done=5, late=1) for k in range(1, 3)] + [minute(0, done=1, dead=3, missed=1)]
    assert strip_of(past, [0, 1, 18]).label == (
        "Runs in each minute from 10:15 to 12:15. 14 ran, 3 of them failed, 2 started late, 1 missed. "
        "19 are planned, 18 of them at 11:17."
    )
    assert strip_of([]).label == "Runs in each minute from 10:15 to 12:15. 0 ran. None is planned."


def test_cells_beyond_the_hour_are_left_out() -> None:
    shown = strip_of([minute(-61, done=5), minute(1, done=5)], [1] * 100)
    assert shown.ran == 0
    assert shown.planned == 61


@given(
    st.lists(st.tuples(st.integers(-60, 0), *[st.integers(0, 200_000)] * 4), max_size=61, unique_by=lambda row: row[0]),
    st.lists(st.integers(0, 300_000), max_size=61),
)
def test_nothing_is_drawn_outside_the_strip(rows: list[tuple[int, int, int, int, int]], planned: list[int]) -> None:
    past = [minute(k, done=done, late=late, dead=dead, retried=again) for k, done, late, dead, again in rows]
    shown = strip_of(past, planned)
    for data in shown.paths.values():
        for x, y, width, height in rects(data):
            assert x >= 0
            assert x + width <= 966.5
            assert y >= -0.1
            assert y + height <= STRIP_HEIGHT + 0.1
            assert height > 0
    assert shown.ran == sum(one.cell.runs for one in past)


QUARTER = timedelta(minutes=15)


def quarter(quarter: int, *ms: float) -> Bucket:
    start = NOW - 96 * QUARTER + quarter * QUARTER
    return Bucket(
        start=start, end=start + QUARTER / 3, cell=Cell(done=len(ms), lateness=Buckets((bucket_of(v), 1) for v in ms))
    )


def spark_of(*past: Bucket) -> Spark:
    return lateness_spark(past, now=NOW, zone=PARIS)


def points(path: str) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", piece)] for piece in path.split("M") if piece
    ]


def test_a_quarter_is_three_px_on_a_log_scale() -> None:
    shown = spark_of(quarter(0, 1, 1), quarter(1, 2_000, 2_000))
    ((first, second, last),) = points(shown.half)
    assert (first[0], second[0], last[0]) == (0, 3, 6)
    assert first[1] > 40
    assert second[1] == last[1] == 0
    assert (shown.width, shown.height) == (288, 44)
    assert shown.area == shown.most + "L6 44L0 44Z"


def test_a_quarter_without_a_start_is_a_gap() -> None:
    assert [len(piece) for piece in points(spark_of(quarter(0, 4), quarter(1, 4), quarter(5, 4)).half)] == [3, 2]


def test_cells_of_a_quarter_are_put_together() -> None:
    shown = spark_of(quarter(3, 4, 4, 4), quarter(3, 1_500))
    assert len(points(shown.half)) == 1
    assert shown.worst == "1.6 s yesterday at 12:00"


def test_its_sentence_says_the_usual_and_the_worst() -> None:
    past = [quarter(k, *[4.0] * 10, 20.0) for k in range(90)] + [quarter(94, 1_400), quarter(95, 5_000)]
    assert spark_of(*past).label == (
        "Lateness in the last 24 hours: half of all starts under 5 ms; 95 % under 26 ms, "
        "but for 6.5 s at 11:00 and 1.6 s at 10:45."
    )
    assert spark_of(*past).ticks == ("yesterday 11:15", "6.5 s at 11:00", "now")
    assert spark_of().label == "Lateness in the last 24 hours: nothing started."


def test_events_are_marked() -> None:
    events = [(NOW - 48 * QUARTER, "0.2.0 came"), (NOW - 200 * QUARTER, "long ago")]
    (mark,) = lateness_spark([], now=NOW, zone=PARIS, events=events).marks
    assert (mark.data, mark.says) == ("M144 0V44", "0.2.0 came")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-5, 100), st.integers(0, BUCKETS - 1)), max_size=60))
def test_nothing_is_drawn_outside(rows: list[tuple[int, int]]) -> None:
    past = [
        Bucket(start=one.start, end=one.end, cell=Cell(done=1, lateness=Buckets([(bucket_, 1)])))
        for k, bucket_ in rows
        for one in [quarter(k)]
    ]
    shown = spark_of(*past)
    for piece in [*points(shown.half), *points(shown.most), *points(shown.area)]:
        assert all(0 <= x <= 288 and 0 <= y <= 44 for x, y in piece)
