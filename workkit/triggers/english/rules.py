"""The fields of a rule for recurring words: hours, minutes and seconds as products, and the date fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from workkit.text.wording import MONTH_NAMES, WEEKDAY_NAMES, clock_text, listed, ordinal
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Spec, field_text
from workkit.triggers.english.here import Here
from workkit.triggers.english.once import HOURS, check_ending
from workkit.triggers.english.reader import LAST, Parts
from workkit.triggers.english.words import ORDINALS, SECONDS, Unit

_ALL: Final = tuple(range(60))
_HOURS: Final = tuple(range(24))
MOST_LISTED: Final = 12
"""The most times of day that a hint lists."""

_SUB_DAY: Final = ("second", "minute", "hour")
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Hours x minutes x seconds; `occurrence` is the n of the one v/n, in the field that `unit` names."""

    hours: tuple[int, ...] = _HOURS
    minutes: tuple[int, ...] = (0,)
    seconds: tuple[int, ...] = (0,)
    unit: str = ""
    occurrence: int = 1

    @property
    def text(self) -> str:
        """The three fields."""
        parts = (("day", self.hours, HOUR), ("hour", self.minutes, MINUTE), ("minute", self.seconds, SECOND))
        return " ".join(self._field(values, spec, unit=unit) for unit, values, spec in parts)

    def _field(self, values: tuple[int, ...], spec: Spec, *, unit: str) -> str:
        if unit == self.unit and self.occurrence > 1:
            return field_text((), spec, nth=[(value, self.occurrence) for value in values])
        return field_text(values, spec)


def clocks(here: Here, parts: Parts) -> list[Clocks]:
    """Return the times of day as a union of products."""
    step = parts.step
    if parts.count is not None:
        parts = _counted(here, parts)
        step = parts.step
    if step is None or step.unit not in _SUB_DAY:
        if parts.window:
            said = f"every hour {here.text.strip()}"
            raise here.refusal("does not say how often in that window", f'Say for example "{said}"', offered=said)
        if parts.marks:
            raise here.refusal("names a minute but no hour", 'Say "every hour at :15", or a full time')
        if parts.day_part and not parts.times:
            said = f"{here.text.strip()} at {HOURS[parts.day_part]}"
            raise here.refusal("does not say which hour", f'Say for example "{said}"', offered=said)
        n = step.n if step is not None and step.unit == "day" else 1
        if n > 1 and not parts.times:
            raise here.refusal("does not say at which hour", f'Say "every {n} days at 9am"')
        return _boxes(parts.times or (0,), occurrence=n)
    if parts.times or parts.day_part:
        raise here.refusal("names both an interval and a time of day", _either(parts))
    base = stepped(here, parts)
    return _windowed(here, parts, base) if parts.window else [base]


def _either(parts: Parts) -> str:
    """Return the advice to keep the interval, in the phase of the hour, or the hour alone."""
    step = parts.step
    if step is None or not parts.times:
        return 'Say one, or an interval in a window: "every hour from 9am to 5pm"'
    hour, often = clock_text(parts.times[0]), step.unit if step.n == 1 else f"{step.n} {step.unit}s"
    if len(parts.times) > 1:
        return f'Say "every day at {listed([clock_text(time) for time in parts.times])}", or the interval alone'
    return f'Say "every {often} starting at {hour}", or "every day at {hour}"'


