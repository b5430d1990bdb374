from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.text.glance import away, brief_day, capital, day_text, full_moment, moment, towards, under

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")
SECOND = 1000
DAY = 86_400 * SECOND


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (datetime(2026, 11, 20, 1, 30, tzinfo=UTC), "02:30"),
        (datetime(2026, 11, 20, 10, 20, 30, tzinfo=UTC), "11:20:30"),
        (datetime(2026, 11, 21, 1, 30, tzinfo=UTC), "tomorrow 02:30"),
        (datetime(2026, 11, 20, 23, 30, tzinfo=UTC), "tomorrow 00:30"),  # the day is that of the zone
        (datetime(2026, 11, 18, 23, 0, tzinfo=UTC), "yesterday 00:00"),
        (datetime(2026, 11, 22, 4, 0, tzinfo=UTC), "Sun 22 Nov 05:00"),
        (datetime(2027, 3, 28, 1, 0, tzinfo=UTC), "Sun 28 Mar 2027 03:00"),
        (datetime(2025, 11, 20, 1, 30, tzinfo=UTC), "Thu 20 Nov 2025 02:30"),
    ],
)
def test_a_moment_names_the_day_where_it_is_another(at: datetime, said: str) -> None:
    assert moment(at, NOW, PARIS) == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 s"),
        (999, "0 s"),
        (30 * SECOND, "30 s"),
        (-30_900, "30 s"),
        (59_999, "59 s"),
        (60 * SECOND, "1 min"),
        (72 * SECOND, "1 min 12 s"),
        (119_999, "1 min 59 s"),
        (120 * SECOND, "2 min"),
        (14 * 60_000 + 30_000, "14 min"),
        (3_599_999, "59 min"),
        (3_600_000, "1 h"),
        (3_600_000 * 6 + 44 * 60_000 + 59_000, "6 h 44 min"),
        (15 * 3_600_000 + 14 * 60_000 + 30_000, "15 h 14 min"),
        (DAY, "1 d"),
        (2 * DAY + 21 * 3_600_000 + 59 * 60_000, "2 d 21 h"),
        (1_204 * DAY, "1,204 d"),
    ],
)
def test_a_distance_has_seconds_only_below_two_minutes(ms: int, said: str) -> None:
    assert away(ms) == said


@given(st.integers(0, 10**13))
def test_a_distance_never_reads_as_a_time_of_day_and_has_two_units_at_most(ms: int) -> None:
    said = away(ms)
    assert ":" not in said
    assert len(said.split()) in (2, 4)


def test_a_distance_says_its_direction() -> None:
    assert towards(NOW + timedelta(hours=15, minutes=14, seconds=30), NOW) == "in 15 h 14 min"
    assert towards(NOW - timedelta(seconds=30), NOW) == "30 s ago"
    assert towards(NOW + timedelta(milliseconds=400), NOW) == "now"


def test_a_full_moment_says_the_zone_utc_and_the_distance() -> None:
    said = full_moment(datetime(2026, 11, 21, 1, 30, tzinfo=UTC), NOW, PARIS)
    assert said == "Saturday 21 November 2026 at 02:30 Europe/Paris = 01:30 UTC, in 15 h 14 min"


def test_days_are_written_short() -> None:
    today = NOW.date()
    assert brief_day(today, today) == "today"
    assert brief_day(today - timedelta(days=44), today) == "7 Oct"
    assert brief_day(today - timedelta(days=400), today) == "16 Oct 2025"
    assert [day_text(today + timedelta(days=n), today) for n in (-1, 0, 1, 2)] == [
        "yesterday",
        "today",
        "tomorrow",
        "Sun 22 Nov",
    ]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([(0.5, 3.2), (0.95, 41.0)], "half under 4 ms, 95 % under 41 ms"),
        ([(0.5, 838_860.8)], "half under 14 min"),
        ([(0.5, 596.6), (0.95, 4_634.1)], "half under 600 ms, 95 % under 4.7 s"),
        ([(0.5, 52_428.8), (0.95, 104_857.6)], "half under 53 s, 95 % under 1 min 50 s"),
        ([(0.5, 13_421_772.8), (0.95, 107_374_182.4)], "half under 3 h 50 min, 95 % under 1 d 6 h"),
        ([(0.5, None)], ""),
        ([(0.95, 1400.0)], "95 % under 1.4 s"),
        ([(0.5, float("inf"))], "half longer than 2 days"),
    ],
)
def test_shares_are_written_in_words(shares: list[tuple[float, float | None]], said: str) -> None:
    assert under(shares) == said


def test_a_sentence_begins_with_a_capital() -> None:
    assert capital("half under 3 ms, on iOS") == "Half under 3 ms, on iOS"
    assert capital("") == ""
