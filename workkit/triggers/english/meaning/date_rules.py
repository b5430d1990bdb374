"""What the days of recurring words mean: the first four fields of a rule."""

from __future__ import annotations

from typing import Final

from workkit.text.calendar import MONTH_NAMES, WEEKDAY_NAMES, clock_text
from workkit.text.listing import listed, ordinal
from workkit.triggers.crons.field import DAY, MONTH, WEEKDAY, field_text
from workkit.triggers.english.grammar.parts import LAST, Parts
from workkit.triggers.english.grammar.words import ORDINALS, SECONDS
from workkit.triggers.english.meaning.here import Here
from workkit.triggers.english.meaning.once import check_ending

_MORNING: Final = 6 * 3600  # a night ends here


def dates(here: Here, parts: Parts) -> str:
    """Say the four date fields."""
    unit = parts.step.unit if parts.step else ""
    _check(here, parts, unit=unit)
    n = parts.step.n if parts.step else 1
    year = "*" if parts.years is None else years_text(parts.years)
    months, month_nth = parts.months, n if unit == "year" else 1
    days, day_nth = parts.days, 1
    if unit == "year" and not months:
        months = ((1, 1),)
    month = "*"
    if months:
        plain = [m for m, k in months if max(k, month_nth) == 1]
        month = field_text(plain, MONTH, nth=[(m, max(k, month_nth)) for m, k in months if max(k, month_nth) > 1])
    elif unit == "month":
        month = field_text(range(1, 13, n), MONTH) if 12 % n == 0 else "*"
        day_nth = n if 12 % n else 1
    if not (days or parts.places or parts.weekdays) and (unit in ("month", "year") or (not unit and months)):
        days = (1,)
    if day_nth > 1 and (parts.places or max(days) > 28 or min(days) < 1):
        raise here.refusal("counts months by a day that some do not have", "Name a day from 1 to 28")
    weekday, day = _weekday(here, parts), _day(days, nth=day_nth)
    if parts.either:
        return f"{year} {month} {'1-31' if day == '*' else day} {'0-6' if weekday == '*' else weekday}"
    joined = day != "*" and weekday != "*"
    return f"{year} {month} {'&' if joined else ''}{day} {weekday}"


def years_text(years: tuple[int, int]) -> str:
    """Write the years from first to last."""
    return str(years[0]) if years[0] == years[1] else f"{years[0]}-{years[1]}"


def _day(days: tuple[int, ...], *, nth: int) -> str:
    if not days:
        return "*"
    numbers = [day for day in days if day != LAST]
    items = [field_text((), DAY, nth=[(d, nth) for d in numbers]) if nth > 1 else field_text(numbers, DAY)]
    return ",".join([item for item in items if item] + ["L"] * (LAST in days))


def _weekday(here: Here, parts: Parts) -> str:
    if parts.places:
        return ",".join(f"{day}L" if k == LAST else f"{day}#{k}" for k, day in parts.places)
    weekdays = parts.weekdays
    if parts.step and parts.step.unit == "week":
        weekdays = tuple((day, max(k, parts.step.n)) for day, k in weekdays)
    if parts.without:
        if any(k > 1 for _, k in weekdays):
            raise here.refusal("leaves out days of what is counted", "Name the days that are meant")
        left = [day for day in ([d for d, _ in weekdays] or range(7)) if day not in parts.without]
        if not left:
            raise here.refusal("never fires: no day is left", "Name a day that is")
        weekdays = tuple((day, 1) for day in left)
    if not weekdays:
        return "*"
    return field_text([d for d, k in weekdays if k == 1], WEEKDAY, nth=[(d, k) for d, k in weekdays if k > 1])


