"""The labels above the axis of the Timeline."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.web.charts.rects import NOW, PARIS
from workkit.text.cells import cells
from workkit.web.charts.axis import PX, SIGN, WIDTH, above, axis, lines

HOUR = timedelta(hours=1)
DAY = axis("24h", now=NOW, zone=PARIS)


def event(at: datetime, text: str = "release 41") -> tuple[datetime, str, str]:
    return at, text, f"Marked: {text}"


def test_an_event_stands_above_its_line_and_a_herd_where_it_gets_tight() -> None:
    shown = above(DAY, [(NOW + 6 * HOUR, "212", "212 jobs")], [event(NOW - 6 * HOUR)])
    assert [(one.x, one.text, one.says, one.kind) for one in shown] == [
        (1800.0, "212", "212 jobs", "herd"),
        (1080.0, "release 41", "Marked: release 41", "event"),
    ]
    assert lines(DAY, [NOW - 6 * HOUR, NOW - 6 * HOUR, NOW - 12 * HOUR, NOW - 25 * HOUR]) == (720.0, 1080.0)


def test_what_has_no_room_is_a_sign_and_then_left_out() -> None:
    near = [
        event(NOW - 6 * HOUR),
        event(NOW - 10.5 * HOUR, "a long text"),
        event(NOW - 10.4 * HOUR),
    ]
    assert [one.text for one in above(DAY, [], near)] == ["release 41", SIGN]


def test_a_long_text_is_cut_and_stays_on_the_axis() -> None:
    (one,) = above(DAY, [], [event(NOW - 24 * HOUR, "x" * 200)])
    assert one.text == "x" * 19 + "…"
    assert one.says == "Marked: " + "x" * 200
    assert one.x - 20 * 6 * PX / 2 >= 0
    assert above(DAY, [(NOW + HOUR, "", "no number")], [event(NOW + 25 * HOUR)]) == ()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(-24, 24), st.text("ab全 ", min_size=1, max_size=30)), max_size=40))
def test_no_text_lies_over_another(rows: list[tuple[float, str]]) -> None:
    shown = above(DAY, [], [event(NOW + hours * HOUR, text) for hours, text in rows])
    half = {id(one): cells(one.text) * 6 * PX / 2 for one in shown}
    assert all(half[id(one)] <= one.x <= WIDTH - half[id(one)] for one in shown)
    assert all(abs(one.x - other.x) >= half[id(one)] + half[id(other)] for one, other in combinations(shown, 2))
