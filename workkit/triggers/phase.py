"""The phase of an interval: the choice of its instants. The default is the clock, or 1970; a start can choose it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

from workkit.triggers.crons.branch import DAY_SECONDS
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.field import HOUR, MINUTE, SECOND, field_text
from workkit.triggers.lowering import lower
from workkit.triggers.trigger import Interval, Pace, Trigger, Unit
from workkit.triggers.zone import offset_at, segments
from workkit.triggers.zone import zone as zone_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def counted_from(trigger: Trigger, start: datetime) -> Trigger:
    """Choose the phase of a trigger of a plain interval: it counts from `start`, a whole second.

    Intervals that divide their unit stay on the wall clock of the trigger's zone, days and weeks on its calendar. All
    others elapse. Returns any other trigger, and one that has this phase already, unchanged. Adds no bound.
    """
    pace = trigger.pace
    if pace is None:
        return trigger
    second = (start - _EPOCH) // timedelta(seconds=1)
    tz = zone_of(trigger.tz)
    if pace.divides:
        return on_clock(trigger, second + offset_at(tz, second), since=start)
    if pace.unit in ("day", "week"):
        return _by_calendar(trigger, pace, second, tz)
    return elapsed(trigger, second)


def on_clock(trigger: Trigger, wall: int, *, since: datetime) -> Trigger:
    """Move an interval that divides its unit to the phase of a wall-clock time (naive seconds)."""
    pace = trigger.pace
    assert pace is not None
    rule = _aligned(pace, wall)
    if rule == trigger.rules[0]:
        return trigger
    return replace(trigger, cron=lower(rule, zone=zone_of(trigger.tz), since=since), rules=(rule,))


def _aligned(pace: Pace, wall: int) -> str:
    """Write the rule of an interval that divides its unit, in the phase of a wall-clock time."""
    hours: Sequence[int] = range(24)
    minutes: Sequence[int] = range(60)
    seconds: Sequence[int] = (wall % 60,)
    match pace.unit:
        case "second":
            seconds = range(wall % 60 % pace.n, 60, pace.n)
        case "minute":
            minutes = range(wall // 60 % 60 % pace.n, 60, pace.n)
        case _:
            minutes = (wall // 60 % 60,)
            hours = range(wall // 3600 % 24 % pace.n, 24, pace.n)
    clock = (field_text(hours, HOUR), field_text(minutes, MINUTE), field_text(seconds, SECOND))
    return f"* * * * {' '.join(clock)}"


def elapsed(trigger: Trigger, second: int) -> Trigger:
    """Let an interval of seconds, minutes or hours elapse from an instant (epoch seconds) on, and before it."""
    pace = trigger.pace
    assert pace is not None
    first = trigger.next_after_ms(-1000)
    if trigger.tz == "UTC" and first is not None and (second - first // 1000) % pace.seconds == 0:
        return trigger
    interval = Interval(n=pace.seconds, unit="seconds", phase=second % pace.seconds)
    return replace(trigger, cron=None, tz="UTC", interval=interval)


def _by_calendar(trigger: Trigger, pace: Pace, second: int, tz: ZoneInfo) -> Trigger:
    """Count days or weeks from the first time of the day, or of the week, at or after an instant."""
    unit: Unit = "days" if pace.unit == "day" else "weeks"
    first = Interval(n=1, unit=unit, phase=0).day_after(second - 1, rules=trigger.rules, tz=tz)
    if first is None or trigger.next_after_ms((first - 1) * 1000) == first * 1000:
        return trigger
    every = Interval(n=pace.n, unit=unit, phase=0)
    return replace(trigger, cron=None, interval=replace(every, phase=every.number(first, tz) % pace.n))


def second_of_day(pace: Pace, wall: int, *, tz: ZoneInfo, since: datetime) -> int | None:
    """Return an instant (epoch seconds) with the phase of a time of day; None if the phase would differ each day."""
    phases = {(wall - offset) % pace.seconds for _, _, offset in segments(tz.key, since.year)}
    return phases.pop() if len(phases) == 1 and DAY_SECONDS % pace.seconds == 0 else None


def pace_in(trigger: Trigger) -> Pace | None:
    """Return the plain interval of the rules, aligned to the clock or counted from 1970; None for any other rules."""
    if len(trigger.rules) == 1 and (known := _paces().get(trigger.rules[0])) is not None:
        return known
    found = set()
    for rule in trigger.rules:
        parts = rule.split()
        steps = [(unit, step) for part, unit in zip(parts, _COUNTED, strict=True) for step in _steps(part)]
        if parts[:3] != ["*", "*", "*"] or any(unit is None for unit, _ in steps):
            return None
        found |= set(steps)
    if len(found) != 1:
        return None
    unit, n = found.pop()
    return None if unit is None else Pace(n=n, unit=unit)


def phase_in(trigger: Trigger) -> tuple[Pace, int] | None:
    """Return the interval that divides its unit, and its first time of the day (seconds), if a rule is just that."""
    cron = parse_cron(trigger.rules[0], stored=True, rule=True)
    values = (cron.hour.values, cron.minute.values, cron.second.values)
    if len(trigger.rules) > 1 or not all(values):
        return None
    wall = values[0][0] * 3600 + values[1][0] * 60 + values[2][0]
    for unit, whole, part in zip(("hour", "minute", "second"), (24, 60, 60), values, strict=True):
        pace = Pace(n=whole // len(part), unit=unit)  # type: ignore[arg-type]
        if pace.divides and _aligned(pace, wall) == cron.text:
            return pace, wall
    return None


_COUNTED: Final[Sequence[Literal["minute", "hour", "day", "week"] | None]] = (
    *(None, None, None),
    *("week", "day", "hour", "minute"),
)
"""The unit that a `v/n` of each field counts."""


def _steps(part: str) -> Iterator[int]:
    """Yield the n of each v/n in a field."""
    for item in part.split(","):
        value, _, n = item.partition("/")
        if n and "*" not in value and "-" not in value:
            yield int(n)


@cache
def _paces() -> dict[str, Pace]:
    """Return the intervals that divide their unit, by rule, except a day."""
    paces = [Pace(n=n, unit=unit) for unit in ("second", "minute", "hour") for n in range(60, 0, -1)]
    return {_aligned(pace, 0): pace for pace in paces if pace.divides and pace.seconds < DAY_SECONDS}
