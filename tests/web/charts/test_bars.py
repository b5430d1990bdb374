"""Charts of bars: the last runs of a job, histograms, columns."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS, ran, rects
from workkit.contract.history import BUCKETS, ENDINGS, Bucket, Buckets, Cell, Ended, PastRun, bucket_of
from workkit.web.charts.axis import axis, burst, function_day, last_hour, one_time_lane
from workkit.web.charts.bars import BUCKET, Bars, bars, durations, lateness

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


def counted(*ms: float) -> Buckets:
    return Buckets((bucket_of(one), 1) for one in ms)


def test_a_bar_is_half_an_octave() -> None:
    shown = durations(counted(*[2_000] * 4, *[2_900] * 2, *[8_000]))
    drawn = rects(shown.paths["d"])
    assert [height for *_, height in drawn] == [56, 28, 14]
    first, second, third = (x / BUCKET for x, *_ in drawn)
    assert (second - first, third - first) == (1, 4)  # 8 s is two octaves above 2 s
    assert {width for _, _, width, _ in drawn} == {16}


def test_a_single_run_among_thousands_is_still_seen() -> None:
    shown = durations(counted(*[1_000] * 5_000, 9_000))
    assert min(height for *_, height in rects(shown.paths["d"])) == 3


def test_late_starts_are_amber_from_a_second_on() -> None:
    shown = lateness(counted(4, 5, 900, 1_500, 62_000, 80_000))
    assert len(rects(shown.paths["l"])) == 3
    assert shown.sentence == "Half under 1.2 s, 95 % under 1 min 50 s. 2 started more than 52.4 s late."


def test_its_sentence_says_quantiles_and_the_timeout() -> None:
    shown = durations(counted(*[4_000] * 10), timeout_ms=1_200_000)
    assert shown.sentence == "Half under 4.7 s, 95 % under 4.7 s. Its timeout is 20 min."
    assert shown.label == (
        "How long runs took: half under 4.7 s, 95 % under 4.7 s, none longer than 4.7 s. Its timeout is 20 min."
    )
    assert durations(Buckets()).sentence == "No run yet."
    assert lateness(Buckets()).label == "How late runs started: no run yet."


def test_the_timeout_is_a_line_at_its_place() -> None:
    shown = durations(counted(*[1_000] * 3, 2_000), timeout_ms=4_000)
    assert shown.limit_x is not None
    bars = [x for x, *_ in rects(shown.paths["d"])]
    one_second, two_seconds = bars[0], bars[1]
    assert two_seconds < shown.limit_x <= shown.width
    assert abs(shown.limit_x - one_second - 4 * BUCKET) < BUCKET  # two octaves, to a bucket


def test_a_timeout_far_beyond_is_only_said() -> None:
    shown = durations(counted(20), timeout_ms=86_400_000)
    assert shown.limit_x is None
    assert shown.sentence.endswith("Its timeout is 1 d.")


@pytest.mark.parametrize(
    ("ms", "labels"),
    [
        ((1, 2, 4, 8, 16), ("0.8 ms", "2 ms", "3 ms", "6 ms", "13 ms")),
        ((150_000, 450_000), ("1 min", "2 min", "4 min", "9 min", "19 min")),
        ((0, 0), ("0 ms", "0.1 ms", "0.3 ms", "0.6 ms", "1 ms")),
    ],
)
def test_labels_are_lower_ends(ms: tuple[float, ...], labels: tuple[str, ...]) -> None:
    assert durations(counted(*ms)).labels == labels


@given(st.lists(st.tuples(st.integers(0, BUCKETS - 1), st.integers(1, 10**9))), st.none() | st.floats(0.05, 4e8))
def test_every_bucket_is_drawn_inside(pairs: list[tuple[int, int]], timeout: float | None) -> None:
    buckets = Buckets(pairs)
    for shown in (durations(buckets, timeout_ms=timeout), lateness(buckets)):
        drawn = [one for data in shown.paths.values() for one in rects(data)]
        assert all(x >= 0 and x + width <= shown.width for x, _, width, _ in drawn)
        assert all(y >= 0 and y + height <= 56.05 and height >= 3 for _, y, _, height in drawn)
        assert len(drawn) == len({bucket for bucket, _ in pairs})
        assert bool(drawn) == bool(pairs)
        assert len(shown.labels) == 5
        assert shown.limit_x is None or 0 <= shown.limit_x <= shown.width
        if pairs:
            assert max(height for *_, height in drawn) == 56


QUARTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)
ON_AXIS = axis("24h", now=NOW, zone=PARIS)


def bucket(quarter: int, done: int, dead: int = 0) -> Bucket:
    start = NOW - 96 * QUARTER + quarter * QUARTER
    return Bucket(start=start, end=start + QUARTER, cell=Cell(done=done, dead=dead))


def test_runs_stand_on_a_line_and_failures_hang_below_it() -> None:
    shown = function_day([bucket(0, 10), bucket(95, 5, 2), bucket(96, 9)], "app.x", now=NOW, zone=PARIS)
    assert rects(shown.paths["d"]) == [(0, 2, 5, 36), (570, 20, 5, 18)]
    assert rects(shown.paths["f"]) == [(570, 41, 5, 22)]
    assert shown.label == ("Runs of app.x in each quarter of an hour: 17 runs, 2 failed, the first at about 11:00.")
    assert function_day([], "app.x", now=NOW, zone=PARIS).label.endswith(": 0 runs.")


def test_an_hour_is_columns_of_a_minute_and_the_last_one_is_at_the_right() -> None:
    shown = last_hour([(9, 9), *[(0, 0)] * 57, (2, 0), (4, 1), (0, 0)])
    assert rects(shown.paths["d"]) == [(285, 6, 4, 10), (290, 1, 4, 15)]
    assert rects(shown.paths["f"]) == [(290, 18, 4, 6)]
    assert shown.label == "The last hour, by minute: 6 runs, 1 failed."
    assert rects(last_hour([(1, 0)]).paths["d"]) == [(295, 1, 4, 15)]
    assert not last_hour([]).paths


def test_deaths_are_columns_of_an_hour() -> None:
    shown = burst([NOW, NOW - HOUR / 2, NOW - 47.5 * HOUR, NOW - 49 * HOUR], now=NOW)
    assert rects(shown.paths["f"]) == [(0, 10, 3, 10), (188, 0, 3, 20)]
    assert shown.label == "When they died: 3 in the last 48 hours, 1 before."


def test_jobs_that_run_once_are_columns_of_the_axis() -> None:
    ran, planned = [0] * 192, [0] * 192
    ran[0], ran[95], planned[96], planned[120] = 11, 22, 11, 1
    shown = one_time_lane(ON_AXIS, ran, planned, waiting=12)
    assert rects(shown.paths["ds"]) == [(0, 15, 13, 11), (1425, 4, 13, 22)]
    assert rects(shown.paths["pf"]) == [(1440, 15, 11, 11), (1800, 25, 11, 1)]
    assert shown.label == "One-time jobs: 33 ran; 12 wait, most until 11:30."
    assert one_time_lane(ON_AXIS, [], [], waiting=1).label == "One-time jobs: 0 ran; 1 waits."