def _counted(here: Here, parts: Parts) -> Parts:
    """Read "twice a day": at the named times, if their number fits, or evenly from 0:00."""
    count, unit = parts.count, parts.count.unit if parts.count else ""
    assert count is not None
    given = {"day": parts.times, "hour": parts.marks, "week": parts.weekdays, "month": parts.days}.get(unit, ())
    if given:
        if len(given) != count.n:
            raise here.refusal(f"says {count.n} times a {unit} but names {len(given)}", "Make the two agree")
        return parts
    whole = {"day": 24, "hour": 60, "minute": 60}.get(unit)
    if whole is None or (unit == "day" and parts.day_part):
        raise here.refusal(
            "does not say when", f'Name them, for example "every {_EXAMPLES.get(unit, "monday")} at 9am"'
        )
    if whole % count.n:
        raise here.refusal(f"does not divide a {unit} evenly", f"Name the times, or say a number that divides {whole}")
    if unit == "day":
        return replace(parts, times=tuple(hour * 3600 for hour in range(0, 24, 24 // count.n)))
    finer: Unit = "minute" if unit == "hour" else "second"
    return replace(parts, step=replace(count, n=whole // count.n, unit=finer))


_EXAMPLES: Final = {"week": "monday and thursday", "month": "1st and 15th", "year": "1st of march and september"}


def _boxes(times: tuple[int, ...], *, occurrence: int = 1) -> list[Clocks]:
    """Write times of day as products of hours, minutes and seconds, as few as grouping allows."""
    boxes: dict[tuple[int, int], list[int]] = {}
    for time in times:
        boxes.setdefault((time // 60 % 60, time % 60), []).append(time // 3600)
    merged: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for (minute, second), hours in boxes.items():
        merged.setdefault((tuple(sorted(hours)), second), []).append(minute)
    final: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for (in_hours, second), minutes in merged.items():
        final.setdefault((in_hours, tuple(sorted(minutes))), []).append(second)
    return [
        Clocks(hours=h, minutes=m, seconds=tuple(sorted(s)), unit="day", occurrence=occurrence)
        for (h, m), s in final.items()
    ]


def around(seconds: int, wall: int) -> tuple[str, ...]:
    """Write the times of the day in steps of `seconds`, which divide a day, with one at `wall`: as clock fields."""
    return tuple(box.text for box in _boxes(tuple(range(wall % seconds, _DAY, seconds))))


def stepped(here: Here, parts: Parts) -> Clocks:
    """Write an interval of hours, minutes or seconds: clock-aligned if it divides the next unit, else every nth."""
    step = parts.step
    assert step is not None
    n, marks = step.n, parts.marks or (0,)
    if parts.marks and step.unit != "hour":
        each = (
            sorted({minute for mark in marks for minute in range(mark % n, 60, n)}) if step.unit == "minute" else marks
        )
        remedy = f'Say "every hour at {listed([f":{minute:02}" for minute in each])}", or the interval alone'
        raise here.refusal("names minutes of the hour beside an interval of its own", remedy)
    match step.unit:
        case "second":
            return Clocks(minutes=_ALL, seconds=tuple(range(0, 60, n))) if 60 % n == 0 else _coarser(n)
        case "minute":
            if 60 % n:
                return Clocks(minutes=_ALL, unit="minute", occurrence=n)
            return Clocks(minutes=tuple(range(0, 60, n)))
        case _:
            if 24 % n:
                return Clocks(minutes=marks, unit="hour", occurrence=n)
            return Clocks(hours=tuple(range(0, 24, n)), minutes=marks)


def _coarser(seconds: int) -> Clocks:
    """Return the shortest interval that divides its unit and is not shorter. Peers without intervals run this one."""
    if (n := _divisor(60, seconds)) < 60:
        return Clocks(minutes=_ALL, seconds=tuple(range(0, 60, n)))
    if (n := _divisor(60, -(-seconds // 60))) < 60:
        return Clocks(minutes=tuple(range(0, 60, n)))
    if (n := _divisor(24, -(-seconds // 3600))) < 24:
        return Clocks(hours=tuple(range(0, 24, n)))
    return _boxes((0,), occurrence=-(-seconds // _DAY))[0]


def _divisor(whole: int, least: int) -> int:
    """Return the least divisor of `whole` that is not below `least`; `whole` if there is none."""
    return next((n for n in range(least, whole) if whole % n == 0), whole)


def _windowed(here: Here, parts: Parts, base: Clocks) -> list[Clocks]:
    """Return the part of `base` inside the window."""
    assert parts.window is not None
    assert parts.step is not None
    (first, last), step = parts.window, parts.step
    size = {"second": 1, "minute": 60, "hour": 3600}[step.unit] * step.n
    if base.occurrence > 1:
        times = [clock_text(at) for at in range(first, last + 1, size)]
        remedy = "Say an interval that divides an hour: 15, 20 or 30 minutes"
        if 1 < len(times) <= MOST_LISTED:
            remedy += f", or list the times in its place: at {listed(times)}"
        raise here.refusal("does not divide the hours evenly, so it fits no window", remedy)
    if (first - first % 3600 if parts.marks else first) % size:
        at = f"starting at {clock_text(first)}, or at multiples of {step.n} {step.unit}s"
        remedy = "Begin the window at such a multiple, or list the times"
        if first < last < first + MOST_LISTED * size and not (parts.marks or parts.weekdays or parts.days):
            remedy += f': "every day at {listed([clock_text(at) for at in range(first, last + 1, size)])}"'
        raise here.refusal(f"may be counted {at}", remedy)
    if first > last and (parts.weekdays or parts.days or parts.places or parts.without or parts.months or parts.years):
        raise here.refusal(
            "runs past midnight, into a day that may not be meant", "Say two windows, each within its day"
        )
    windows = [(first, last)] if first <= last else [(first, 86_399), (0, last)]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for low, high in windows:
        for hours, minutes, seconds in _split(low, high):
            kept_minutes = tuple(m for m in base.minutes if m in minutes)
            kept_seconds = tuple(s for s in base.seconds if s in seconds)
            kept = [h for h in base.hours if h in hours]
            if kept and kept_minutes and kept_seconds:
                found.setdefault((kept_minutes, kept_seconds), []).extend(kept)
    if not found:
        raise here.refusal("never fires: nothing falls into that window", "Make it wider")
    return [Clocks(hours=tuple(sorted(h)), minutes=m, seconds=s) for (m, s), h in found.items()]


def _split(low: int, high: int) -> list[tuple[range, range, range]]:
    """Split the seconds from `low` to `high` of a day into products of hours, minutes and seconds."""
    found = []
    (h1, m1, s1), (h2, m2, s2) = ((t // 3600, t // 60 % 60, t % 60) for t in (low, high))
    whole = range(60)
    if (low // 60) == (high // 60):
        return [(range(h1, h1 + 1), range(m1, m1 + 1), range(s1, s2 + 1))]
    if s1:
        found.append((range(h1, h1 + 1), range(m1, m1 + 1), range(s1, 60)))
        h1, m1 = divmod(low // 60 + 1, 60)
    if s2 < 59:
        found.append((range(h2, h2 + 1), range(m2, m2 + 1), range(s2 + 1)))
        h2, m2 = divmod(high // 60 - 1, 60)
    if h1 * 60 + m1 > h2 * 60 + m2:
        return found
    if h1 == h2:
        return [*found, (range(h1, h1 + 1), range(m1, m2 + 1), whole)]
    if m1:
        found.append((range(h1, h1 + 1), range(m1, 60), whole))
        h1 += 1
    if m2 < 59:
        found.append((range(h2, h2 + 1), range(m2 + 1), whole))
        h2 -= 1
    return [*found, (range(h1, h2 + 1), whole, whole)] if h1 <= h2 else found


_MORNING: Final = 6 * 3600  # a night ends here


def dates(here: Here, parts: Parts) -> str:
    """Write the four date fields."""
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
    """Refuse parts that exclude each other."""
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
"""Monday to Wednesday. 1970 began on a Thursday, so their nth days are in another week than the nth of other days."""
