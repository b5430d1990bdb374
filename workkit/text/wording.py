"""How values read in a line of text: instants, zones, progress. Both faces say them so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from workkit.text.calendar import MONTH_NAMES, full_date_text, short_date_text, time_text, weekday_name
from workkit.text.cells import cells as cells
from workkit.text.cells import shorten as shorten
from workkit.text.duration import MILLISECOND, duration_text
from workkit.text.listing import listed as listed
from workkit.text.listing import plural as plural

NEAR_DAYS = 27  # a day of the month names one day only within less than the shortest month


def distance(at: datetime, now: datetime, /, parts: int = 2) -> str:
    """Say how far off an instant is: ``in 9 d 5 h``, ``now`` or ``3 min 2 s ago``."""
    ms = (at - now) / MILLISECOND
    if abs(ms) < 500:
        return "now"
    return f"in {duration_text(ms, parts)}" if ms > 0 else f"{duration_text(-ms, parts)} ago"


def short_date(at: datetime) -> str:
    """Say the date for a column: ``Sun 29 Nov 2026``."""
    return short_date_text(at, width=2)


def instant_text(at: datetime, zone: tzinfo, *, clock: Callable[[datetime], str] = time_text) -> str:
    """Say an instant in its zone and in UTC: ``... at 19:00 Europe/Paris = 18:00 UTC``; times of day by `clock`."""
    local, utc = at.astimezone(zone), at.astimezone(UTC)
    said = f"{full_date_text(local)} at {clock(local)} {zone_name(zone)}"
    if zone_name(zone) == "UTC":
        return said
    other_day = "" if utc.date() == local.date() else f" on {weekday_name(utc)}"
    return f"{said} = {clock(utc)} UTC{other_day}"


def near_day(at: datetime, now: datetime) -> str:
    """Say the day for a list, both in the same zone: ``today``, ``Mon 23``, ``3 Feb``, ``2028-02-03``."""
    days = (at.date() - now.date()).days
    if days in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[days + 1]
    if abs(days) <= NEAR_DAYS:
        return f"{weekday_name(at)[:3]} {at.day:2}"
    if at.year == now.year:
        return f"{at.day} {MONTH_NAMES[at.month - 1][:3]}"
    return at.date().isoformat()


def stamp(at: datetime, zone: tzinfo) -> str:
    """Write an instant as tables of what is past do: ``Sat 21 Nov 02:30:00``."""
    return f"{at.astimezone(zone):%a %d %b %H:%M:%S}"


def iso(at: datetime) -> str:
    """Write an instant as machines read it: ISO, UTC, milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def zone_name(zone: tzinfo) -> str:
    """Name a zone as the user would write it."""
    return zone.key if isinstance(zone, ZoneInfo) else "UTC" if zone is UTC else str(zone)


def printable(text: str) -> str:
    """Spell out whatever could steer a terminal or hide text: control, bidi and other unprintable characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def progress(value: tuple[float, float] | str) -> str:
    """Say how far a run is: ``340 of 1,000``, or its own words."""
    return value if isinstance(value, str) else f"{value[0]:,} of {value[1]:,}"
