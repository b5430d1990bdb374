"""Which days the words of one time may name, soonest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from workkit.text.calendar import WEEKDAY_NAMES, clock_text, date_text, weekday_name
from workkit.text.listing import ordinal
from workkit.triggers.crons.branch import month_length
from workkit.triggers.english.grammar.parts import LAST, Parts
from workkit.triggers.english.meaning.here import Here


def days(here: Here, parts: Parts) -> Iterator[date]:
    """Yield the days that the words may name, soonest first."""
    if not parts.moved:
        yield from _named(here, parts)
        return
    today = here.local.date()
    for day in _named(here, parts):
        if parts.weekdays and parts.moved > 0 and today.isoweekday() == day.isoweekday():
            remedy = _either(parts, *(at + timedelta(days=parts.moved) for at in (today, day)))
            raise here.refusal("may count from today or from the next such day", remedy)
        if day >= today or parts.years:
            yield day + timedelta(days=parts.moved)


def _named(here: Here, parts: Parts) -> Iterator[date]:
    """Yield the days that are named, from which others are counted."""
    today = here.local.date()
    if parts.day is not None:
        yield today + timedelta(days=parts.day)
    elif parts.days or parts.places:
        yield from _dates(parts, today=today)
    elif parts.weekdays:
        weekday = parts.weekdays[0][0]
        if parts.week:
            yield _next_week(here, parts)
        elif parts.this and today.isoweekday() % 7 == weekday:
            yield today
        else:
            yield today + timedelta(days=(weekday - today.isoweekday() - 1) % 7 + 1)
    else:
        yield today
        yield today + timedelta(days=1)


def _either(parts: Parts, *days: date) -> str:
    """Say to write one of the dates, with the hour if that is named."""
    hour = f" {clock_text(parts.times[0])}" if parts.times else ""
    choices = " or ".join(f'"{day}{hour}"' for day in days)
    return f"Say {choices}" if hour else f"Say {choices}, and the hour"


def _next_week(here: Here, parts: Parts) -> date:
    """Give that day of next week, if weeks that begin on Monday and on Sunday agree about it."""
    today, weekday = here.local.date(), parts.weekdays[0][0]
    by_monday = today + timedelta(days=7 - (today.isoweekday() - 1) + (weekday - 1) % 7)
    by_sunday = today + timedelta(days=7 - today.isoweekday() % 7 + weekday)
    if by_monday != by_sunday:
        raise here.refusal("depends on the day that begins a week", _either(parts, *sorted((by_monday, by_sunday))))
    return by_monday


def first_day(here: Here, parts: Parts) -> date:
    """Give the first day from today on that the words may name, as a bound; a past one only if it is named in full."""
    today = here.local.date()
    for day in days(here, parts):
        if day >= today or parts.years or parts.day is not None:
            contradiction(here, parts, day=day)
            return day
    raise here.refusal("never comes", "Name a date that there is")


def _dates(parts: Parts, *, today: date) -> Iterator[date]:
    """Yield each date of the named year, month and day of month, from today's month on; years passed give all."""
    year, month = (parts.years[0], 1) if parts.years else (today.year, today.month)
    months = {month for month, _ in parts.months}
    if parts.month_ahead is not None:
        year, month = year + (month + parts.month_ahead > 12), (month + parts.month_ahead - 1) % 12 + 1
        months.add(month)
    for _ in range(12 if parts.years or parts.month_ahead is not None else 12 * 9):
        if not months or month in months:
            found = day_of_month(year, month, parts)
            if found is not None:
                yield found
        year, month = year + month // 12, month % 12 + 1


def day_of_month(year: int, month: int, parts: Parts) -> date | None:
    """Give the one day of that month which `days` or `places` name, if it has it."""
    if year > 9999:
        return None
    first = date(year, month, 1)
    length = month_length(year, month)
    if parts.days:
        day = length if parts.days[0] == LAST else parts.days[0]
        return first.replace(day=day) if day <= length else None
    k, weekday = parts.places[0]
    day = (weekday - first.isoweekday()) % 7 + 1
    day += (length - day) // 7 * 7 if k == LAST else (k - 1) * 7
    return first.replace(day=day) if day <= length else None


def contradiction(here: Here, parts: Parts, *, day: date) -> None:
    """Refuse a weekday that is not the one of the date."""
    if parts.weekdays and (parts.days or parts.places) and day.isoweekday() % 7 != parts.weekdays[0][0]:
        is_, not_ = weekday_name(day), WEEKDAY_NAMES[parts.weekdays[0][0]]
        remedy = "Correct the day or the date"
        if len(parts.days) == 1 and parts.days[0] > 0 and not parts.months:
            remedy += f', or say "every {not_.lower()} the {ordinal(parts.days[0])}"'
        raise here.refusal(f"contradicts itself: {date_text(day)} is a {is_}, not a {not_}", remedy)
