"""Days that are named by other days, on every day of two years, against the calendar of the standard library."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import PhraseError
from workkit.triggers import parse

DAYS = [datetime(2027, 1, 1, 10, 15, 30, tzinfo=UTC) + timedelta(days=n) for n in range(731)]
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def at(day: date, hour: int) -> datetime:
    return datetime(day.year, day.month, day.day, hour, tzinfo=UTC)


def first(text: str, now: datetime) -> datetime | None:
    return parse(text, now=now).next_after(now)


def month_after(now: datetime) -> tuple[int, int]:
    return (now.year + 1, 1) if now.month == 12 else (now.year, now.month + 1)


@pytest.mark.parametrize("words", ["end of {}", "the last day of {}", "at the end of {}"])
def test_the_end_of_this_and_of_next_month(words: str) -> None:
    for now in DAYS:
        year, month = month_after(now)
        this = date(now.year, now.month, monthrange(now.year, now.month)[1])
        later = date(year, month, monthrange(year, month)[1])
        assert first(words.format("this month") + " at 5pm", now) == at(this, 17)
        assert first(words.format("next month") + " at 5pm", now) == at(later, 17)


def test_a_day_of_next_month_is_that_day_or_refused() -> None:
    for now in DAYS:
        year, month = month_after(now)
        assert first("3rd of next month at 9am", now) == at(date(year, month, 3), 9)
        assert first("next month on the 3rd at 9am", now) == at(date(year, month, 3), 9)
        if monthrange(year, month)[1] == 31:
            assert first("31st of next month at 9am", now) == at(date(year, month, 31), 9)
        else:
            with pytest.raises(PhraseError):
                parse("31st of next month at 9am", now=now)


def test_the_end_of_a_quarter_and_of_a_year() -> None:
    for now in DAYS:
        quarter = (now.month - 1) // 3 * 3 + 3
        end = date(now.year, quarter, monthrange(now.year, quarter)[1])
        assert first("end of the quarter at 5pm", now) == at(end, 17)
        assert first("end of year at noon", now) == at(date(now.year, 12, 31), 12)
        assert first("every quarter end at 5pm", now) == at(end, 17)


@pytest.mark.parametrize("weekday", range(7))
def test_weeks_from_a_weekday_count_from_the_one_that_the_weekday_names(weekday: int) -> None:
    name = WEEKDAYS[weekday]
    for now in DAYS[:60]:
        plain = first(f"{name} at 9am", now)
        assert plain is not None
        if now.weekday() == weekday:
            with pytest.raises(PhraseError):
                parse(f"two weeks from {name} at 9am", now=now)
            continue
        assert first(f"{name} week at 9am", now) == plain + timedelta(days=7)
        assert first(f"a week on {name} at 9am", now) == plain + timedelta(days=7)
        assert first(f"two weeks from {name} at 9am", now) == plain + timedelta(days=14)
        assert first(f"the day after {name} at 9am", now) == plain + timedelta(days=1)


@pytest.mark.parametrize("weekday", range(7))
def test_this_weekday_is_the_first_whose_hour_is_to_come_within_a_week(weekday: int) -> None:
    for now in DAYS[:30]:
        ahead = (weekday - now.weekday()) % 7
        assert first(f"this {WEEKDAYS[weekday]} at 3pm", now) == at((now + timedelta(days=ahead)).date(), 15)
        assert first(f"{WEEKDAYS[weekday]} at 3pm", now) == at((now + timedelta(days=ahead or 7)).date(), 15)


def test_days_before_and_after_a_holiday_are_the_next_ones_to_come() -> None:
    for now in DAYS:
        eve = at(date(now.year, 12, 24), 9)
        assert first("the day before christmas at 9am", now) == (
            eve if eve > now else at(date(now.year + 1, 12, 24), 9)
        )
        boxing = at(date(now.year, 12, 26), 9)
        after = first("the day after christmas at 9am", now)
        assert after == (boxing if now.date() <= date(now.year, 12, 25) else at(date(now.year + 1, 12, 26), 9))


@pytest.mark.parametrize("tz", ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"])
def test_each_hour_of_two_years_is_once_twice_or_never_on_the_clock(tz: str) -> None:
    zone, now = ZoneInfo(tz), datetime(2026, 12, 31, tzinfo=UTC)
    seen: dict[datetime, int] = {}
    for n in range(731 * 48):
        wall = (datetime(2027, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=30 * n)).astimezone(zone).replace(tzinfo=None)
        seen[wall] = seen.get(wall, 0) + 1
    start = min(seen)
    odd = [wall for n in range(730 * 48) if seen.get(wall := start + timedelta(minutes=30 * n), 0) != 1]
    assert odd
    for wall in odd:
        text = f"{wall:%Y-%m-%d %H:%M}"
        if wall not in seen:
            with pytest.raises(PhraseError, match="does not exist"):
                parse(text, now=now, tz=tz)
        else:
            assert "comes twice" in parse(text, now=now, tz=tz).warnings[0]
    for wall in (odd[0] - timedelta(hours=3), odd[0] + timedelta(hours=3)):
        assert parse(f"{wall:%Y-%m-%d %H:%M}", now=now, tz=tz).warnings == ()
