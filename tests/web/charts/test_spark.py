from __future__ import annotations

import re
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS
from workkit.contract.history import BUCKETS, Bucket, Buckets, Cell, bucket_of
from workkit.web.charts.spark import Spark, lateness_spark

QUARTER = timedelta(minutes=15)


def bucket(quarter: int, *ms: float) -> Bucket:
    start = NOW - 96 * QUARTER + quarter * QUARTER
    return Bucket(
        start=start, end=start + QUARTER / 3, cell=Cell(done=len(ms), lateness=Buckets((bucket_of(v), 1) for v in ms))
    )


def drawn(*past: Bucket) -> Spark:
    return lateness_spark(past, now=NOW, zone=PARIS)


def points(path: str) -> list[list[tuple[float, float]]]:
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", piece)] for piece in path.split("M") if piece
    ]


def test_a_quarter_is_three_px_on_a_log_scale() -> None:
    shown = drawn(bucket(0, 1, 1), bucket(1, 2_000, 2_000))
    ((first, second, last),) = points(shown.half)
    assert (first[0], second[0], last[0]) == (0, 3, 6)
    assert first[1] > 40
    assert second[1] == last[1] == 0
    assert (shown.width, shown.height) == (288, 44)
    assert shown.area == shown.most + "L6 44L0 44Z"


def test_a_quarter_without_a_start_is_a_gap() -> None:
    assert [len(piece) for piece in points(drawn(bucket(0, 4), bucket(1, 4), bucket(5, 4)).half)] == [3, 2]


def test_cells_of_a_quarter_are_put_together() -> None:
    shown = drawn(bucket(3, 4, 4, 4), bucket(3, 1_500))
    assert len(points(shown.half)) == 1
    assert shown.worst == "1.6 s yesterday at 12:00"


def test_its_sentence_says_the_usual_and_the_worst() -> None:
    past = [bucket(k, *[4.0] * 10, 20.0) for k in range(90)] + [bucket(94, 1_400), bucket(95, 5_000)]
    assert drawn(*past).label == (
        "Lateness in the last 24 hours: half of all starts within 5 ms; 95 % within 26 ms, "
        "but for 6.5 s at 11:00 and 1.6 s at 10:45."
    )
    assert drawn(*past).ticks == ("yesterday 11:15", "6.5 s at 11:00", "now")
    assert drawn().label == "Lateness in the last 24 hours: nothing started."


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
        for one in [bucket(k)]
    ]
    shown = drawn(*past)
    for piece in [*points(shown.half), *points(shown.most), *points(shown.area)]:
        assert all(0 <= x <= 288 and 0 <= y <= 44 for x, y in piece)
