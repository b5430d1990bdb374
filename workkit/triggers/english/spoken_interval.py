"""An interval in words: every 90 seconds starting at 0:00:30; and from when one is counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from workkit.text.calendar import clock_text, date_text, time_text
from workkit.triggers.clock.zone import segments
from workkit.triggers.clock.zone import zone as zone_of
from workkit.triggers.english.spoken_clock import MAX_TIMES
from workkit.triggers.interval import Interval, Pace
from workkit.triggers.phase import counted_from, pace_in, phase_in
from workkit.triggers.trigger import Trigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
_PRESENT: Final = 2026
"""Zones count with the offsets that they have from this year on."""


def spoken_interval(trigger: Trigger, origin: tuple[int, str] | None) -> tuple[str, bool] | None:
    """Say an interval, but for its bounds: "every 90 seconds", "every 5 minutes starting at 0:04:56"; and tell whether
    that is the same in every zone. None where days, times of the day or minutes of the hour say it better. `origin` is
    the time of day and the zone to count from, where it is another time than the first of the day.
    """
    if trigger.interval is not None and trigger.interval.is_elapsed:
        return _elapsed(trigger, trigger.interval, origin or (trigger.interval.phase, "UTC")), True
    if (found := _unlisted(trigger)) is None:
        return None
    pace, wall = found
    text = f"every {_length(pace.seconds)}"
    is_said = trigger.start is not None and is_chosen(trigger)
    return (
        (text, trigger.tz == "UTC")
        if is_said
        else (f"{text} starting at {clock_text(origin[0] if origin else wall)}", False)
    )


def _elapsed(trigger: Trigger, interval: Interval, origin: tuple[int, str]) -> str:
    text = f"every {_length(interval.n)}"
    if trigger.start is not None and is_chosen(trigger):
        return text
    if trigger.start is None and not interval.phase and interval.n % 60:
        return text
    if _DAY % interval.n == 0 and trigger.start is None:
        return f"{text} starting at {clock_text(origin[0])} {origin[1]}"
    return f"{text} counted from {_EPOCH + timedelta(seconds=interval.phase):%Y-%m-%dT%H:%M:%SZ}"


def _unlisted(trigger: Trigger) -> tuple[Pace, int] | None:
    """Find an interval that divides its unit, and its first time of the day, where that is no multiple of it and too
    many times would have to be listed.
    """
    found = phase_in(trigger)
    if found is None:
        return None
    pace, wall = found
    match pace.unit:
        case "second":
            is_odd = bool(wall % pace.n)
        case "minute":
            is_odd = bool(wall % 60) or (60 // pace.n > MAX_TIMES and bool(wall // 60 % pace.n))
        case _:
            is_odd = bool(wall % 60) or (24 // pace.n > MAX_TIMES and bool(wall // 3600 % pace.n))
    return found if is_odd else None


def _length(seconds: int) -> str:
    """Say a length in one unit; whole days stay hours, as days name a day and an hour of it."""
    size, unit = next(one for one in ((3600, "hour"), (60, "minute"), (1, "second")) if seconds % one[0] == 0)
    n = seconds // size
    return unit if n == 1 else f"{n} {unit}s"


def is_chosen(trigger: Trigger) -> bool:
    """Tell whether words that start the interval at the trigger's start mean the same."""
    start, interval = trigger.start, trigger.interval
    if start is None:
        return interval is None
    second = (start - _EPOCH) // timedelta(seconds=1)
    if interval is None:
        unlisted = _unlisted(trigger)
        pace = pace_in(trigger) if unlisted is None else unlisted[0]
        counted = counted_from(replace(trigger, start=None, pace=pace), start)
        return (counted.rules, counted.interval) == (trigger.rules, None)
    if interval.is_elapsed:
        return second % interval.n == interval.phase
    said = pace_in(trigger)
    if said is None or (said.n, f"{said.unit}s") != (interval.n, interval.unit):
        return False
    first = replace(interval, n=1, phase=0).day_after(second - 1, rules=trigger.rules, tz=zone_of(trigger.tz))
    return first is None or interval.number(first, zone_of(trigger.tz)) % interval.n == interval.phase


def how_counted(trigger: Trigger, *, tz: str | None = None) -> str | None:
    """Say from when a plain interval is counted: "aligned to the clock", "counted from 1:29 UTC". None for what is no
    plain interval, or leaves no choice, as every minute. Times are on the clock of the zone `tz`, where given, else of
    the trigger's own.
    """
    unlisted = _unlisted(trigger) if trigger.recurs and trigger.interval is None else None
    pace = pace_in(trigger) if unlisted is None else unlisted[0]
    is_plain = trigger.recurs and pace is not None and (pace.n > 1 or unlisted is not None)
    if trigger.interval is None and not is_plain:
        return None
    chosen = trigger.start is not None and is_chosen(trigger)
    if trigger.interval is None and pace is not None and pace.divides and not (chosen and unlisted):
        return "aligned to the clock"
    return "counted from its start" if chosen else f"counted from {_first(trigger, pace, tz)}"


def _first(trigger: Trigger, pace: Pace | None, tz: str | None) -> str:
    """Say the time of day from which an interval that divides a day is counted, or the first instant of any other."""
    if trigger.origin is not None:
        return f"{clock_text(trigger.origin[0])} {trigger.origin[1]}"
    name = tz or trigger.tz
    interval = trigger.interval
    seconds = interval.n if interval is not None and interval.is_elapsed else 0 if pace is None else pace.seconds
    first = replace(trigger, start=None, end=None).next_after(_EPOCH - timedelta(seconds=1))
    if first is None:
        return "1970"
    if seconds and seconds < _DAY and _DAY % seconds == 0:
        second = (first - _EPOCH) // timedelta(seconds=1)
        walls = {(second + offset) % seconds for _, _, offset in segments(name, _PRESENT)}
        return f"{clock_text(walls.pop())} {name}" if len(walls) == 1 else f"{clock_text(second % seconds)} UTC"
    local = first.astimezone(zone_of(name)).replace(tzinfo=None)
    return f"{date_text(local)} at {time_text(local)} {name}"
