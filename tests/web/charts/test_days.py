"""The lanes of 90 days: a cell a day."""

from __future__ import annotations

from datetime import date, timedelta

from tests.web.charts.rects import NOW, PARIS, ran, rects
from workkit.contract.history import Day
from workkit.web.charts.axis import axis
from workkit.web.charts.days import day_lane, days_of

AXIS = axis("90d", now=NOW, zone=PARIS)
TODAY = NOW.date()


def day(ago: int) -> date:
    return TODAY - timedelta(days=ago)


def test_each_day_is_a_cell_at_its_place() -> None:
    days = [
        Day(day=day(3), runs=4, worst="done"),
        Day(day=day(1), runs=2, worst="dead"),
        Day(day=day(200), runs=1, worst="done"),
    ]
    drawn = day_lane(AXIS, "nightly", "every day", days=days, planned={day(-1): 1, day(-2): 0, day(1): 3})
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
