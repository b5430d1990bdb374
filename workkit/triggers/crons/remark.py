"""Sentences about a cron: that both of its day fields count, or why it never fires."""

from __future__ import annotations

from calendar import isleap

from workkit.text.calendar import MONTH_NAMES, WEEKDAY_NAMES
from workkit.text.listing import listed, ordinal
from workkit.triggers.crons.branch import LENGTHS
from workkit.triggers.crons.cron import Cron
from workkit.triggers.crons.field import Field, shown_text


def both_days(cron: Cron, *, given: str) -> tuple[str, ...]:
    """Warn if day-of-month and day-of-week are both set, as then either is enough; else give nothing."""
    if not cron.day.restricted or not cron.weekday.restricted or cron.day.joined:
        return ()
    either = f"{_numbers(cron.day)}, and {_weekdays(cron.weekday)}"
    return (f'cron="{shown_text(given)}" sets both day fields, so either is enough: {either}.',)


def _numbers(day: Field) -> str:
    if day.occurrences or len(day.values) > 5:
        return f"the days {day.text} of the month"
    names = [ordinal(value) for value in day.values]
    return f"the {listed([*names, 'last day'] if day.last else names)}"


def _weekdays(weekday: Field) -> str:
    if weekday.occurrences or weekday.ordinals:
        return f"the weekdays {weekday.text}"
    days = weekday.values
    names = [WEEKDAY_NAMES[day] for day in days]
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        return f"every {names[0]} to {names[-1]}"
    return f"every {listed(names)}"


def impossible(cron: Cron) -> str:
    """Tell why no date fits, as the end of a sentence."""
    months, days = cron.month.values, cron.day.values
    by_number = days and not cron.day.last and not cron.day.occurrences and not cron.month.occurrences
    if by_number and (cron.day.joined or not cron.weekday.restricted):
        if min(days) > max(LENGTHS[month] for month in months):
            names = listed([MONTH_NAMES[month - 1] for month in months], "or")
            return f"no {names} has a day {min(days)}" if months[1:] else f"{names} has no day {min(days)}"
        if months == [2] and days == [29] and not any(isleap(year) for year in cron.year.years):
            return f"{cron.year.text} has no 29 February"
    if any(part.occurrences for part in cron.fields):
        return "by the year 9999 its v/n never falls together with the other fields"
    return "no date fits all of its fields"
