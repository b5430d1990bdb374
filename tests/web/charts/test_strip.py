from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS, rects
from workkit.contract.history import Bucket, Cell
from workkit.web.charts.strip import HEIGHT, Strip, strip

MINUTE = timedelta(minutes=1)
THIS = NOW.replace(second=0)


def bucket(minutes: int, **counts: Any) -> Bucket:
    start = THIS + minutes * MINUTE
    return Bucket(start=start, end=start + MINUTE, cell=Cell(**counts))


def drawn(past: list[Bucket], planned: list[int] | None = None) -> Strip:
    return strip(past, planned or [], now=NOW, zone=PARIS)


def test_a_bar_of_a_minute_has_a_height_of_its_runs() -> None:
    shown = drawn([bucket(-60, done=10), bucket(-30, done=5), bucket(0, done=1)])
    assert rects(shown.paths["d"]) == [(0, 38, 6, 34), (240, 55, 6, 17), (480, 68.6, 6, 3.4)]
    assert set(shown.paths) == {"d"}
    assert (shown.width, shown.height, shown.ran) == (966, 92, 16)


def test_late_runs_stand_on_the_bar_and_failed_ones_hang_below_the_line() -> None:
    shown = drawn([bucket(-15, done=5, late=2, retried=1)])
    assert rects(shown.paths["d"]) == [(360, 61.8, 6, 10.2)]  # three at their time
    assert rects(shown.paths["l"]) == [(360, 53.5, 6, 6.8)]
    assert rects(shown.paths["f"]) == [(360, 75, 6, 8)]


def test_planned_minutes_are_outlines_and_the_rest_of_this_one_stands_on_its_bar() -> None:
    shown = drawn([bucket(0, done=5)], [2, 0, 10])
    assert rects(shown.paths["p"]) == [(480.5, 45.2, 5, 6.8), (496.5, 38, 5, 34)]
    assert shown.planned == 12


def test_the_line_of_now_moves_within_its_minute() -> None:
    assert drawn([]).here == 484
    assert strip([], [], now=THIS, zone=PARIS).here == 480


def test_its_ticks_are_times_of_the_zone() -> None:
    assert [tick.text for tick in drawn([]).ticks] == ["10:15", "10:35", "10:55", "11:15", "11:35", "11:55", "12:15"]
    assert [tick.text for tick in drawn([]).ticks if tick.kind] == ["11:15"]


def test_its_sentence_counts() -> None:
    past = [bucket(-k, done=5, late=1) for k in range(1, 3)] + [bucket(0, done=1, dead=3, missed=1)]
    assert drawn(past, [0, 1, 18]).label == (
        "Runs in each minute from 10:15 to 12:15. 14 ran, 3 of them failed, 2 started late, 1 missed. "
        "19 are planned, 18 of them at 11:17."
    )
    assert drawn([]).label == "Runs in each minute from 10:15 to 12:15. 0 ran. None is planned."


def test_cells_beyond_the_hour_are_left_out() -> None:
    shown = drawn([bucket(-61, done=5), bucket(1, done=5)], [1] * 100)
    assert shown.ran == 0
    assert shown.planned == 61


@given(
    st.lists(st.tuples(st.integers(-60, 0), *[st.integers(0, 200_000)] * 4), max_size=61, unique_by=lambda row: row[0]),
    st.lists(st.integers(0, 300_000), max_size=61),
)
def test_nothing_is_drawn_outside(rows: list[tuple[int, int, int, int, int]], planned: list[int]) -> None:
    past = [bucket(k, done=done, late=late, dead=dead, retried=again) for k, done, late, dead, again in rows]
    shown = drawn(past, planned)
    for data in shown.paths.values():
        for x, y, width, height in rects(data):
            assert x >= 0
            assert x + width <= 966.5
            assert y >= -0.1
            assert y + height <= HEIGHT + 0.1
            assert height > 0
    assert shown.ran == sum(one.cell.runs for one in past)
