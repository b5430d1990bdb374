"""Instants that somebody typed, of the past or of the time ahead: ISO, words, or how long ago. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from typing import Final

from workkit.errors import InvalidOptions, TriggerError
from workkit.text.wording import zone_name

LONGEST: Final = 100
ACCEPTED: Final = '"2 hours ago", "yesterday 14:00", "Monday 9am", 2026-11-20T14:00'
SECOND: Final = timedelta(seconds=1)
_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_DAY: Final = re.compile(r"(today|yesterday|tomorrow)\b\s*(?:at\b)?\s*(.*)", re.IGNORECASE)
_AGO: Final = re.compile(r"(.*\S)\s+ago", re.IGNORECASE)
_BACK: Final = (timedelta(days=7), timedelta(days=31), timedelta(days=366))


def read_instant(text: str, *, name: str, now: datetime, zone: tzinfo) -> datetime:
    """Read an instant; words that fit several are those of the last one before now. Raises InvalidOptions, which names
    the parameter.
    """
    found = None
    if len(text) <= LONGEST:
        try:
            found = instant(text, now=now, zone=zone, leans_back=True)
        except (TriggerError, OverflowError, ValueError):
            found = None
    if found is None:
        trouble = "is no time that is understood"
        remedy = f"Write for example {ACCEPTED}."
        raise InvalidOptions.about(
            f'{name}="{text[:LONGEST]}"', trouble, remedy, where=name, given=text, accepted=ACCEPTED
        )
    return found


def instant(text: str, *, now: datetime, zone: tzinfo, leans_back: bool = False) -> datetime | None:
    """Read an instant: ISO, on the wall clock of `zone` where it names no other; how long ago; words, with a day of the
    past too. Other words mean the next time they fit, of what recurs too; with `leans_back` the last one before now,
    and what recurs is refused. Raises TriggerError as the reader of phrases does, OverflowError for what no calendar
    has.
    """
    text = text.strip()
    if text.lower() == "now":
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return at if at.tzinfo is not None else at.replace(tzinfo=zone)
    if (ago := _AGO.fullmatch(text)) is not None:
        from workkit.triggers.duration import duration  # its grammar takes a while to import

        return now - duration(ago[1], name="ago")
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if (day := _DAY.fullmatch(text)) is not None:
        start = midnight + timedelta(days=_DAYS[day[1].lower()])
        return _once(f"today {day[2]}", start, zone) if day[2] else start
    return _back(text, midnight, now, zone) if leans_back else _next(text, now, zone)


def _back(text: str, midnight: datetime, now: datetime, zone: tzinfo) -> datetime | None:
    first = _once(text, midnight, zone)
    if first is None or first <= now:
        return first
    for back in _BACK:
        found = _once(text, now - back, zone)
        if found is not None and found <= now:
            return found
    return first


def _once(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """Read words that mean one time, as if they were said at that time."""
    from workkit.triggers.when import When, read_when

    return read_when(When(at=text, tz=zone_name(zone)), now=now).next_after(now - SECOND)


def _next(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    from workkit.triggers.when import read_when

    return read_when(text, now=now, tz=zone_name(zone)).next_after(now - SECOND)
