"""The fields of APScheduler's CronTrigger as a rule of workkit: Monday is 0 there, and every field must match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workkit.moving.refusal import NotCarried
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, field_text

_SPECS = {"month": MONTH, "hour": HOUR, "minute": MINUTE, "second": SECOND}
_LAST = 5  # among "1st" to "5th" and "last"


def rule_of(trigger: Any) -> str:
    """Write a trigger as a rule in wall-clock time of its zone (spec/cron.md, 3), without years that follow each other:
    these are bounds. Raises NotCarried.
    """
    fields = {field.name: field for field in trigger.fields}
    if _values(fields["week"], 1, 53) != set(range(1, 54)):
        remedy = 'Write an IntervalTrigger(weeks=...), or "every 2 weeks on monday at 9am".'
        raise NotCarried(f"It names weeks of the year (week={str(fields['week'])!r}).", remedy)
    plain = {name: field_text(_values(fields[name], spec.low, spec.high), spec) for name, spec in _SPECS.items()}
    weekday = field_text({(day + 1) % 7 for day in _values(fields["day_of_week"], 0, 6)}, WEEKDAY)
    day, places = _days(fields["day"])
    if places and weekday != "*":
        raise NotCarried("It wants a place of the month and a day of the week at once.")
    if places:
        both, weekday, day = "", ",".join(places), day or "*"
    else:
        both = "&" if "*" not in (day, weekday) else ""
    clock = f"{plain['hour']} {plain['minute']} {plain['second']}"
    year = "*" if years_of(trigger) else str(fields["year"])
    return f"{year} {plain['month']} {both}{day} {weekday} {clock}"


def _values(field: Any, low: int, high: int) -> set[int]:
    """List the values of a field, as the expressions that it compiled name them."""
    return {value for expression in field.expressions for value in _named(expression, low, high)}


def _named(expression: Any, low: int, high: int) -> Iterable[int]:
    first = getattr(expression, "first", low)
    last = getattr(expression, "last", None)
    return range(first, (high if last is None else last) + 1, expression.step or 1)


def years_of(trigger: Any) -> tuple[int, int] | None:
    """Give the first year and the one after the last, if the years of a trigger are named and follow each other."""
    field = next(field for field in trigger.fields if field.name == "year")
    years = sorted(_values(field, YEAR.low, YEAR.high))
    follow = len(years) < YEAR.high - YEAR.low and years[-1] - years[0] == len(years) - 1
    return (years[0], years[-1] + 1) if follow else None


def _days(field: Any) -> tuple[str, list[str]]:
    """Give the days of the month, and the places in it ("1st mon", "last fri") as weekdays of the month."""
    numbers: set[int] = set()
    last, places = False, []
    for expression in field.expressions:
        match type(expression).__name__:
            case "LastDayOfMonthExpression":
                last = True
            case "WeekdayPositionExpression":
                weekday = (expression.weekday + 1) % 7
                nth = expression.option_num
                places.append(f"{weekday}L" if nth == _LAST else f"{weekday}#{nth + 1}")
            case _:
                numbers |= set(_named(expression, DAY.low, DAY.high))
    if len(numbers) == DAY.high:
        return "*", []
    items = [field_text(numbers, DAY)] if numbers else []
    return ",".join([*items, "L"] if last else items), sorted(set(places))
