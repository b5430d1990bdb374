"""Instants, distances and shares as they read at a glance, in a page or a drawing: ``tomorrow 02:30``, ``6 h 44 min``.

`now` and zones are arguments. Longer forms, with the zone and UTC: `workkit.text.wording`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from math import ceil, inf, isinf
from typing import Final
from zoneinfo import ZoneInfo

from workkit.text.wording import MILLISECOND, MONTH_NAMES, duration_text, instant_text, short_date_text

TICKING_S = 120  # below this, a distance is told to the second


class OtherZone(ZoneInfo):
    """A zone in which times are shown that belong to another one: every time of day on its clock names it."""


def clock_at(at: datetime) -> str:
    """Write the time of day on the clock of `at`: ``02:30``; seconds only where they are not 0: ``11:20:30``. In an
    `OtherZone` it names the zone: ``10:30 Asia/Tokyo``.
    """
    return bare_clock(at) + (f" {at.tzinfo.key}" if isinstance(at.tzinfo, OtherZone) else "")


def bare_clock(at: datetime) -> str:
    """Write the time of day where its zone stands beside it, as below an axis."""
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def day_text(day: date, today: date) -> str:
    """Write a date: ``today``, ``tomorrow``, ``yesterday``, ``Sun 22 Nov``; with the year where it is another."""
    days = (day - today).days
    if days in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[days + 1]
    written = short_date_text(day)
    return written if day.year != today.year else written.removesuffix(f" {day.year}")


def brief_day(day: date, today: date) -> str:
    """Write a date below an axis: ``today``, ``7 Oct``; with the year where it is another."""
    if day == today:
        return "today"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTH_NAMES[day.month - 1][:3]}{year}"


def moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant in a zone: ``02:30`` today, ``tomorrow 02:30``, ``Sun 22 Nov 05:00``."""
    local, day = at.astimezone(zone), _other_day(at, now, zone)
    return f"{day} {clock_at(local)}".lstrip()


def at_moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write it as a sentence does: ``at 02:30`` today, ``tomorrow at 02:30``, ``Sun 22 Nov at 05:00``."""
    return f"{_other_day(at, now, zone)} at {clock_at(at.astimezone(zone))}".lstrip()


def _other_day(at: datetime, now: datetime, zone: tzinfo) -> str:
    day, today = at.astimezone(zone).date(), now.astimezone(zone).date()
    return "" if day == today else day_text(day, today)


def away(ms: float) -> str:
    """Write how far off an instant is, either way: ``30 s``, ``1 min 12 s``, ``14 min``, ``6 h 44 min``, ``2 d 21 h``.

    Seconds only below two minutes, where a page counts them down.
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
"""Below which length of time (ms) a bound is rounded up to which step: it is the end of a bucket, and not exact."""


def bound_text(ms: float) -> str:
    """Write a bound, rounded up: ``14 min`` of 13 min 58 s."""
    if isinf(ms):
        return "over 2 days"
    step = next(step for below, step in _STEPS if ms < below)
    return duration_text(ceil(ms / step) * step)


def under(shares: Iterable[tuple[float, float | None]]) -> str:
    """Write shares of all values, each with a bound (ms) below which it stays: ``half under 4 ms, 95 % under 41 ms``. A
    share without a value is left out; one without an end says so.
    """
    said = []
    for share, ms in shares:
        if ms is not None:
            who = "half" if share == 0.5 else f"{share * 100:g} %"
            said.append(f"{who} longer than 2 days" if isinf(ms) else f"{who} under {bound_text(ms)}")
    return ", ".join(said)


def capital(sentence: str) -> str:
    """Write the first letter of a sentence as a capital, and nothing else differently."""
    return sentence[:1].upper() + sentence[1:]
