"""Triggers drawn at random, stored, read back and asked at the ends of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.triggers.crons import rules
from workkit.errors import TriggerError
from workkit.triggers import Trigger
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.dialect import from_fields
from workkit.triggers.trigger import is_fixed, published

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MS = 253_402_300_799_000
DAY_MS = 86_400_000
ZONES = ("UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")
INSTANTS = st.integers(0, 4 * 10**12)


def zoned(*local: str, tz: str = "UTC", start: datetime | None = None, end: datetime | None = None) -> Trigger:
    return Trigger(cron=None, tz=tz, recurs=True, rules=local, start=start, end=end)


@settings(deadline=None)
@given(st.lists(rules(), min_size=1, max_size=3, unique=True), st.sampled_from(ZONES), INSTANTS)
def test_stored_fields_are_read_back(local: list[str], tz: str, at: int) -> None:
    trigger = zoned(*local, tz=tz)
    again = from_fields(trigger.fields())
    assert again == trigger
    assert again.next_after_ms(at) == trigger.next_after_ms(at)
    assert parse_cron(trigger.fields()["cron"]).text


@settings(deadline=None)
@given(rules(), st.sampled_from(ZONES), INSTANTS)
def test_next_holds_from_every_instant_before_it(rule: str, tz: str, at: int) -> None:
    trigger = zoned(rule, tz=tz)
    found = trigger.next_after_ms(at)
    if found is None:
        assert trigger.next_after_ms(at + 10**11) is None
        return
    assert found > at
    assert found % 1_000 == 0
    for between in (found - 1, (at + found) // 2):
        assert trigger.next_after_ms(between) == found


@settings(deadline=None)
@given(st.lists(rules(), min_size=2, max_size=4), st.sampled_from(ZONES), INSTANTS)
def test_a_union_fires_when_the_first_of_its_rules_does(local: list[str], tz: str, at: int) -> None:
    each = [found for rule in local if (found := zoned(rule, tz=tz).next_after_ms(at)) is not None]
    assert zoned(*local, tz=tz).next_after_ms(at) == min(each, default=None)


@pytest.mark.parametrize(
    "trigger",
    [published("* * * * * 0 0"), *(zoned(rule, tz=tz) for tz in ZONES for rule in ("* * * * * 0 0", "* * * * 9 0 0"))],
)
def test_times_before_1970_and_beyond_9999_do_no_harm(trigger: Trigger) -> None:
    for early in (-1, -DAY_MS, -(10**15), -(10**20)):
        found = trigger.next_after_ms(early)
        assert found is not None
        assert 0 <= found <= 2 * DAY_MS
    for late in (LAST_MS, LAST_MS + 1, 10**15, 10**20):
        assert trigger.next_after_ms(late) is None
    near = trigger.next_after_ms(LAST_MS - 3 * DAY_MS)
    assert near is not None
    assert near <= LAST_MS
    assert trigger.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert trigger.next_after(datetime.min.replace(tzinfo=UTC)) is not None


def test_bounds_within_a_second_hold() -> None:
    half = NOW + timedelta(milliseconds=500)
    every = zoned("* * * * * * *", start=half, end=half + timedelta(seconds=2))
    assert every.upcoming(EPOCH, 9) == [NOW + timedelta(seconds=n) for n in (1, 2)]


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("2026 11 20 * 10 15 30", True),
        ("2026 11 20 ? 10 15 30", True),
        ("2026 11 20,20 * 10 15 30", True),
        ("2026 11 20-20 * 10 15 30/1", True),
        ("2026 11 20 5 10 15 30", False),
        ("* 11 20 * 10 15 30", False),
        ("2026 11 L * 10 15 30", False),
        ("2026 11 20 * 10 15 30/2", False),
    ],
)
def test_one_second_is_told_from_recurring_times(text: str, fixed: bool) -> None:
    assert published(text).recurs is not fixed
    assert is_fixed(parse_cron(text)) is fixed


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "* * &13 5 0 0 0"},
        {"cron": "* * * =1L 0 0 0"},
        {"cron": "x" * 100_000},
        {"cron": "* * * * * * *", "local": ["* * * * * * *"], "zone": "x" * 100_000},
        {"cron": "* * * * * * *", "local": ["x" * 100_000], "zone": "UTC"},
        {"cron": "* * * * * * *", "local": {"x": "y" * 100_000}, "zone": "UTC"},
        {"cron": "* * * * * * *", "until": "y" * 100_000},
        {"cron": 10**1_000},
    ],
)
def test_bad_fields_of_a_payload_are_refused_in_one_short_line(fields: dict[str, Any]) -> None:
    with pytest.raises(TriggerError) as caught:
        from_fields(fields)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
