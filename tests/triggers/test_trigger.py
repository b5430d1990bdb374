"""Triggers as values: when they fire, what a payload stores of them, what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import CronError, TriggerError
from workkit.triggers import Trigger, cron
from workkit.triggers.dialect import from_fields
from workkit.triggers.trigger import once, published

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_next_is_strictly_later_and_a_whole_second() -> None:
    trigger = cron("* * * * * * *")
    assert trigger.next_after(NOW) == NOW + timedelta(seconds=1)
    assert trigger.next_after(NOW + timedelta(microseconds=1)) == NOW + timedelta(seconds=1)
    assert trigger.next_after(NOW - timedelta(microseconds=1)) == NOW


def test_next_takes_any_zone_and_answers_in_utc() -> None:
    found = cron("* * * * 12 0 0").next_after(NOW.astimezone(timezone(timedelta(hours=-7))))
    assert found == at("2026-11-20 12:00")
    assert found is not None
    assert found.tzinfo is UTC


def test_milliseconds_and_datetimes_agree() -> None:
    trigger = cron("* * * * * */7 13")
    ms = 1_795_169_730_999
    found = trigger.next_after(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms))
    assert found is not None
    assert trigger.next_after_ms(ms) == int(found.timestamp()) * 1000
    assert trigger.next_after_ms(-1) == 13_000


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(TriggerError, match="has no zone"):
        cron("* * * * * * *").next_after(datetime(2026, 11, 20))


def test_upcoming_stops_where_it_ends() -> None:
    trigger = cron("2026 11 21-22 * 9 0 0")
    assert trigger.upcoming(NOW, 5) == [at("2026-11-21 09:00"), at("2026-11-22 09:00")]
    assert trigger.upcoming(NOW, 0) == []


def test_bounds_hold_the_first_and_leave_out_the_last() -> None:
    start, end = at("2026-11-21 09:00"), at("2026-11-23 09:00")
    trigger = Trigger(cron=None, recurs=True, rules=("* * * * 9 0 0",), start=start, end=end)
    assert trigger.upcoming(NOW, 5) == [start, at("2026-11-22 09:00")]
    late = Trigger(cron=None, recurs=True, rules=("* * * * * * *",), start=start + timedelta(milliseconds=1))
    assert late.next_after(NOW) == start + timedelta(seconds=1)


@pytest.mark.parametrize("dialect", ["published", "standard", "auto"])
def test_stored_fields_of_one_utc_string_are_that_string(dialect: Any) -> None:
    text = "* * * 1-5 9 0 0" if dialect == "published" else "0 9 * * 1-5"
    trigger = cron(text, dialect)
    assert trigger.fields() == {"cron": "* * * 1-5 9 0 0"}
    assert from_fields(trigger.fields()).upcoming(NOW, 9) == trigger.upcoming(NOW, 9)


@pytest.mark.parametrize(
    ("rule", "tz", "approximation"),
    [
        ("* * * 1-5 9 0 0", "Europe/Paris", "* * * 1-5 8 0 0"),
        ("* * * 1-5 9 0 0", "America/New_York", "* * * 1-5 14 0 0"),
        ("* * * * 22 30 0", "Australia/Sydney", "* * * * 12 30 0"),
    ],
)
def test_stored_fields_of_a_local_rule_carry_it_and_its_standard_time(rule: str, tz: str, approximation: str) -> None:
    trigger = Trigger(cron=None, tz=tz, recurs=True, rules=(rule,))
    assert trigger.fields() == {"cron": approximation, "local": [rule], "zone": tz}
    assert from_fields(trigger.fields()) == trigger


def test_stored_bounds_are_milliseconds() -> None:
    trigger = Trigger(
        cron=None,
        tz="Europe/Paris",
        recurs=True,
        rules=("* * * * 9 0 0", "* * * 6 17 0 0"),
        start=at("2026-12-01 00:00"),
        end=at("2027-01-01 00:00"),
    )
    fields = trigger.fields()
    assert (fields["from"], fields["until"]) == (1_796_083_200_000, 1_798_761_600_000)
    assert from_fields(fields) == trigger


def test_bounds_beside_one_utc_string_are_not_lost() -> None:
    start = at("2026-12-01 00:00")
    trigger = Trigger(cron="* * * * 9 0 0", recurs=True, rules=("* * * * 9 0 0",), start=start)
    assert trigger.fields() == {"cron": "* * * * 9 0 0", "from": 1_796_083_200_000}
    assert from_fields(trigger.fields()).next_after(NOW) == at("2026-12-01 09:00")


def test_text_stored_by_a_peer_may_have_any_run_of_blanks() -> None:
    found = from_fields({"cron": "*  *\t* * 9 0 0 ", "color": "red"})
    assert found.cron == "* * * * 9 0 0"


def test_reading_the_same_fields_again_costs_no_reading() -> None:
    assert from_fields({"cron": "* * * * 9 0 1"}) is from_fields({"cron": "* * * * 9 0 1"})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cron": None},
        {"cron": 5},
        {"cron": ["* * * * * * *"]},
        {"cron": "* * * * *"},
        {"cron": "* * * * * * *", "local": "* * * * 9 0 0", "zone": "UTC"},
        {"cron": "* * * * * * *", "local": [], "zone": "UTC"},
        {"cron": "* * * * * * *", "local": [None], "zone": "UTC"},
        {"cron": "* * * * * * *", "local": ["nine"], "zone": "UTC"},
        {"cron": "* * * * * * *", "local": ["* * * * 9 0 0"]},
        {"cron": "* * * * * * *", "local": ["* * * * 9 0 0"], "zone": "Mars/Olympus"},
        {"cron": "* * * * * * *", "local": ["* * * * 9 0 0"], "zone": {"a": 1}},
        {"cron": "* * * * * * *", "from": "soon"},
        {"cron": "* * * * * * *", "from": True},
        {"cron": "* * * * * * *", "until": -1},
        {"cron": "* * * * * * *", "until": 10**30},
        {"cron": "* * * * * * *", "until": 1.5},
    ],
)
def test_incomplete_fields_of_a_time_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(TriggerError) as caught:
        from_fields(fields)
    assert str(caught.value).isprintable()


def test_once_fires_once_and_says_its_local_time() -> None:
    trigger = once(datetime(2026, 11, 21, 19, tzinfo=PARIS), tz="Europe/Paris")
    assert trigger.cron == "2026 11 21 * 18 0 0"
    assert trigger.rules == ("2026 11 21 * 19 0 0",)
    assert not trigger.recurs
    assert trigger.upcoming(NOW, 3) == [at("2026-11-21 18:00")]
    assert from_fields(trigger.fields()).recurs is False


def test_once_keeps_the_given_one_of_two_equal_times() -> None:
    second = datetime(2027, 10, 31, 2, 30, tzinfo=PARIS, fold=1)
    assert once(second, tz="Europe/Paris").next_after(NOW) == at("2027-10-31 01:30")


@pytest.mark.parametrize(
    "instant", [datetime(2026, 1, 1), NOW + timedelta(milliseconds=1), datetime(1969, 12, 31, tzinfo=UTC)]
)
def test_once_takes_whole_seconds_since_1970_with_a_zone(instant: datetime) -> None:
    with pytest.raises(TriggerError):
        once(instant)


@pytest.mark.parametrize(
    ("text", "either"),
    [
        ("* * 13 5 9 0 0", "the 13th, and every Friday"),
        ("* * 1,15 1-5 9 0 0", "the 1st and 15th, and every Monday to Friday"),
        ("* * L 0,6 9 0 0", "the last day, and every Sunday and Saturday"),
    ],
)
def test_both_day_fields_are_warned_of(text: str, either: str) -> None:
    expected = f'cron="{text}" sets both day fields, so either is enough: {either}.'
    assert cron(text).warnings == (expected,)
    assert from_fields({"cron": text}).warnings == ()


@pytest.mark.parametrize("text", ["* * 13 * 9 0 0", "* * ? 5 9 0 0", "* * * * 9 0 0"])
def test_one_day_field_is_not_warned_of(text: str) -> None:
    assert cron(text).warnings == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("* 2 30 * 0 0 0", "February has no day 30"),
        ("* 2,4 31 * 0 0 0", "no February or April has a day 31"),
        ("2100 2 29 * 0 0 0", "2100 has no 29 February"),
        ("* 4 31 * 0 0 0", "April has no day 31"),
        ("2027 2 30 * 0 0 0", "February has no day 30"),
        ("* * * 0 9/7 0 0", "by the year 9999 its v/n never falls together with the other fields"),
        ("2020 1 1 * 0 0 0", "that date is over"),
        ("2020 * * * 0 0 0", "its last time is over"),
    ],
)
def test_why_never_names_the_obstacle(text: str, why: str) -> None:
    trigger = cron(text)
    assert trigger.next_after(NOW) is None
    assert trigger.why_never() == why


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(CronError, match="Accepted: published, standard, cuckoo, auto"):
        cron("* * * * *", "quartz")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "2026 11 21 * 7 5 59", "1970 1 1 * 0 0 0", "9999 12 31 * 23 59 59", "2026 2 30 * 0 0 0",
        "2026 11 21 * 7 5 60", "1969 11 21 * 7 5 5", "2026 0 1 * 0 0 0", "2026 11 21 * 24 0 0", "2026 11 32 * 1 0 0",
        "2026 11 21 * 07 5 5", "2026 11  21 * 7 5 5", "2026 11 21 1 7 5 5", "* 11 21 * 7 5 5", "2026 11 21 * 7 5",
        "2026 11 21 * 7 5 5 ", "２０２６ 11 21 * 7 5 5", "2026 11 21 * 7 5 5\n",
    ],
)  # fmt: skip
def test_one_second_read_by_its_look_equals_the_parsed_one(text: str) -> None:
    def read(reader: Callable[[], Trigger]) -> object:
        try:
            return reader()
        except CronError as error:
            return str(error)

    assert read(lambda: from_fields({"cron": text})) == read(lambda: published(text, stored=True))
