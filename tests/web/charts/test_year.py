from __future__ import annotations

import re
from datetime import UTC, date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import every_row
from tests.web.charts.rects import NOW, PARIS
from workkit.contract.history import ENDINGS, Day, Ended
from workkit.triggers import parse
from workkit.web.charts.year import Year, planned_days, year
from workkit.web.response import static_files

TODAY = NOW.date()
ONE = timedelta(days=1)


def day(back: int, worst: Ended = "done", runs: int = 1) -> Day:
    return Day(day=TODAY - back * ONE, runs=runs, worst=worst)


def corners(data: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", data)]


def drawn(*days: Day, **more: object) -> Year:
    return year(days, today=TODAY, **{"planned": {}, **more})  # type: ignore[arg-type]


def test_columns_are_weeks_from_monday_on() -> None:
    shown = drawn(day(0), day(4), day(5))
    assert shown.first == date(2025, 11, 17)  # a Monday, 52 weeks before that of this week
    ((_, opacity, data),) = shown.done
    assert opacity == 1
    assert corners(data) == [(51 * 16 + 2, 96), (52 * 16 + 2, 0), (52 * 16 + 2, 64)]
    assert (shown.width, shown.height) == (912, 109)


@pytest.mark.parametrize("weekday", range(7))
def test_the_last_day_to_come_is_always_in_the_last_column(weekday: int) -> None:
    today = date(2026, 11, 16) + weekday * ONE
    shown = year([], today=today, planned={today + 30 * ONE: 1})
    assert corners(shown.paths["h-plan"])[0][0] == 56 * 16 + 2.5
    assert (today - shown.first).days >= 51 * 7


def test_done_and_planned_days_are_one_path_each_and_only_others_are_elements() -> None:
    days = [day(k) for k in range(1, 300)] + [day(300, "dead"), day(301, "missed", 0), day(302, "skipped", 0)]
    shown = drawn(*days, planned={TODAY + k * ONE: 1 for k in range(1, 31)}, late={TODAY - 7 * ONE})
    assert len(shown.done) == 1
    assert list(shown.paths) == ["h-plan"]
    assert [square.kind for square in shown.squares] == ["left", "miss", "fail", "late", None]
    assert shown.squares[-1].today
    assert shown.counted == "300 runs on 302 days: 298 done, 1 started late, 1 failed, 1 missed, 1 left out"


def test_days_lead_to_their_runs_for_a_quarter_and_those_that_were_not_done_well_always() -> None:
    asked = drawn(day(0), day(90), day(91), day(200, "dead"), planned={TODAY + ONE: 1}).asked
    assert [one.since for one in asked] == [f"{TODAY - back * ONE}" for back in (200, 90, 0)]
    assert asked[-1].until == f"{TODAY + ONE}"
    assert asked[0].says.endswith(": 1 run, failed")


def test_a_square_says_its_day() -> None:
    clocks = {date(2026, 3, 29): "02:30 did not exist; ran at 03:00"}
    shown = drawn(day(236), day(1, "dead", 3), clocks=clocks, planned={TODAY: 2})
    assert [square.says for square in shown.squares] == [
        "Sun 29 Mar 2026: 1 run, done. 02:30 did not exist; ran at 03:00",
        "Thu 19 Nov 2026: 3 runs, the worst failed",
        "Fri 20 Nov 2026: 2 runs planned",
    ]
    assert shown.squares[0].clock
    assert "Clock changes on 29 March." in shown.label


@pytest.mark.parametrize(("runs", "shade"), [(24, 1.0), (23, 0.66), (12, 0.66), (11, 0.33)])
def test_days_of_many_runs_are_paler_where_runs_are_missing(runs: int, shade: float) -> None:
    shown = drawn(*(day(k, runs=24) for k in range(2, 9)), day(1, runs=runs))
    assert {opacity for _, opacity, _ in shown.done} == {1.0, shade}


def test_the_runs_that_were_due_may_be_known() -> None:
    assert drawn(day(1, runs=2), due={TODAY - ONE: 2}).done[0][1] == 1
    assert drawn(day(1, runs=1), due={TODAY - ONE: 4}).done[0][1] == 0.33


def test_a_job_that_never_ran_is_planned_squares() -> None:
    shown = drawn(planned={TODAY + ONE: 1})
    assert shown.done == ()
    assert shown.counted == "Has not run yet"


def test_months_are_named_above_the_week_in_which_they_are_seen_first() -> None:
    months = drawn().months
    names = "Nov Dec Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov"
    assert " ".join(month.text for month in months) == names
    assert [month.week for month in months[:3]] == [0, 2, 7]


@every_row("days", range(0, 371, 5))
def test_names_of_months_stand_apart_and_have_a_place(days: int) -> None:
    weeks = [month.week for month in year((), today=TODAY + days * ONE, planned={}).months]
    assert all(after - before >= 2 for before, after in pairwise(weeks))
    places = static_files()["workkit.css"].decode()
    assert all(f".mx-{week}{{" in places for week in weeks)


def test_planned_days_are_counted_by_the_calendar_of_the_zone() -> None:
    nightly = parse("every day at 00:30", now=NOW, tz="Europe/Paris")
    found = planned_days(nightly, after=NOW, zone=PARIS)
    assert found == {TODAY + k * ONE: 1 for k in range(1, 31)}
    assert min(planned_days(nightly, after=NOW, zone=UTC)) == TODAY
    assert planned_days(nightly, after=NOW, zone=PARIS, most=2) == {TODAY + ONE: 1, TODAY + 2 * ONE: 1}


def test_a_job_of_every_second_is_planned_on_every_day_within_a_bound() -> None:
    found = planned_days(parse("every second", now=NOW), after=NOW, zone=UTC)
    assert sorted(found) == [TODAY + k * ONE for k in range(31)]


def test_planned_days_end_with_their_trigger() -> None:
    once = parse("tomorrow at 9am", now=NOW)
    assert planned_days(once, after=NOW, zone=UTC) == {TODAY + ONE: 1}


@settings(max_examples=30)
@given(
    st.dates(date(2024, 1, 1), date(2030, 1, 1)),
    st.lists(
        st.tuples(st.integers(-5, 420), st.sampled_from(ENDINGS), st.integers(0, 2**20 - 1)), unique_by=lambda d: d[0]
    ),
)
def test_every_known_day_is_drawn_once(today: date, rows: list[tuple[int, Ended, int]]) -> None:
    days = [Day(day=today - back * ONE, runs=runs, worst=worst) for back, worst, runs in rows]
    shown = year(days, today=today, planned={})
    cells = [(x - 2, y) for _, _, data in shown.done for x, y in corners(data)]
    cells += [(float(one.x), float(one.y)) for one in shown.squares if one.kind]
    within = [one for one in days if shown.first <= one.day <= today]
    assert len(set(cells)) == len(cells) == len(within)
    assert all(0 <= x < 912 and 0 <= y < 112 for x, y in cells)
