"""A wall-clock time as an instant: skipped by a change of the clock, or shown twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from workkit.text.calendar import time_text
from workkit.triggers.english.meaning.here import Here

_SECOND: Final = timedelta(seconds=1)


def at_instant(here: Here, wall: datetime) -> datetime:
    """Give the UTC instant of a wall-clock time, the first if there are two; refuse one that is skipped."""
    found = wall.replace(tzinfo=here.clock).astimezone(UTC)
    if found.astimezone(here.clock).replace(tzinfo=None) == wall:
        return found
    shown = [time_text(t) for t in gap(wall, here.zone)]
    later = time_text(found.astimezone(here.zone))
    raise here.refusal(
        f"does not exist in {here.zone.key}: clocks go from {shown[0]} to {shown[1]} then",
        f"Say {_half_day(later)}, or give UTC",
    )


def gap(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Give the wall clock just before and just after the change that skips `wall`, or shows it twice."""
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    low, high = min(low, high) - timedelta(hours=1), max(low, high) + timedelta(hours=1)
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
    change = high.replace(microsecond=0)
    assert before is not None
    return (change + before).replace(tzinfo=None), change.astimezone(zone).replace(tzinfo=None)


def _half_day(time: str) -> str:
    hour, rest = time.split(":", 1)
    return f"{(int(hour) - 1) % 12 + 1}:{rest}{'am' if int(hour) < 12 else 'pm'}"
