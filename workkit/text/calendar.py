"""The names of days and months in English, and dates and times of day written with them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Final

WEEKDAY_NAMES: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""In the order of cron: 0 is Sunday."""

MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def weekday_name(day: date) -> str:
    """Name the weekday of a date: ``Saturday``."""
    return WEEKDAY_NAMES[day.isoweekday() % 7]


def date_text(day: date) -> str:
    """Write a date: ``21 November 2026``."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def full_date_text(day: date) -> str:
    """Write a date with its weekday: ``Saturday 21 November 2026``."""
    return f"{weekday_name(day)} {date_text(day)}"


def short_date_text(day: date, *, width: int = 1) -> str:
    """Write a date in short form: ``Sun 29 Nov 2026``; the day of the month takes at least `width` characters."""
    return f"{weekday_name(day)[:3]} {day.day:{width}} {MONTH_NAMES[day.month - 1][:3]} {day.year}"


def time_text(at: datetime) -> str:
    """Write the time of day of a datetime, on its own clock: ``9:00``, ``10:20:30``."""
    return clock_text(at.hour * 3600 + at.minute * 60 + at.second)


def clock_text(seconds: int) -> str:
    """Write a time of day, given in seconds since midnight: ``9:00``, ``17:59:59``."""
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{hour}:{minute:02}" + (f":{second:02}" if second else "")


def offset_text(offset: timedelta) -> str:
    """Write an offset from UTC: ``UTC+2``, ``UTC-5:30``."""
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02}" if rest else "")
