"""Short forms of instants, distances and shares, for a page or a drawing: ``tomorrow 02:30``, ``6 h 44 min``.

The caller passes `now` and zones. Longer forms, with the zone and UTC: `workkit.text.wording`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from math import ceil, inf, isinf
from typing import Final
from zoneinfo import ZoneInfo

from workkit.text.wording import MILLISECOND, MONTH_NAMES, duration_text, instant_text, short_date_text

TICKING_S = 120  # seconds; a shorter distance is shown to the second


class OtherZone(ZoneInfo):
    """A zone for times that belong to another zone: each time of day on its clock names the zone."""


def clock_at(at: datetime) -> str:
    """Write the time of day on the clock of `at`: ``02:30``; seconds only if they are not 0: ``11:20:30``. In an
    `OtherZone` it names the zone: ``10:30 Asia/Tokyo``.
    """
    return bare_clock(at) + (f" {at.tzinfo.key}" if isinstance(at.tzinfo, OtherZone) else "")


def bare_clock(at: datetime) -> str:
    """Write the time of day without its zone, for a place that names the zone, such as an axis."""
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def day_text(day: date, today: date) -> str:
    """Write a date: ``today``, ``tomorrow``, ``yesterday``, ``Sun 22 Nov``; with the year if it is not this year."""
    days = (day - today).days
    if days in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[days + 1]
    written = short_date_text(day)
    return written if day.year != today.year else written.removesuffix(f" {day.year}")


def brief_day(day: date, today: date) -> str:
    """Write a date below an axis: ``today``, ``7 Oct``; with the year if it is not this year."""
    if day == today:
        return "today"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTH_NAMES[day.month - 1][:3]}{year}"


def moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant in a zone: ``02:30`` today, ``tomorrow 02:30``, ``Sun 22 Nov 05:00``."""
    local, day = at.astimezone(zone), _other_day(at, now, zone)
    return f"{day} {clock_at(local)}".lstrip()


def at_moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant for a sentence: ``at 02:30`` today, ``tomorrow at 02:30``, ``Sun 22 Nov at 05:00``."""
    return f"{_other_day(at, now, zone)} at {clock_at(at.astimezone(zone))}".lstrip()


def _other_day(at: datetime, now: datetime, zone: tzinfo) -> str:
    day, today = at.astimezone(zone).date(), now.astimezone(zone).date()
    return "" if day == today else day_text(day, today)


def away(ms: float) -> str:
    """Write how far off an instant is, past or future: ``30 s``, ``1 min 12 s``, ``14 min``, ``6 h 44 min``, ``2 d 21
    h``.

    Shows seconds only below two minutes, where a page counts them down.
    """
    seconds = int(abs(ms) // 1000)
    if seconds < TICKING_S:
        return duration_text(seconds * 1000) if seconds else "0 s"
    if seconds < 3600:
        return duration_text(seconds // 60 * 60_000)
    return duration_text(seconds // 60 * 60_000, 2)


def towards(at: datetime, now: datetime) -> str:
    """Write how far off an instant is, with the direction: ``in 15 h 14 min``, ``now``, ``30 s ago``."""
    ms = (at - now) / MILLISECOND
    if abs(ms) < 1000:
        return "now"
    return f"in {away(ms)}" if ms > 0 else f"{away(ms)} ago"


def full_moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant in full: ``Saturday 21 November 2026 at 02:30 Europe/Paris = 01:30 UTC, in 15 h 14 min``."""
    return f"{instant_text(at, zone, clock=bare_clock)}, {towards(at, now)}"


_STEPS: Final = (
    (100, 1), (1_000, 10), (10_000, 100), (60_000, 1_000), (600_000, 10_000), (3_600_000, 60_000),
    (86_400_000, 600_000), (inf, 3_600_000),
)  # fmt: skip
"""Pairs in ms: a bound below the first value is rounded up to a multiple of the second. A bound is the end of a bucket,
so it is not exact.
"""


def bound_text(ms: float) -> str:
    """Write a bound (ms), rounded up: ``14 min`` for 13 min 58 s."""
    if isinf(ms):
        return "over 2 days"
    step = next(step for below, step in _STEPS if ms < below)
    return duration_text(ceil(ms / step) * step)


def under(shares: Iterable[tuple[float, float | None]]) -> str:
    """Write shares of all values, each with a bound (ms) below which it stays: ``half under 4 ms, 95 % under 41 ms``.
    Leaves out a share without a value; a share without a bound says so.
    """
    said = []
    for share, ms in shares:
        if ms is not None:
            who = "half" if share == 0.5 else f"{share * 100:g} %"
            said.append(f"{who} longer than 2 days" if isinf(ms) else f"{who} under {bound_text(ms)}")
    return ", ".join(said)


def capital(sentence: str) -> str:
    """Write the first letter of a sentence as a capital; change nothing else."""
    return sentence[:1].upper() + sentence[1:]
