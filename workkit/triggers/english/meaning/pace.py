"""Whether recurring words name a plain interval, and from when they count it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from workkit.text.calendar import clock_text
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.meaning.clock_rules import around
from workkit.triggers.english.meaning.date_rules import dates
from workkit.triggers.english.meaning.here import Here
from workkit.triggers.english.meaning.named_days import first_day
from workkit.triggers.interval import Pace
from workkit.triggers.phase import counted_from, elapsed, on_clock, second_of_day
from workkit.triggers.trigger import Trigger

_SUB_DAY: Final = ("second", "minute", "hour")


def pace_of(here: Here, parts: Parts) -> Pace | None:
    """Give the interval, if the words name one and nothing that says otherwise when it runs: no window, no months."""
    step = parts.step
    if parts.window or parts.marks or parts.count:
        return None
    *others, weekday = dates(here, parts).split()
    if others != ["*", "*", "*"]:
        return None
    if weekday == "*" and step is not None and step.unit in _SUB_DAY:
        return Pace(n=step.n, unit=step.unit)
    if weekday == "*" and step is not None and step.unit == "day" and step.n > 1:
        return Pace(n=step.n, unit="day")
    if step is not None and step.unit != "week":
        return None
    counts = {max(k, step.n if step is not None else 1) for _, k in parts.weekdays}
    return Pace(n=counts.pop(), unit="week") if len(counts) == 1 and counts != {1} else None


def from_start(here: Here, parts: Parts) -> Parts:
    """Take from its start what an interval of weeks or days leaves open: the weekday, "every 2 weeks starting friday at
    3pm", and the hour, "every 3 days starting 2027-01-31T09:00".
    """
    step, start = parts.step, parts.start
    if step is None or step.unit not in ("week", "day") or start is None:
        return parts
    if start.times and not parts.times:
        parts = replace(parts, times=start.times)
    named = parts.weekdays or parts.places or parts.days or parts.months
    if step.unit == "day" or named or not (start.days or start.day is not None or start.weekdays):
        return parts
    return replace(parts, weekdays=((first_day(here, start).isoweekday() % 7, 1),))


def with_hour(here: Here, parts: Parts, pace: Pace) -> tuple[Parts, int | None]:
    """Take the time of day that an interval starts at: to its day, if the words name one, else apart (in seconds)."""
    if pace.unit not in _SUB_DAY or not parts.times or not (parts.from_time or parts.start):
        return parts, None
    start, hour = parts.start, parts.times[0]
    if len(parts.times) > 1 or (start is not None and (start.times or start.instant or start.now)):
        raise here.refusal("names several times to start at", "Say one")
    parts = replace(parts, times=(), halved=False, from_time=False)
    if start is None:
        return parts, hour
    if not (start.days or start.day is not None or start.weekdays):
        example = f"every {pace.n} {pace.unit}s starting 2027-01-31 at {clock_text(hour)}"
        raise here.refusal("does not say on which day it starts", f'Say for example "{example}"')
    return replace(parts, start=replace(start, times=(hour,))), None


def phased(here: Here, trigger: Trigger, *, start: datetime | None, hour: int | None) -> Trigger:
    """Choose the phase of a plain interval: by an instant, or by an hour of each day; by neither it stays.

    Minutes that divide a day, but have another phase after a change of the clock, become times of the day.
    """
    pace = trigger.pace
    if start is not None:
        return counted_from(trigger, start)
    if hour is None or pace is None:
        return trigger
    if pace.divides:
        found = on_clock(trigger, hour, since=here.now)
    elif (second := second_of_day(pace, hour, tz=here.zone, since=here.now)) is not None:
        found = elapsed(trigger, second)
    elif _DAY % pace.seconds or pace.seconds % 60:
        raise _other_each_day(here, pace, hour)
    else:
        rules = tuple(f"* * * * {clock}" for clock in around(pace.seconds, hour))
        found = replace(trigger, cron=None, tz=here.zone.key, rules=rules)
    return replace(found, origin=(hour, here.zone.key))


_DAY: Final = 86_400


def _other_each_day(here: Here, pace: Pace, hour: int) -> Exception:
    today = datetime.combine(here.local.date(), datetime.min.time()) + timedelta(seconds=hour)
    day = (today if today > here.local else today + timedelta(days=1)).date()
    at = clock_text(hour)
    if _DAY % pace.seconds:
        trouble = f"leaves open from which day: {pace.n} {pace.unit}s do not divide a day"
    else:
        trouble = f"leaves open from which day: {at} in {here.zone.key} is another phase after a clock change"
    return here.refusal(trouble, f'Say "every {pace.n} {pace.unit}s starting {day:%Y-%m-%d} at {at}"')


def unfit(here: Here, parts: Parts) -> Exception | None:
    """Make the error about seconds that divide no minute beside days or a window; None where there are none."""
    step = parts.step
    if step is None or step.unit != "second" or 60 % step.n == 0:
        return None
    remedy = f'Say an interval that divides a minute or an hour, or "every {step.n} seconds" alone'
    return here.refusal(f"cannot be kept: {step.n} does not divide a minute, so it fits no days and no window", remedy)


def as_utc(here: Here, wall: datetime) -> datetime:
    """Give the instant of a naive wall-clock time in the zone of the words."""
    return wall.replace(tzinfo=here.zone).astimezone(UTC)
