"""An interval in words: every 90 seconds starting at 0:00:30; and from when one is counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from workkit.text.calendar import clock_text
from workkit.triggers.clock.zone import zone as zone_of
from workkit.triggers.english.spoken_clock import MAX_TIMES
from workkit.triggers.interval import Interval, Pace
from workkit.triggers.phase import counted_from, pace_in, phase_in
from workkit.triggers.trigger import Trigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400


def spoken_interval(trigger: Trigger) -> tuple[str, bool] | None:
    """Say an interval, but for its bounds: "every 90 seconds", "every 5 minutes starting at 0:04:56"; and tell whether
    that is the same in every zone. None where days, times of the day or minutes of the hour say it better.
    """
    if trigger.interval is not None and trigger.interval.is_elapsed:
        return _elapsed(trigger, trigger.interval), True
    if (found := _unlisted(trigger)) is None:
        return None
    pace, wall = found
    text = f"every {_length(pace.seconds)}"
    is_said = trigger.start is not None and is_chosen(trigger)
    return (text, trigger.tz == "UTC") if is_said else (f"{text} starting at {clock_text(wall)}", False)


def _elapsed(trigger: Trigger, interval: Interval) -> str:
    text = f"every {_length(interval.n)}"
    if trigger.start is not None and is_chosen(trigger):
        return text
    if trigger.start is None and not interval.phase and interval.n % 60:
        return text
    if _DAY % interval.n == 0 and trigger.start is None:
        return f"{text} starting at {clock_text(interval.phase)} UTC"
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


def how_counted(trigger: Trigger) -> str | None:
    """Say from when a plain interval is counted: "aligned to the clock". None for what is no plain interval, or
    leaves no choice, as every minute.
    """
    interval = trigger.interval
    if interval is None:
        if not trigger.recurs:
            return None
        unlisted = _unlisted(trigger)
        pace = pace_in(trigger) if unlisted is None else unlisted[0]
        if pace is None or (pace.n == 1 and unlisted is None):
            return None
        chosen = trigger.start is not None and is_chosen(trigger)
        if pace.divides and not (chosen and unlisted):
            return "aligned to the clock"
        return "counted from its start" if chosen else _FROM_1970
    if trigger.start is not None and is_chosen(trigger):
        return "counted from its start"
    if interval.is_elapsed and _DAY % interval.n == 0 and interval.phase:
        return f"counted from {clock_text(interval.phase)} UTC"
    return "counted from a phase of its own" if interval.phase else _FROM_1970


_FROM_1970: Final = "counted from 1970"