def _check(here: Here, parts: Parts, *, unit: str) -> None:
    """Refuse what does not go together."""
    named = bool(parts.days or parts.places)
    if parts.now or parts.instant or parts.amount or parts.day is not None or parts.moved or parts.week:
        raise here.refusal("names one time beside what recurs", "Say one of them")
    if parts.month_ahead is not None:
        raise here.refusal("names one time beside what recurs", "Say one of them")
    check_ending(here, parts)
    if parts.day_part == "night" and min(parts.times, default=_MORNING) < _MORNING:
        hour, remedy = clock_text(min(parts.times)), "Say the day on which it runs, and the hour without the night"
        if parts.weekdays:
            day = parts.weekdays[0][0]
            choices = " or ".join(f'"every {WEEKDAY_NAMES[at % 7].lower()} at {hour}"' for at in (day, day + 1))
            remedy = f"Say for example {choices}"
        if parts.weekdays or parts.days or parts.places:
            raise here.refusal("may mean that hour before the night, or at its end", remedy)
    if parts.counted and parts.weekdays and parts.months and parts.years is None:
        n = max(k for _, k in parts.weekdays)
        name = listed([WEEKDAY_NAMES[day].lower() for day, k in parts.weekdays if k == n])
        months = listed([MONTH_NAMES[m - 1].lower() for m, _ in parts.months])
        often = "every other" if n == 2 else f"every {n} weeks on"
        trouble = f"may be the {ordinal(n)} {name} of {months}, or every {ordinal(n)} one that falls into it"
        raise here.refusal(trouble, f'Say "the {ordinal(n)} {name} of {months}" or "{often} {name} in {months}"')
    if parts.places and (parts.weekdays or parts.days or parts.without):
        raise here.refusal("names days in two ways", "Say one of them")
    if parts.days and parts.weekdays and not (parts.both or parts.either):
        raise here.refusal("names days in two ways", 'Say "every friday the 13th", or one of them')
    if parts.without and (parts.days or not (parts.weekdays or unit in ("day", *SECONDS))):
        raise here.refusal("leaves out days of what is counted", "Name the days that are meant")
    if named and not (parts.monthly or parts.months or parts.weekdays or unit in ("month", "year")):
        hour = f" at {clock_text(parts.times[0])}" if parts.times else ""
        remedy = f'Say for example "{_placed(parts)} of every month{hour}"'
        raise here.refusal("does not say of which month", remedy)
    if parts.monthly and not named:
        raise here.refusal("does not say which day of the month", 'Say for example "the first monday of every month"')
    _check_step(here, parts, unit=unit, n=parts.step.n if parts.step else 1)


def _placed(parts: Parts) -> str:
    """Name the days of the month: the 3rd, the second and fourth tuesday."""
    if not parts.places:
        return f"the {ordinal(abs(parts.days[0]))}"
    numbers = {n: word for word, n in ORDINALS.items()} | {LAST: "last"}
    weekday = parts.places[0][1]
    which = [numbers[k] for k, day in parts.places if day == weekday]
    return f"the {listed(which)} {WEEKDAY_NAMES[weekday].lower()}"


def _check_step(here: Here, parts: Parts, *, unit: str, n: int) -> None:
    """Refuse days that do not fit an interval of days, weeks, months or years."""
    named = bool(parts.days or parts.places)
    match unit:
        case "day" if named:
            raise here.refusal("names both every day and a day of the month", "Say one of them")
        case "day" if parts.weekdays and (n > 1 or len(parts.weekdays) == 1):
            hour = clock_text(parts.times[0]) if parts.times else "9am"
            remedy = f'Say "every {WEEKDAY_NAMES[parts.weekdays[0][0]].lower()} at {hour}"'
            raise here.refusal("names both every day and a weekday", remedy)
        case "day" if parts.without and n > 1:
            raise here.refusal("leaves out days of what is counted", "Name the days that are meant")
        case "week" if not parts.weekdays or named:
            weeks = "monday" if n == 1 else f"{n} weeks on monday"
            hour = clock_text(parts.times[0]) if parts.times else "9am"
            raise here.refusal("does not say which day", f'Say "every {weeks} at {hour}"')
        case "week" if n > 1 and (parts.without or any(k > 1 for _, k in parts.weekdays)):
            raise here.refusal("counts weeks twice", 'Say "every other monday"')
        case "week" if n > 1 and len({day in _FIRST_HALF for day, _ in parts.weekdays}) > 1:
            remedy = 'Say each: "every other monday and every other friday"'
            raise here.refusal("puts these days into different weeks", remedy)
        case "month" if parts.months:
            day = ordinal(parts.days[0] if parts.days and parts.days[0] > 0 else 1)
            remedy = f'Say "every {n} months on the {day}", or name each month: "every {day} of march and june"'
            raise here.refusal("names both an interval of months and a month", remedy)
        case "month" | "year" if parts.weekdays and not parts.either:
            raise here.refusal("does not say which weekday of the month", 'Say "the first monday of every month"')
        case "month" if n == 3 and (LAST in parts.days or any(k == LAST for k, _ in parts.places)):
            remedy = 'Say "the last day of march, june, september and december"'
            raise here.refusal("may mean the first month of a quarter, or its last", remedy)
        case "year" if named and not parts.months:
            raise here.refusal("does not say which month", 'Say "yearly on march 3"')


_FIRST_HALF: Final = (1, 2, 3)
"""1970 began on a Thursday, so that the nth Monday to Wednesday lie in another week than the nth Thursday to Sunday."""
