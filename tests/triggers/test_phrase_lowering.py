"""Local rules as one UTC string: exactly, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rows import every_row
from tests.triggers.crons import rules
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, WEEKDAY, Spec, field_text
from workkit.triggers.lowering import lower, shifted
from workkit.triggers.trigger import Trigger

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)
ZONES = (
    *("Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu", "Etc/GMT+5", "Etc/GMT-14", "Etc/GMT+12", "America/New_York"),
    *("Europe/London", "Australia/Lord_Howe", "Africa/Casablanca", "America/Phoenix", "Pacific/Chatham", "UTC"),
)


@every_row(
    ("rule", "zone", "utc"),
    [
        ("* * * * 9 0 0", "Asia/Tokyo", "* * * * 0 0 0"),
        ("* * * 1 3 0 0", "Asia/Tokyo", "* * * 0 18 0 0"),
        ("* * * 1-5 8 30 0", "Asia/Tokyo", "* * * 0-4 23 30 0"),
        ("* * * 6 20 0 0", "Etc/GMT+5", "* * * 0 1 0 0"),
        ("* * * * 0,6,12,18 0 0", "Asia/Tokyo", "* * * * 3-21/6 0 0"),
        ("* * * * 22-23 0 0", "Asia/Tokyo", "* * * * 13-14 0 0"),
        ("* * * * * */20 0", "Asia/Kolkata", "* * * * * 10,30,50 0"),
        ("* * * * 9 0 0", "Asia/Kathmandu", "* * * * 3 15 0"),
        ("* * * * 9 0,30 0", "Asia/Kolkata", None),
        ("* * 10-12 * 3 0 0", "Asia/Tokyo", "* * 9-11 * 18 0 0"),
        ("* * 29 * 3 0 0", "Asia/Tokyo", None),
        ("* * 30 * 20 0 0", "Etc/GMT+5", None),
        ("* * 1 * 3 0 0", "Asia/Tokyo", "* * L * 18 0 0"),
        ("* 3 1 * 3 0 0", "Asia/Tokyo", "* 2 L * 18 0 0"),
        ("* 4 1 * 3 0 0", "Asia/Tokyo", "* 3 31 * 18 0 0"),
        ("* 1 1 * 3 0 0", "Asia/Tokyo", "* 12 31 * 18 0 0"),
        ("2027 1 1 * 3 0 0", "Asia/Tokyo", "2026 12 31 * 18 0 0"),
        ("2027 * 1 * 3 0 0", "Asia/Tokyo", None),
        ("* * L * 20 0 0", "Etc/GMT+5", "* * 1 * 1 0 0"),
        ("* 2 L * 20 0 0", "Etc/GMT+5", "* 3 1 * 1 0 0"),
        ("* 3 * * 3 0 0", "Asia/Tokyo", None),
        ("* 3 * 1 9 0 0", "Asia/Tokyo", "* 3 * 1 0 0 0"),
        ("* 3 * 1 3 0 0", "Asia/Tokyo", None),
        ("* * * 1#1 3 0 0", "Asia/Tokyo", None),
        ("* * * 1#1 9 0 0", "Asia/Tokyo", "* * * 1#1 0 0 0"),
        ("* * 13 5 9 0 0", "Asia/Tokyo", "* * 13 5 0 0 0"),
        ("* * 13 5 3 0 0", "Asia/Tokyo", "* * 12 4 18 0 0"),
        ("* * &13 5 9 0 0", "Asia/Tokyo", None),
        ("* * 13 0-6 3 0 0", "Asia/Tokyo", "* * 12 0-6 18 0 0"),
        ("* 8/9 18 * 0 15 0", "Africa/Casablanca", None),
        ("* * &13 * 9 0 0", "Asia/Tokyo", "* * 13 * 0 0 0"),
        ("* * * 0/2 17 0 0", "Asia/Tokyo", "* * * 0/2 8 0 0"),
        ("* * * 0/2 3 0 0", "Asia/Tokyo", "* * * 6/2 18 0 0"),
        ("* * * 4/2 3 0 0", "Asia/Tokyo", None),
        ("* * * * 9/2 0 0", "Asia/Tokyo", "* * * * 0/2 0 0"),
        ("* * * * 3/2 0 0", "Asia/Tokyo", None),
        ("* * 5/5 * 3 0 0", "Asia/Tokyo", "* * 4/5 * 18 0 0"),
        ("* * 1/5 * 3 0 0", "Asia/Tokyo", None),
        ("* * * * * * 0/7", "Asia/Tokyo", None),
        ("* * * * * * 0/9", "Asia/Tokyo", "* * * * * * 0/9"),
        ("* * * * 9 0 0", "America/New_York", None),
        ("* 12 25 * 9 0 0", "America/New_York", "* 12 25 * 14 0 0"),
        ("2027 7 * * 9 0 0", "America/New_York", "2027 7 * * 13 0 0"),
        ("* 3 30 * 9 0 0", "Europe/Paris", None),
        ("* 3 31 * 9 0 0", "Europe/Paris", "* 3 31 * 7 0 0"),
        ("* * * * * */5 0", "America/New_York", "* * * * * */5 0"),
        ("* * * * * 0 0", "America/New_York", "* * * * * 0 0"),
        ("* * * * * 0 0", "Australia/Lord_Howe", None),
        ("* * * * * 0,30 0", "Australia/Lord_Howe", "* * * * * 0,30 0"),
        ("* * * 1 * */5 0", "America/New_York", None),
    ],
)
def test_lower_writes_an_equal_utc_rule_or_nothing(rule: str, zone: str, utc: str | None) -> None:
    assert lower(rule, zone=ZoneInfo(zone), since=NOW) == utc


@settings(max_examples=300)
@example(rule="*/2 1 1 * 9 0 0", zone="Pacific/Chatham", after=NOW)
@given(rules(), st.sampled_from(ZONES), st.sampled_from([NOW, datetime(2028, 2, 27, 12, tzinfo=UTC)]))
def test_a_lowered_rule_fires_at_the_same_instants(rule: str, zone: str, after: datetime) -> None:
    cron = lower(rule, zone=ZoneInfo(zone), since=NOW)
    if cron is not None:
        local = Trigger(cron=None, tz=zone, recurs=True, rules=(rule,))
        assert Trigger(cron=cron, recurs=True, rules=(cron,)).upcoming(after, 5) == local.upcoming(after, 5)


@given(rules(), st.integers(-14 * 4, 14 * 4))
def test_shifted_always_gives_a_published_string(rule: str, quarters: int) -> None:
    parse_cron(shifted(rule, seconds=quarters * 900))


@pytest.mark.parametrize(
    ("values", "spec", "text"),
    [
        (range(24), HOUR, "*"),
        (range(0, 60, 5), MINUTE, "*/5"),
        ((0, 30), MINUTE, "0,30"),
        (range(1, 32, 10), DAY, "*/10"),
        ((9, 11, 13, 15, 17), HOUR, "9-17/2"),
        ((1, 3, 5), WEEKDAY, "1,3,5"),
        ((0, 1, 2, 22, 23), HOUR, "0-2,22-23"),
        ((5,), HOUR, "5"),
        ((0, 6), WEEKDAY, "0,6"),
    ],
)
def test_field_text_is_short(values: range | tuple[int, ...], spec: Spec, text: str) -> None:
    assert field_text(values, spec) == text


def test_field_text_puts_each_nth_in_its_place() -> None:
    assert field_text([3], WEEKDAY, nth=[(0, 2), (5, 3)]) == "0/2,3,5/3"
