"""What recurring words mean: rules in local time, lowered to one published UTC string where that means the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from workkit.errors import PhraseError
from workkit.triggers.clock.lowering import lower
from workkit.triggers.clock.zone import segments
from workkit.triggers.clock.zone import zone as zone_of
from workkit.triggers.crons.field import DAY, FIRST_YEAR, LAST_YEAR, MONTH, field_text
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.meaning.clock_rules import clocks, stepped
from workkit.triggers.english.meaning.date_rules import dates, years_text
from workkit.triggers.english.meaning.here import Here
from workkit.triggers.english.meaning.named_days import first_day
from workkit.triggers.english.meaning.pace import as_utc, from_start, pace_of, phased, unfit, with_hour
from workkit.triggers.english.meaning.remark import of_recurring
from workkit.triggers.interval import Interval, Pace
from workkit.triggers.trigger import Trigger


def recurring(here: Here, groups: Sequence[Parts]) -> Trigger:
    """Make the Trigger of recurring words. Each group gives its own rules; bounds come last and hold for all."""
    last = groups[-1]
    if any(parts.start or parts.end for parts in groups[:-1]):
        raise here.refusal("bounds only some of what recurs", "Say the bounds at the end, or add two jobs")
    if len(groups) == 1:
        groups = [last := from_start(here, last)]
    pace = pace_of(here, last) if len(groups) == 1 else None
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
    parts, hour = with_hour(here, parts, pace)
    rules, zone = _rules(here, [parts]), here.zone
    start, end = _instants(here, parts)
    plain = Trigger(cron=None, tz=zone.key, recurs=True, rules=rules, pace=pace)
    if pace.unit == "second" and not pace.divides:
        plain = replace(plain, tz="UTC", interval=Interval(n=pace.n, unit="seconds", phase=0))
    elif (free := _zone_free(here, parts)) is not None:
        plain = replace(plain, tz="UTC", rules=(free,))
    found = phased(here, plain, start=None if start is None else as_utc(here, start), hour=hour)
    found = _bounded(here, found, start, end)
    return found if start is None and hour is None else replace(found, pace=None)


def _rules(here: Here, groups: Sequence[Parts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{dates(here, parts)} {part.text}" for parts in groups for part in clocks(here, parts)))


def _bounded(here: Here, trigger: Trigger, start: datetime | None, end: datetime | None) -> Trigger:
    """Put naive local bounds into the date fields if the result is one string in UTC, else beside the rules; and find
    that string.
    """
    rules, zone = trigger.rules, zone_of(trigger.tz)
    if trigger.interval is None and len(rules) == 1:
        folded = _fold(rules[0], start, end) if start is not None or end is not None else rules[0]
        cron = lower(folded, zone=zone, since=here.now) if folded is not None else None
        if folded is not None and (cron is not None or folded == rules[0]):
            return replace(trigger, cron=cron, rules=(folded,))
    bounds = [None if wall is None else as_utc(here, wall) for wall in (start, end)]
    return replace(trigger, cron=None, start=bounds[0], end=bounds[1])


def _instants(here: Here, parts: Parts) -> tuple[datetime | None, datetime | None]:
    """Give the bounds; refuse those that no calendar has."""
    try:
        return _bounds(here, parts)
    except PhraseError:
        raise
    except (OverflowError, ValueError) as cause:
        raise here.refusal("is out of range", "Dates go up to the year 9999") from cause


def _bounds(here: Here, parts: Parts) -> tuple[datetime | None, datetime | None]:
    """Give the naive local instants between which it fires: the first included, the last not."""
    start = _span(here, parts.start)[0] if parts.start is not None and not parts.start.now else None
    end = None
    if parts.end is not None:
        begins, over = _span(here, parts.end)
        end = begins if parts.before else over
    if start is not None and end is not None and end <= start:
        raise here.refusal("ends before it starts", "Give a later end")
    return start, end


def _span(here: Here, parts: Parts) -> tuple[datetime, datetime]:
    """Give the local beginning of a day, month, year or instant, and what comes after it."""
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
    """Say the bounds in the date fields, the same whatever the present; None where they are no such fields.

    Whole years go by themselves; months and days need both bounds, within one year and one month.
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
    """Say an interval that has no place on the wall clock, "every 7 minutes", as a rule in UTC; else None."""
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
