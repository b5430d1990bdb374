"""Specs of periodic jobs: what Go accepts and refuses, and how a refusal helps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from tests.rows import every_row
from workkit.brokers.gocraft.cron import CronSpec, EverySpec, read_spec
from workkit.errors import CronError
from workkit.triggers.crons.grammars import NICKNAMES

RECORDED = vectors.load("cron_next")
ZONES = vectors.load("cron_zones")
ACCEPTED = sorted({case["spec"] for case in RECORDED["cases"] + ZONES["cases"]})
REJECTED = sorted({*RECORDED["rejected"], *ZONES["rejected"]})


@every_row("spec", REJECTED)
def test_what_go_refuses_is_refused_with_a_place(spec: str) -> None:
    with pytest.raises(CronError) as caught:
        read_spec(spec)
    error = caught.value
    assert error.given == spec
    assert error.position is not None
    assert 0 <= error.position <= len(spec)
    assert error.accepted
    if error.suggestion is not None:
        assert read_spec(error.suggestion).text == error.suggestion


@every_row("spec", ACCEPTED)
def test_what_go_accepts_is_accepted(spec: str) -> None:
    assert read_spec(spec).text == spec


@pytest.mark.parametrize(
    ("spec", "position", "trouble", "suggestion"),
    [
        ("", 0, "is empty", None),
        ("* * * *", 0, "has 4 fields", None),
        ("0 0 0 * * 7", 10, "7 (field 6, day-of-week) is out of range", "0 0 0 * * 0"),
        ("0 0 * * 1-7", 8, "1-7 (field 5, day-of-week) is out of range", None),
        ("0 0 24 * * *", 4, "24 (field 3, hour) is out of range", "0 0 0 * * *"),
        ("60 24 * * *", 0, "60 (field 1, minute) is out of range", "0 0 * * *"),
        ("5-1 * * * * *", 0, "5-1 (field 1, second) runs backwards", "5-59,0-1 * * * * *"),
        ("0 9 * * fri-mon", 8, "fri-mon (field 5, day-of-week) runs backwards", "0 9 * * 5-6,0-1"),
        ("*/0 * * * *", 0, "*/0 (field 1, minute) has a step of zero", None),
        ("0 0 0 15W * *", 6, "15W (field 4, day-of-month) is not understood: Go pools know no L, W and #", None),
        ("0 9 * * monday", 8, "monday (field 5, day-of-week) is no day-of-week name of three", "0 9 * * mon"),
        ("0 9 * sept *", 6, "sept (field 4, month) is no month name of three letters", "0 9 * sep *"),
        ("1, 0 x * *", 5, "x (field 3, day-of-month) is not understood", None),
        ("0 0 1- * *", 4, "1- (field 3, day-of-month) has a part missing", None),
        ("@dayly", 0, "@dayly is no descriptor", "@daily"),
        ("TZ=UTC @Daily", 7, "@Daily is no descriptor", "TZ=UTC @daily"),
        ("@every x", 7, "x is no number with a unit", None),
        ("@every 1d", 8, '1d has the unknown unit "d"', "@every 24h"),
        ("@every 90 minutes", 9, '90 minutes has the unknown unit "minutes"', "@every 1h30m"),
        ("@every ", 7, "nothing has no duration", None),
        ("TZ=europe/berlin @daily", 3, "europe/berlin is not a zone", "TZ=Europe/Berlin @daily"),
        ("CRON_TZ=Nowhere/Land 0 0 6 * * *", 8, "Nowhere/Land is not a zone", None),
        ("TZ=UTC", 6, "has a zone and no fields", None),
        ("0 0 0 * * 7,8", 10, "7 (field 6, day-of-week) is out of range", None),
    ],
)
def test_a_refusal_names_the_place_and_a_near_spec(
    spec: str, position: int, trouble: str, suggestion: str | None
) -> None:
    with pytest.raises(CronError) as caught:
        read_spec(spec)
    error = caught.value
    assert (error.position, error.suggestion) == (position, suggestion)
    assert trouble in str(error)
    assert str(error).startswith(f'cron="{spec}"')


@given(st.text("*?/,-0123456789 @evryTZ=UCmonjafb.hs", max_size=30))
def test_no_text_does_anything_but_read_or_be_refused(spec: str) -> None:
    try:
        found = read_spec(spec).text
    except CronError as error:
        found = spec if error.suggestion is None else read_spec(error.suggestion).text
        spec = error.suggestion or spec
    assert found == spec


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ("@every 1h30m10s", 5410),
        ("@every 500ms", 1),
        ("@every 1.9s", 1),
        ("@every -5s", 1),
        ("@every 0", 1),
        ("@every 1.5h", 5400),
        ("@every +90s", 90),
        ("@every .5m", 30),
        ("@every 1µs", 1),
        ("@every 59s999ms", 59),
    ],
)
def test_an_interval_is_cut_to_whole_seconds_and_is_one_at_least(spec: str, seconds: int) -> None:
    assert read_spec(spec) == EverySpec(text=spec, seconds=seconds)


@pytest.mark.parametrize(
    ("day", "weekday", "either"),
    [
        ("13", "FRI", True),
        ("*", "FRI", False),
        ("?", "FRI", False),
        ("*/1", "MON", False),
        ("*/2", "MON", True),
        ("1-31", "MON", True),
        ("13", "*", False),
        ("13", "*/2", True),
        ("5,*", "MON", False),
        ("*-5", "1", False),
    ],
)
def test_both_restricted_day_fields_match_on_either(day: str, weekday: str, either: bool) -> None:
    found = read_spec(f"0 0 {day} * {weekday}")
    assert isinstance(found, CronSpec)
    assert found.either_day is either


def test_a_descriptor_is_the_fields_that_it_stands_for() -> None:
    for name, fields in NICKNAMES.items():
        found, plain = read_spec(name), read_spec(fields)
        assert isinstance(found, CronSpec)
        assert isinstance(plain, CronSpec)
        assert (found.second, found.minute, found.hour, found.day, found.month, found.weekday, found.either_day) == (
            plain.second, plain.minute, plain.hour, plain.day, plain.month, plain.weekday, plain.either_day
        )  # fmt: skip


def test_a_zone_stands_in_front_of_the_fields() -> None:
    zones = {spec: read_spec(spec) for spec in ("TZ=Asia/Tokyo @daily", "CRON_TZ= @daily", "TZ=Local @daily", "@daily")}
    assert [found.zone and found.zone.key for found in zones.values() if isinstance(found, CronSpec)] == [
        "Asia/Tokyo",
        "UTC",
        None,
        None,
    ]
