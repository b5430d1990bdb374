"""Bounds said beside the time: what they become, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import Invalid
from workkit.triggers import cron, parse
from workkit.triggers.between import between

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAILY = cron("* * * * 9 0 0", "published")
PARIS = ZoneInfo("Europe/Paris")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2027-01-01", None, (utc(2026, 12, 31, 23), None)),
        ("2027-01-01 9am", "1 february 2027", (utc(2027, 1, 1, 8), utc(2027, 1, 31, 23))),
        ("tomorrow", None, (utc(2026, 11, 21, 23), None)),
        ("now", "in 2 days", (NOW, NOW + timedelta(days=2))),
        (None, datetime(2027, 1, 1, tzinfo=PARIS), (None, utc(2026, 12, 31, 23))),
        (utc(2027, 1, 1, 0, 0, 0, 1), None, (utc(2027, 1, 1, 0, 0, 1), None)),
        ("2020-01-01 9am", None, (utc(2020, 1, 1, 8), None)),
        ("2020-01-01", None, (utc(2019, 12, 31, 23), None)),
        (utc(2020, 1, 1), None, (utc(2020, 1, 1), None)),
    ],
    ids=str,
)
def test_bounds_are_read_in_the_zone_past_ones_too(start: Any, end: Any, expected: tuple[Any, Any]) -> None:
    bounded = between(DAILY, start=start, end=end, now=NOW, tz="Europe/Paris")
    assert (bounded.start, bounded.end) == expected
    assert bounded.rules == DAILY.rules


def test_it_runs_from_the_start_on_and_before_the_end() -> None:
    bounded = between(DAILY, start=utc(2027, 1, 1, 9), end=utc(2027, 1, 3, 9), now=NOW, tz="UTC")
    assert bounded.upcoming(NOW, 5) == [utc(2027, 1, 1, 9), utc(2027, 1, 2, 9)]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (None, "2026-11-21 9am", 'end="2026-11-21 9am" leaves no run. Give other bounds.'),
        (None, utc(2020, 1, 1), "end=2020-01-01 00:00 UTC leaves no run. Give other bounds."),
        ("2027-01-02", "2027-01-02", 'start="2027-01-02" and end="2027-01-02" leave no run. Give other bounds.'),
        ("tomorow", None, 'start="tomorow" is not understood. Did you mean "tomorrow"?*'),
        ("yesterday", None, 'start="yesterday": 2026-11-20 00:00 UTC passed 36 h ago.*'),
        ("every day", None, 'start="every day" recurs; it must be one instant. Write start="2030-01-01".'),
        (datetime(2027, 1, 1), None,
         "start=datetime.datetime(2027, 1, 1, 0, 0) has no zone. "
         'Use datetime(..., tzinfo=ZoneInfo("Europe/Paris")), or words with tz=.'),
        (None, date(2027, 1, 1),
         'end=datetime.date(2027, 1, 1) is a date: in which zone? Write end="2027-01-01", or a datetime.'),
        (5, None, 'start=5 is neither words nor a datetime. Write start="2030-01-01".'),
        (utc(1969, 1, 1), None, "start=1969-01-01 00:00 UTC lies before 1970."),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_bounds_are_refused(start: Any, end: Any, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        between(DAILY, start=start, end=end, now=NOW, tz="UTC")
    said = str(caught.value)
    assert said.startswith(message[:-1]) if message.endswith("*") else said == message


def test_a_bound_of_the_words_cannot_be_given_again() -> None:
    trigger = parse("every day at 9am starting tomorrow", now=NOW, tz="UTC")
    with pytest.raises(Invalid, match=r'^start="2028-01-01": the time itself has one already \(2026-11-22 00:00 UTC\)'):
        between(trigger, start="2028-01-01", end=None, now=NOW, tz="UTC")
    assert between(trigger, start=None, end="2028-01-01", now=NOW, tz="UTC").start == utc(2026, 11, 22)
