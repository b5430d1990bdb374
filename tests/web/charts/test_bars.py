from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS, ran, rects
from workkit.contract.history import ENDINGS, Ended, PastRun
from workkit.web.charts.bars import Bars, bars

DAY = timedelta(days=1)


def drawn(*runs: PastRun, running: bool = False) -> Bars:
    """The runs are given the first one first, which is easier to read."""
    return bars(runs[::-1], now=NOW, zone=PARIS, running=running)


def test_runs_stand_at_the_right_and_empty_places_are_lines() -> None:
    shown = drawn(ran(took_ms=1_000), ran(took_ms=8_000))
    assert rects(shown.paths["d"]) == [(290, 19, 4, 5), (295, 6, 4, 18)]
    assert rects(shown.paths["ds"]) == [(5 * k, 23, 4, 1) for k in range(58)]
    assert (shown.width, shown.height) == (299, 24)


def test_height_is_the_time_taken_on_a_log_scale() -> None:
    shown = drawn(ran(took_ms=1_000), ran(took_ms=2_000), ran(took_ms=4_000))
    assert [height for *_, height in rects(shown.paths["d"])] == [5, 11.5, 18]


def test_runs_that_hardly_differ_have_half_the_height() -> None:
    shown = drawn(ran(took_ms=1_000), ran(took_ms=1_100))
    assert [height for *_, height in rects(shown.paths["d"])] == [11.5, 11.5]


@pytest.mark.parametrize(
    ("ending", "late_ms", "paths"),
    [
        ("done", 999, {"d": [(295, 12.5, 4, 11.5)]}),
        ("done", 1_000, {"d": [(295, 12.5, 4, 11.5)], "l": [(295, 8, 4, 3.5)]}),
        ("retried", 0, {"f": [(295, 9, 4, 9.5), (295, 20, 4, 4)]}),
        ("dead", 5_000, {"f": [(295, 9, 4, 9.5), (295, 20, 4, 4)]}),
        ("missed", 90_000, {"m": [(295.5, 13.5, 3, 10)]}),
        ("skipped", 0, {"sk": [(295, 22, 4, 2)]}),
        ("overlap", 0, {"sk": [(295, 22, 4, 2)]}),
    ],
)
def test_each_ending_has_a_shape_of_its_own(
    ending: Ended, late_ms: int, paths: dict[str, list[tuple[float, float, float, float]]]
) -> None:
    shown = drawn(ran(ending=ending, late_ms=late_ms))
    assert {kind: rects(data) for kind, data in shown.paths.items() if kind != "ds"} == paths


def test_what_ended_without_being_done_is_a_soft_bar() -> None:
    assert rects(drawn(ran(ending="discarded")).paths["ds"])[-1] == (295, 12.5, 4, 11.5)


def test_a_run_in_progress_is_the_last_bar() -> None:
    shown = drawn(ran(took_ms=1_000), ran(took_ms=8_000), running=True)
    assert rects(shown.paths["r pulse"]) == [(295, 19, 4, 5)]
    assert [x for x, *_ in rects(shown.paths["d"])] == [285, 290]
    assert shown.label.endswith(" One runs now.")


def test_its_sentence_counts_endings_and_says_how_long_they_took() -> None:
    runs = [ran(took_ms=180_000)] * 57 + [
        ran(ending="dead", took_ms=300_000),
        ran(late_ms=62_000),
        ran(ending="missed"),
    ]
    assert drawn(*runs).label == ("Last 60 runs: 57 done, 1 started late, 1 failed, 1 missed; took 2 s to 5 min.")
    assert drawn(ran()).label == "Last 1 run: 1 done; took 2 s."
    assert drawn().label == "Has not run yet."


def test_ticks_name_days_or_times_of_one_day() -> None:
    month = drawn(*(ran(NOW - k * DAY) for k in reversed(range(60))))
    assert month.ticks == ("22 Sep", "7 Oct", "22 Oct", "5 Nov", "today")
    hours = drawn(*(ran(NOW - timedelta(minutes=k)) for k in reversed(range(60))))
    assert hours.ticks == ("10:16:30", "10:31:30", "10:46:30", "11:00:30", "11:15:30")
    assert drawn(ran()).ticks == ("", "", "", "", "11:15:30")


@given(
    st.lists(
        st.builds(
            ran,
            ending=st.sampled_from(ENDINGS),
            took_ms=st.integers(0, 2**32 - 1),
            late_ms=st.integers(0, 2**32 - 1),
        ),
        max_size=70,
    ),
    st.booleans(),
)
def test_every_place_is_used_once_and_nothing_is_drawn_outside(runs: list[PastRun], running: bool) -> None:
    shown = drawn(*runs, running=running)
    places = set()
    for data in shown.paths.values():
        for x, y, width, height in rects(data):
            places.add(int(x // 5))
            assert x % 5 + width <= 4
            assert y >= 0
            assert y + height <= 24.05
    assert places == set(range(60))
