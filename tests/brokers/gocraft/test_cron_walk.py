"""When specs fire: the seconds that Go recorded, in zones of every kind of clock change."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from tests.rows import every_row
from workkit.brokers.gocraft.cron import next_activation, read_spec

RECORDED = vectors.load("cron_next")["cases"]
ZONES = vectors.load("cron_zones")["cases"]
UTC = ZoneInfo("UTC")
CHATHAM = ZoneInfo("Pacific/Chatham")
FIELDS = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


def firings(spec: str, zone: str, start: int, count: int) -> list[int]:
    found: list[int] = []
    for _ in range(count):
        second = next_activation(read_spec(spec), found[-1] if found else start, local=ZoneInfo(zone))
        if second is None:
            break
        found.append(second)
    return found


@every_row("case", RECORDED + ZONES)
def test_a_spec_fires_when_go_recorded(case: dict[str, Any]) -> None:
    count = len(case["next"]) or 1
    assert firings(case["spec"], case["zone"], case["from"], count) == case["next"]


def test_the_recordings_hold_gaps_overlaps_and_specs_that_never_fire() -> None:
    assert len(RECORDED) == 37
    assert len(ZONES) == 200
    assert any(not case["next"] for case in RECORDED)


@st.composite
def specs(draw: st.DrawFn) -> str:
    """A spec of single values, stars and steps, restricted enough to be judged by the clock alone."""
    fields = []
    for low, high in FIELDS:
        value = st.integers(low, high).map(str)
        step = st.integers(1, 20).map(lambda n: f"*/{n}")
        fields.append(draw(st.sampled_from(["*"]) | value | step))
    return " ".join(fields)


@given(specs(), st.integers(0, 2**32))
def test_in_utc_a_spec_fires_next_at_the_first_second_that_matches(spec: str, after: int) -> None:
    found = next_activation(read_spec(spec), after, local=UTC)
    if found is None:
        return
    assert found > after
    assert matches(spec, found)
    just_before = range(max(after + 1, found - 200), found)
    just_after = range(after + 1, min(after + 200, found))
    assert not any(matches(spec, second) for second in (*just_before, *just_after))


def matches(spec: str, second: int) -> bool:
    t = datetime.fromtimestamp(second, UTC)
    values = (t.second, t.minute, t.hour, t.day, t.month, t.isoweekday() % 7)
    found = []
    for field, value, (low, _) in zip(spec.split(), values, FIELDS, strict=True):
        star, _, step = field.partition("/")
        found.append((value - low) % int(step or 1) == 0 if star == "*" else value == int(field))
    *clock, day, month, weekday = found
    restricted = [field not in ("*", "*/1") for field in (spec.split()[3], spec.split()[5])]
    return all(clock) and month and (day or weekday if all(restricted) else day and weekday)


@given(specs(), st.sampled_from([case["zone"] for case in ZONES]), st.integers(1_700_000_000, 1_900_000_000))
def test_the_next_time_is_always_later(spec: str, zone: str, after: int) -> None:
    found = next_activation(read_spec(spec), after, local=ZoneInfo(zone))
    assert found is None or found > after


def test_runs_go_on_where_the_walk_of_go_turns_in_a_circle() -> None:
    """robfig/cron answers 1680355920, 1680357300, 1680357900 and then 1680355920 again, without an end."""
    found = firings("40/10,17 3 * * *", "Pacific/Chatham", 1680287585, 12)
    assert found[:3] == [1680355920, 1680357300, 1680357900]
    assert found == sorted(set(found))
    assert len(found) == 12


@pytest.mark.parametrize("spec", [", * * * *", "* , * * *", "* * ,, * *", "0 0 30 2 *", "0 0 31 4,6,9,11 ?"])
def test_a_spec_that_names_no_time_never_fires(spec: str) -> None:
    assert next_activation(read_spec(spec), 1_795_219_200, local=UTC) is None


@pytest.mark.parametrize(("start", "found"), [(4_076_092_800, 4_233_686_400), (4_044_556_800, None)])
def test_a_spec_fires_at_most_five_years_ahead(start: int, found: int | None) -> None:
    """Between the leap days of 2096 and 2104, asked in 2099 and in 2098: as robfig/cron answers."""
    assert next_activation(read_spec("0 0 29 2 *"), start, local=UTC) == found


def test_nothing_fires_beyond_the_calendar() -> None:
    assert next_activation(read_spec("0 0 1 1 *"), 253_402_300_799 - 5, local=UTC) is None


def test_an_interval_is_counted_from_where_it_is_asked() -> None:
    assert firings("@every 45s", "UTC", 7, 3) == [52, 97, 142]
