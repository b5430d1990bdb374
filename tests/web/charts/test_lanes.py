"""The lanes of the Timeline, of hours and of days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS, ran, rects
from workkit.contract.history import ENDINGS, Day, Ended, PastRun
from workkit.triggers.zone import clock_changes
from workkit.web.charts.axis import SPANS, WIDTH, Axis, Span, axis, place
from workkit.web.charts.lanes import Lane, day_lane, days_of, lane, run_text

DAY = axis("24h", now=NOW, zone=PARIS)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def drawn(*past: PastRun, on: Axis = DAY, **more: Any) -> Lane:
    return lane(on, "nightly", "every day at 2:30", past=past, **more)


def test_a_unit_is_a_minute_in_48_hours() -> None:
    shown = drawn(ran(NOW - 60 * MINUTE, late_ms=0, took_ms=600_000))
    assert rects(shown.paths["d"]) == [(1380, 8, 10, 14)]
    assert DAY.here == 1440
    assert (shown.width, shown.height) == (2880, 30)


def test_a_short_run_is_still_seen() -> None:
    assert rects(drawn(ran(NOW - HOUR, late_ms=0)).paths["d"]) == [(1380, 8, 4.5, 14)]


def test_close_runs_are_one_band_and_its_marks_stay() -> None:
    runs = [ran(NOW - k * 5 * MINUTE, late_ms=0) for k in range(1, 11)]
    shown = drawn(*runs, ran(NOW - 27 * MINUTE, "dead", late_ms=0), ran(NOW - 300 * MINUTE, late_ms=0))
    assert rects(shown.paths["ds"]) == [(1390, 10, 49.5, 10)]
    assert rects(shown.paths["d"]) == [(1140, 8, 4.5, 14)]
    (mark,) = shown.marks
    assert (mark.kind, rects(mark.data)) == ("f", [(1410, 3, 10.5, 16), (1410, 21.5, 10.5, 5)])


@pytest.mark.parametrize(("gap", "bands"), [(11.2, 1), (11.3, 0)])
def test_bands_begin_below_three_px(gap: float, bands: int) -> None:
    first = NOW - 100 * MINUTE
    second = first + (4.5 + gap) * MINUTE
    shown = drawn(ran(first, late_ms=0), ran(second, late_ms=0))
    assert len(rects(shown.paths.get("ds", ""))) == bands


@pytest.mark.parametrize(
    ("ending", "late_ms", "kind", "shape"),
    [
        ("done", 60_000, "l", [(1378, 3, 10.5, 5)]),
        ("missed", 0, "m", [(1380, 8, 6, 14)]),
        ("overlap", 0, "sk", [(1377, 22, 10.5, 3)]),
    ],
)
def test_what_calls_for_a_look_has_a_mark(
    ending: Ended, late_ms: int, kind: str, shape: list[tuple[float, float, float, float]]
) -> None:
    shown = drawn(ran(NOW - HOUR, ending, late_ms=late_ms))
    (mark,) = shown.marks
    assert (mark.kind, rects(mark.data)) == (kind, shape)
    assert rects(shown.paths.get("d", "")) == ([(1381, 10, 4.5, 12)] if kind == "l" else [])


def test_planned_runs_are_outlines_as_long_as_usual_ticks_where_short_and_bands_where_close() -> None:
    far = [NOW + HOUR, NOW + 5 * HOUR]
    assert rects(drawn(planned=far, usual_ms=15 * 60_000).paths["p"]) == [(1500, 8, 15, 14), (1740, 8, 15, 14)]
    assert rects(drawn(planned=far, usual_ms=14 * 60_000).paths["pf"]) == [(1500, 8, 14, 14), (1740, 8, 14, 14)]
    close = [NOW + k * MINUTE for k in range(1, 11)]
    assert rects(drawn(planned=close).paths["p"]) == [(1441, 10, 13.5, 10)]


def test_a_run_in_progress_reaches_to_now() -> None:
    assert rects(drawn(running=[NOW - HOUR]).paths["r"]) == [(1380, 8, 60, 14)]


def test_pauses_are_fields_with_words() -> None:
    (field,) = drawn(pauses=[(NOW - 2 * HOUR, NOW + HOUR, "the partner's API moves")]).pauses
    assert (field.x, field.width) == (1320, 180)
    assert field.says == "Paused from 09:15:30 until 12:15:30: the partner's API moves"
    (field,) = drawn(pauses=[(NOW - 100 * HOUR, None, None)]).pauses
    assert (field.x, field.width) == (0, 2880)
    assert drawn(pauses=[(NOW - 100 * HOUR, NOW - 50 * HOUR, None)]).pauses == ()


def test_nothing_is_planned_within_a_pause() -> None:
    planned = [NOW + k * HOUR for k in range(1, 5)]
    shown = drawn(planned=planned, pauses=[(NOW, NOW + 3 * HOUR, None)])
    assert [x for x, *_ in rects(shown.paths["pf"])] == [1620, 1680]
    assert drawn(planned=planned, pauses=[(NOW, None, None)]).paths == {}


def test_a_change_of_the_clock_is_a_dotted_line() -> None:
    spring = datetime(2027, 3, 28, 0, 0, tzinfo=UTC)
    day = axis("24h", now=spring, zone=PARIS)
    changes = clock_changes("Europe/Paris", day.start, day.end)
    (dotted,) = drawn(on=day, clocks=changes).clocks
    assert (dotted.x, dotted.says) == (1500, "2:00 to 3:00, Paris")


def test_a_run_says_all_of_itself() -> None:
    assert run_text(ran(), DAY) == "Due 11:15:30, took 2 s, on worker-1, done"
    late = ran(NOW - 24 * HOUR, "dead", late_ms=62_000, error="OSError: disk full")
    assert run_text(late, DAY) == (
        "Due yesterday 11:15:30, started 1 min 2 s late, yesterday 11:16:32, took 2 s, on worker-1, dead: "
        "OSError: disk full"
    )
    assert run_text(ran(ending="missed"), DAY) == "Due 11:15:30: missed"


def test_its_sentence_counts() -> None:
    shown = drawn(ran(), ran(), ran(ending="dead"), planned=[NOW + HOUR])
    assert shown.label == "nightly: every day at 2:30. 3 runs, 1 failed; 1 planned."


def test_what_lies_beyond_the_axis_is_cut_or_left_out() -> None:
    shown = drawn(ran(DAY.start - HOUR, late_ms=0, took_ms=2 * 3_600_000), ran(DAY.start - 2 * HOUR))
    assert rects(shown.paths["d"]) == [(0, 8, 60, 14)]
    assert drawn(planned=[DAY.end + HOUR]).paths == {}


def test_many_marks_become_a_path() -> None:
    runs = [ran(NOW - k * 5 * MINUTE, "dead" if k % 2 else "missed", late_ms=0) for k in range(280)]
    shown = drawn(*runs)
    assert len(shown.marks) == 200
    assert len(rects(shown.paths["m"])) + len(rects(shown.paths["f"])) // 2 == 80


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            lambda s, e, late, took: ran(NOW + timedelta(seconds=s), e, late_ms=late, took_ms=took),
            st.integers(-200_000, 200_000),
            st.sampled_from(ENDINGS),
            st.integers(0, 100_000),
            st.integers(0, 100_000_000),
        ),
        max_size=60,
    ),
    st.lists(st.integers(0, 90_000), max_size=60),
    st.sampled_from(sorted(SPANS)),
)
def test_nothing_is_drawn_outside(past: list[PastRun], ahead: list[int], span: Span) -> None:
    on = axis(span, now=NOW, zone=PARIS)
    planned = sorted(NOW + timedelta(seconds=s) for s in ahead)
    shown = drawn(*past, on=on, planned=planned, usual_ms=60_000)
    for data in [*shown.paths.values(), *(mark.data for mark in shown.marks)]:
        for x, y, width, height in rects(data):
            assert x >= -3.1
            assert x + width <= WIDTH + 7.6  # a mark may stand out by its half, a short run by its least width
            assert y >= 0
            assert y + height <= 30


def test_an_axis_has_the_hours_of_its_zone_and_now() -> None:
    texts = [(tick.x, tick.text, tick.kind) for tick in DAY.ticks]
    assert texts == [
        (44.5, "12:00", ""),
        (404.5, "18:00", ""),
        (764.5, "Fri 20 Nov", "day"),
        (1124.5, "06:00", ""),
        (1484.5, "", ""),  # its text would be in that of now
        (1844.5, "18:00", ""),
        (2204.5, "Sat 21 Nov", "day"),
        (2564.5, "06:00", ""),
        (1440.0, "11:15", "here"),
    ]
    assert place(1440) == 96


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        ("2h", "09:30,10:00,10:30,11:00,11:30,12:00,12:30,13:00,11:15"),
        ("7d", "Sat 14,Sun 15,Mon 16,Tue 17,Wed 18,Thu 19,,,Sun 22,Mon 23,Tue 24,Wed 25,Thu 26,Fri 27,11:15"),
        ("90d", "1 Sep,15 Sep,1 Oct,15 Oct,1 Nov,,1 Dec,15 Dec,1 Jan,15 Jan,1 Feb,,11:15"),
    ],
)
def test_each_span_has_its_ticks(span: Span, texts: str) -> None:
    assert ",".join(tick.text for tick in axis(span, now=NOW, zone=PARIS).ticks) == texts


@pytest.mark.parametrize(("span", "minutes", "shown"), [("24h", 220, False), ("24h", 240, True), ("90d", 6_000, False)])
def test_a_date_keeps_more_distance_from_now_than_an_hour(span: Span, minutes: int, shown: bool) -> None:
    now = datetime(2026, 11, 30, 23, 0, tzinfo=UTC) - timedelta(minutes=minutes)  # before 1 Dec in Paris
    texts = [tick.text for tick in axis(span, now=now, zone=PARIS).ticks]
    assert any(text.endswith("1 Dec") for text in texts) == shown


def test_a_date_at_the_end_of_an_axis_is_not_cut() -> None:
    midnight = datetime(2026, 11, 21, 23, 0, tzinfo=UTC)
    for minutes, shown in ((30, False), (180, True)):
        now = midnight - timedelta(hours=24) + timedelta(minutes=minutes)
        assert ("Sun 22 Nov" in [tick.text for tick in axis("24h", now=now, zone=PARIS).ticks]) == shown


def test_hours_of_an_axis_follow_a_change_of_the_clock() -> None:
    spring = datetime(2027, 3, 28, 10, 0, tzinfo=UTC)
    on = axis("24h", now=spring, zone=PARIS)
    six = [tick.x for tick in on.ticks if tick.text == "06:00"]
    assert six == [on.x(datetime(2027, 3, 28, 4, 0, tzinfo=UTC)), on.x(datetime(2027, 3, 29, 4, 0, tzinfo=UTC))]


def test_an_axis_elsewhere_has_no_now() -> None:
    on = axis("2h", now=NOW, zone=PARIS, at=NOW + 10 * HOUR)
    assert not on.shows_now
    assert on.here == 0
    assert "here" not in [tick.kind for tick in on.ticks]


DAYS = axis("90d", now=NOW, zone=PARIS)
TODAY = NOW.date()


def day(ago: int) -> date:
    return TODAY - timedelta(days=ago)


def test_each_day_is_a_cell_at_its_place() -> None:
    days = [
        Day(day=day(3), runs=4, worst="done"),
        Day(day=day(1), runs=2, worst="dead"),
        Day(day=day(200), runs=1, worst="done"),
    ]
    drawn = day_lane(DAYS, "nightly", "every day", days=days, planned={day(-1): 1, day(-2): 0, day(1): 3})
    ((x, y, width, height),) = rects(drawn.paths["d"])
    assert (y, width, height) == (8, 12.8, 14)
    assert abs(x - (1440 - 16 * (3 + 10.25 / 24))) < 0.2
    assert len(rects(drawn.paths["p"])) == 1
    (mark,) = drawn.marks
    assert (mark.kind, mark.says) == ("f", "Thu 19 Nov 2026: 2 runs, the worst failed")
    assert drawn.label == "nightly: every day. 6 runs on 2 days, the worst of a day: 1 failed; planned on 1 day."


def test_runs_are_put_together_by_day() -> None:
    found = days_of([ran(NOW), ran(NOW - timedelta(hours=1), "dead"), ran(NOW - timedelta(days=2), "missed")])
    assert [(one.day, one.runs, one.worst) for one in found] == [(day(2), 0, "missed"), (TODAY, 2, "dead")]
