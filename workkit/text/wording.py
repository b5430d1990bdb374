"""How values read in a line of text: instants, zones, durations, progress, counts and lists. For the command line and
the web.

Only this module spells durations and ages. Instants are milliseconds or aware datetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import ceil
from typing import Final
from zoneinfo import ZoneInfo

MILLISECOND: Final = timedelta(milliseconds=1)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def epoch_ms(at: datetime) -> int:
    """Return an instant in epoch milliseconds, rounded to the nearest."""
    return round(at.timestamp() * 1000)


def duration_text(ms: float, /, parts: int = 2) -> str:
    """Write milliseconds: ``41 ms``, ``2.1 s``, ``15 min 34 s``, ``1 d 7 h 44 min``; at most `parts` units."""
    if ms < 1000:
        return f"{max(0, round(ms))} ms"
    if ms < 60_000:
        tenths = f"{int(ms / 100) / 10:.1f}".removesuffix(".0")
        return f"{tenths} s"
    rest = int(ms // 1000)
    found: list[str] = []
    for seconds, unit in _UNITS:
        count, rest = divmod(rest, seconds)
        if count or found:
            found.append(f"{count:,} {unit}" if count else "")
        if len(found) == parts:
            break
    return " ".join(part for part in found if part)


def age_text(ms: float, /) -> str:
    """Write milliseconds in one whole unit: ``40 s``, ``3 min``, ``36 h``, ``2 d``; less than 0 is ``0 s``.

    Days begin at two, because "1 d" could hide up to a day.
    """
    seconds = max(0, int(ms // 1000))
    for size, unit in _UNITS:
        if seconds >= (2 * size if unit == "d" else size):
            return f"{seconds // size:,} {unit}"
    return "0 s"


def option_text(seconds: float, /) -> str:
    """Write seconds as an option, in one whole unit: ``90s``, ``2h``; rounded up to a whole second."""
    whole = ceil(seconds)
    size, unit = next(((size, unit) for size, unit in _UNITS if whole and whole % size == 0), (1, "s"))
    return f"{whole // size}{unit[0]}"


WEEKDAY_NAMES: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""The weekdays in the order of cron: 0 is Sunday."""

MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def weekday_name(day: date) -> str:
    """Return the weekday of a date: ``Saturday``."""
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


NEAR_DAYS = 27  # days; less than the shortest month, so a day of the month names one date only


def distance(at: datetime, now: datetime, /, parts: int = 2) -> str:
    """Write how far off an instant is: ``in 9 d 5 h``, ``now`` or ``3 min 2 s ago``."""
    ms = (at - now) / MILLISECOND
    if abs(ms) < 500:
        return "now"
    return f"in {duration_text(ms, parts)}" if ms > 0 else f"{duration_text(-ms, parts)} ago"


def short_date(at: datetime) -> str:
    """Write the date for a column: ``Sun 29 Nov 2026``."""
    return short_date_text(at, width=2)


def instant_text(at: datetime, zone: tzinfo, *, clock: Callable[[datetime], str] = time_text) -> str:
    """Write an instant in its zone and in UTC: ``... at 19:00 Europe/Paris = 18:00 UTC``; `clock` writes the times of
    day.
    """
    local, utc = at.astimezone(zone), at.astimezone(UTC)
    said = f"{full_date_text(local)} at {clock(local)} {zone_name(zone)}"
    if zone_name(zone) == "UTC":
        return said
    other_day = "" if utc.date() == local.date() else f" on {weekday_name(utc)}"
    return f"{said} = {clock(utc)} UTC{other_day}"


def near_day(at: datetime, now: datetime) -> str:
    """Write the day for a list, both in the same zone: ``today``, ``Mon 23``, ``3 Feb``, ``2028-02-03``."""
    days = (at.date() - now.date()).days
    if days in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[days + 1]
    if abs(days) <= NEAR_DAYS:
        return f"{weekday_name(at)[:3]} {at.day:2}"
    if at.year == now.year:
        return f"{at.day} {MONTH_NAMES[at.month - 1][:3]}"
    return at.date().isoformat()


def stamp(at: datetime, zone: tzinfo) -> str:
    """Write an instant for tables of the past: ``Sat 21 Nov 02:30:00``."""
    return f"{at.astimezone(zone):%a %d %b %H:%M:%S}"


def iso(at: datetime) -> str:
    """Write an instant for machines: ISO, UTC, milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def zone_name(zone: tzinfo) -> str:
    """Return the name of a zone as the user would write it."""
    return zone.key if isinstance(zone, ZoneInfo) else "UTC" if zone is UTC else str(zone)


def printable(text: str) -> str:
    """Escape all characters that could steer a terminal or hide text: control, bidi and other unprintable ones."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def progress(value: tuple[float, float] | str) -> str:
    """Write the progress of a run: ``340 of 1,000``, or its own words."""
    return value if isinstance(value, str) else f"{value[0]:,} of {value[1]:,}"


def listed(items: Sequence[str], word: str = "and") -> str:
    """Join items for a sentence: ``a, b and c``; empty for no items."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}" if items else ""


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 job``, ``1,204 jobs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ordinal(n: int) -> str:
    """Write 1 as ``1st``, 22 as ``22nd``."""
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
