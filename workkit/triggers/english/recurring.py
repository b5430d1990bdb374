"""Recurring words as rules in local time or intervals. Rules become one published UTC string if that means the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from workkit.errors import PhraseError
from workkit.text.wording import clock_text
from workkit.triggers.crons.field import DAY, FIRST_YEAR, LAST_YEAR, MONTH, field_text
from workkit.triggers.english.here import Here, of_recurring
from workkit.triggers.english.once import first_day
from workkit.triggers.english.reader import Parts
from workkit.triggers.english.rules import around, clocks, dates, stepped, years_text
from workkit.triggers.lowering import lower
from workkit.triggers.phase import counted_from, elapsed, on_clock, second_of_day
from workkit.triggers.trigger import Interval, Pace, Trigger
from workkit.triggers.zone import segments
from workkit.triggers.zone import zone as zone_of


def recurring(here: Here, groups: Sequence[Parts]) -> Trigger:
    """Make the Trigger of recurring words. Each group has its own rules; bounds come last and apply to all."""
    last = groups[-1]
    if any(parts.start or parts.end for parts in groups[:-1]):
        raise here.refusal("bounds only some of what recurs", "Say the bounds at the end, or add two jobs")
    if len(groups) == 1:
        groups = [last := _from_start(here, last)]
    pace = _pace_of(here, last) if len(groups) == 1 else None
    found = _calendar(here, groups) if pace is None else _paced(here, last, pace)
    if found.next_after(here.now) is None:
        trouble = found.why_never()
        raise here.refusal(f": {trouble}" if trouble == "that date is over" else f"never fires: {trouble}")
    return replace(found, warnings=of_recurring(here, groups))


def _calendar(here: Here, groups: Sequence[Parts]) -> Trigger:
    """Make the trigger of words that name days, windows or several rules."""
    for parts in groups:
        if (error := unfit(here, parts)) is not None:
            raise error
    found = Trigger(cron=None, tz=here.zone.key, recurs=True, rules=_rules(here, groups))
    if len(groups) == 1 and (free := _zone_free(here, groups[0])) is not None:
        found = replace(found, tz="UTC", rules=(free,))
    start, end = _instants(here, groups[-1])
    return _bounded(here, found, start, end)


def _paced(here: Here, parts: Parts, pace: Pace) -> Trigger:
    """Make the trigger of a plain interval, in the phase that the words choose."""
    parts, hour = _with_hour(here, parts, pace)
    rules, zone = _rules(here, [parts]), here.zone
    start, end = _instants(here, parts)
    plain = Trigger(cron=None, tz=zone.key, recurs=True, rules=rules, pace=pace)
    if pace.unit == "second" and not pace.divides:
        plain = replace(plain, tz="UTC", interval=Interval(n=pace.n, unit="seconds", phase=0))
    elif (free := _zone_free(here, parts)) is not None:
        plain = replace(plain, tz="UTC", rules=(free,))
    found = phased(here, plain, start=None if start is None else _as_utc(here, start), hour=hour)
    found = _bounded(here, found, start, end)
    return found if start is None and hour is None else replace(found, pace=None)


def _rules(here: Here, groups: Sequence[Parts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{dates(here, parts)} {part.text}" for parts in groups for part in clocks(here, parts)))


def _bounded(here: Here, trigger: Trigger, start: datetime | None, end: datetime | None) -> Trigger:
    """Add naive local bounds: to the date fields if the result is one string in UTC, else beside the rules. Also find
    that string.
    """
    rules, zone = trigger.rules, zone_of(trigger.tz)
    if trigger.interval is None and len(rules) == 1:
        folded = _fold(rules[0], start, end) if start is not None or end is not None else rules[0]
        cron = lower(folded, zone=zone, since=here.now) if folded is not None else None
        if folded is not None and (cron is not None or folded == rules[0]):
            return replace(trigger, cron=cron, rules=(folded,))
    bounds = [None if wall is None else _as_utc(here, wall) for wall in (start, end)]
    return replace(trigger, cron=None, start=bounds[0], end=bounds[1])


def _instants(here: Here, parts: Parts) -> tuple[datetime | None, datetime | None]:
    """Return the bounds; refuse those that no calendar has."""
    try:
        return _bounds(here, parts)
    except PhraseError:
        raise
    except (OverflowError, ValueError) as cause:
        raise here.refusal("is out of range", "Dates go up to the year 9999") from cause


def _bounds(here: Here, parts: Parts) -> tuple[datetime | None, datetime | None]:
    """Return the naive local instants between which it fires: the first included, the last not."""
    start = _span(here, parts.start)[0] if parts.start is not None and not parts.start.now else None
    end = None
    if parts.end is not None:
        begins, over = _span(here, parts.end)
        end = begins if parts.before else over
    if start is not None and end is not None and end <= start:
        raise here.refusal("ends before it starts", "Give a later end")
    return start, end


def _span(here: Here, parts: Parts) -> tuple[datetime, datetime]:
    """Return the local beginning of a day, month, year or instant, and that of the next one."""
    today = here.local.date()
    if parts.now or parts.instant is not None:
        moment = parts.instant or here.now
        return here.wall(moment), here.wall(moment + timedelta(seconds=1))
    if parts.days or parts.day is not None or parts.weekdays:
        day = first_day(here, parts)
        begins = datetime.combine(day, datetime.min.time()) + timedelta(seconds=parts.times[0] if parts.times else 0)
        return begins, begins + (timedelta(seconds=1) if parts.times else timedelta(days=1))
    months = [m for m, _ in parts.months]
    if parts.monthly:
        first = date(today.year, months[0] if months else today.month, 1)
    elif parts.years is not None:
        first = date(parts.years[0], months[0] if months else 1, 1)
    else:
        first = date(today.year + (months[0] < today.month), months[0], 1)
    by_month = bool(months) or parts.monthly
    after = (first + timedelta(days=32)).replace(day=1) if by_month else date(first.year + 1, 1, 1)
    return datetime.combine(first, datetime.min.time()), datetime.combine(after, datetime.min.time())


def _fold(rule: str, start: datetime | None, end: datetime | None) -> str | None:
    """Write the bounds into the date fields, independent of the present; None if date fields cannot express them.

    Whole years may lack a bound; months and days need both bounds, within one year and one month.
    """
    year, month, day, weekday, *rest = rule.split()
    first, last = start or datetime(FIRST_YEAR, 1, 1), (end or datetime(LAST_YEAR, 12, 31)) - timedelta(days=1)
    whole_days = all(t.time() == datetime.min.time() for t in (first, last))
    if year != "*" or not whole_days:
        return None
    ends_year = end is None or (end.month, end.day) == (1, 1)
    if (first.month, first.day) == (1, 1) and ends_year:
        years = years_text((first.year, LAST_YEAR if end is None else last.year))
        return " ".join((years, month, day, weekday, *rest))
    if start is None or end is None or first.year != last.year or month != "*":
        return None
    if first.day == 1 and end.day == 1:
        return " ".join((str(first.year), field_text(range(first.month, last.month + 1), MONTH), day, weekday, *rest))
    if first.month == last.month and day == weekday == "*":
        days = field_text(range(first.day, last.day + 1), DAY)
        return " ".join((str(first.year), str(first.month), days, "*", *rest))
    return None


def _zone_free(here: Here, parts: Parts) -> str | None:
    """Write an interval that is not aligned to the wall clock, "every 7 minutes", as a rule in UTC; else None."""
    if parts.step is None or parts.step.unit not in ("minute", "hour") or parts.window or parts.count:
        return None
    base = stepped(here, parts)
    shifts = {offset // 60 % 60 for _, _, offset in segments(here.zone.key, here.now.year)}
    if base.occurrence == 1 or dates(here, parts) != "* * * *" or len(shifts) > 1:
        return None
    if base.unit == "hour":
        shift = shifts.pop()
        base = replace(base, minutes=tuple((minute - shift) % 60 for minute in base.minutes))
    return f"* * * * {base.text}"


_SUB_DAY: Final = ("second", "minute", "hour")


def _pace_of(here: Here, parts: Parts) -> Pace | None:
    """Return the interval, if the words name one and no other time condition: no window, no months."""
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


def _from_start(here: Here, parts: Parts) -> Parts:
    """Complete an interval of weeks or days from its start: the weekday of "every 2 weeks starting friday at 3pm", and
    the hour of "every 3 days starting 2027-01-31T09:00".
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


def _with_hour(here: Here, parts: Parts, pace: Pace) -> tuple[Parts, int | None]:
    """Move the time of day of an interval's start to its day, if the words name one; else return it in seconds."""
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
    """Choose the phase of a plain interval by an instant, or by an hour of each day. Without either it stays.

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
    """Make the error about seconds that divide no minute, beside days or a window; None if there are none."""
    step = parts.step
    if step is None or step.unit != "second" or 60 % step.n == 0:
        return None
    remedy = f'Say an interval that divides a minute or an hour, or "every {step.n} seconds" alone'
    return here.refusal(f"cannot be kept: {step.n} does not divide a minute, so it fits no days and no window", remedy)


def _as_utc(here: Here, wall: datetime) -> datetime:
    """Return the instant of a naive wall-clock time in the zone of the words."""
    return wall.replace(tzinfo=here.zone).astimezone(UTC)
