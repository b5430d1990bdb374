from __future__ import annotations

from datetime import timedelta

from tests.web.charts.rects import NOW, PARIS, rects
from workkit.contract.history import Bucket, Cell
from workkit.web.charts.axis import axis
from workkit.web.charts.columns import burst, function_day, last_hour, one_time_lane

QUARTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)
DAY = axis("24h", now=NOW, zone=PARIS)


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
    shown = one_time_lane(DAY, ran, planned, waiting=12)
    assert rects(shown.paths["ds"]) == [(0, 15, 13, 11), (1425, 4, 13, 22)]
    assert rects(shown.paths["pf"]) == [(1440, 15, 11, 11), (1800, 25, 11, 1)]
    assert shown.label == "One-time jobs: 33 ran; 12 wait, most until 11:30."
    assert one_time_lane(DAY, [], [], waiting=1).label == "One-time jobs: 0 ran; 1 waits."
