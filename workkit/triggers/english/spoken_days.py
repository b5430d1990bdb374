"""The date fields of a rule in English: every weekday, on the 1st of every month, every other Sunday in March 2014."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from workkit.text.wording import MONTH_NAMES, WEEKDAY_NAMES, listed, ordinal
from workkit.triggers.crons.cron import Cron
from workkit.triggers.crons.field import FIRST_YEAR, LAST_YEAR, Field, FieldItem, bits
from workkit.triggers.english.words import ORDINALS

_PLACES: Final = {-1: "last"} | {n: word for word, n in ORDINALS.items()}
_MONDAY_FIRST: Final = (1, 2, 3, 4, 5, 6, 0)


COUNTED: Final = ", counted from 1970"
"""Added if the same words without it would align with the clock or the year."""


def counted(part: Field) -> list[tuple[int, int]]:
    """List the v/n of a field as (v, n), without those that a plain value includes."""
    return [(value, n) for value, n in part.occurrences if not part.mask >> value & 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenDays:
    """Days in words: the days (empty: every day), their months and years, and whether a comma must follow."""

    which: str = ""
    where: str = ""
    comma: bool = False


def spoken_days(cron: Cron) -> SpokenDays:
    """Write the four date fields."""
    day, weekday = cron.day, cron.weekday
    all_days, all_week = len(day.values) == 31, len(weekday.values) == 7
    if day.restricted and weekday.restricted and not day.joined:
        every_day = all_days or all_week
    else:
        every_day = all_days and all_week
    years, months = _years(cron.year), _months(cron.month)
    where = " ".join(part for part in (months and f"in {months}", years) if part)
    if months and re.fullmatch(r"in \d+", years):
        where = f"in {months} {years[3:]}"
    if every_day:
        return SpokenDays(where=where)
    if all_days:
        return _of_week(weekday, months=months, years=years, where=where)
    if all_week:
        return _of_month(cron, months=months, years=years, where=where)
    if day.joined:
        return _joined(day, weekday, where=where)
    either = [f"on {_numbers(day)} of the month", *_alternatives(weekday)]
    return SpokenDays(which=" or ".join(either), where=where and f", {where}", comma=True)


def _of_week(weekday: Field, *, months: str, years: str, where: str) -> SpokenDays:
    if not weekday.ordinals:
        return SpokenDays(which=_weekdays(weekday), where=where)
    if weekday.mask or counted(weekday):
        return SpokenDays(which=" or ".join(_alternatives(weekday)), where=where and f", {where}", comma=True)
    return SpokenDays(which=f"on the {_places(weekday)} {_of(months, years)}")


def _of_month(cron: Cron, *, months: str, years: str, where: str) -> SpokenDays:
    """Write days of the month, and in which months."""
    day, month = cron.day, cron.month
    if counted(day) or counted(month):
        return _numbered(day, month, years=years, where=where)
    within = _of(months, years)
    if not months or day.last:
        return SpokenDays(which=f"on {_numbers(day)} {within}")
    if len(day.values) == 1 and len(month.values) == 1:
        return SpokenDays(which=f"every {day.values[0]} {within.removeprefix('of ')}")
    step = 12 // len(month.values)
    if 1 < step < 12 and month.values == list(range(1, 13, step)):
        return SpokenDays(which=f"every {step} months on {_numbers(day)}{years and f' {years}'}")
    return SpokenDays(which=f"every {_numbers(day).removeprefix('the ')} {within}")


def _of(months: str, years: str) -> str:
    """Write the months and years of a day: of every month, of March 2027, of March from 2027 to 2029."""
    plain = re.fullmatch(r"in \d+", years)
    tail = years.removeprefix("in ") if months and plain else years
    return f"of {months or 'every month'}{tail and f' {tail}'}"


def _numbered(day: Field, month: Field, *, years: str, where: str) -> SpokenDays:
    """Write days or months that come every nth time."""
    tail = f" {years}" if years else ""
    days, months = counted(day), counted(month)
    counts = {n for _, n in (*days, *months)}
    n = counts.pop() if len(counts) == 1 else 0
    if n and not month.restricted and not day.mask and not day.last:
        numbers = listed([ordinal(value) for value, _ in sorted(days)])
        if 12 % n:
            return SpokenDays(which=f"every {n} months on the {numbers}{tail}")
        return SpokenDays(which=f"every {n} months on the {numbers}{tail}{COUNTED}", comma=True)
    if n and len(months) == 1 and not days and not month.mask and len(day.values) == 1 and not day.last:
        name = MONTH_NAMES[months[0][0] - 1]
        return SpokenDays(which=f"every {n} years on {day.values[0]} {name}{tail}")
    return SpokenDays(which=f"on {_numbers(day)} of the month", where=where and f", {where}", comma=True)


def _joined(day: Field, weekday: Field, *, where: str) -> SpokenDays:
    single = len(day.values) == 1 and not day.last and not counted(day)
    if single and not weekday.ordinals:
        return SpokenDays(which=f"{_weekdays(weekday)} the {ordinal(day.values[0])}", where=where)
    which = f"on {_numbers(day)} of the month if that is {listed(_alternatives(weekday), 'or')}"
    return SpokenDays(which=which, where=where and f", {where}", comma=True)


def _years(year: Field) -> str:
    """Write years: in 2027, from 2027 to 2029, starting in 2027, in every 2nd year from 2026 on."""
    if not year.restricted or any(i.step == 1 and i.low == FIRST_YEAR and i.high == LAST_YEAR for i in year.items):
        return ""
    if len(year.items) == 1 and year.items[0].step == 1:
        low, high = year.items[0].low, year.items[0].high
        if high == LAST_YEAR and low < high:
            return f"starting in {low}"
        if low == FIRST_YEAR:
            return f"until the end of {high}"
        return f"in {low}" if low == high else f"from {low} to {high}"
    return f"in {listed([_year_item(item) for item in year.items])}"


def _year_item(item: FieldItem) -> str:
    if item.low == item.high:
        return str(item.low)
    if item.step == 1:
        return f"{item.low} to {item.high}"
    return f"every {ordinal(item.step)} year from {item.low} {'on' if item.high == LAST_YEAR else f'to {item.high}'}"


def _months(month: Field) -> str:
    values = month.values
    if not counted(month) and len(values) == 12:
        return ""
    texts = [MONTH_NAMES[value - 1] for value in values]
    if not counted(month) and len(values) > 3 and values == list(range(values[0], values[-1] + 1)):
        return f"{texts[0]} to {texts[-1]}"
    every = [f"every {nth(n)} {MONTH_NAMES[value - 1]}" for value, n in counted(month)]
    return listed([*every, *texts])


def _numbers(day: Field) -> str:
    """Write days of the month: the 1st and 15th, the 1st to 7th, the 15th and last day, every 2nd 28th."""
    texts = runs(day.values, written=ordinal)
    texts[:1] = [f"the {text}" for text in texts[:1]]
    texts += [f"every {nth(n)} {ordinal(value)}" for value, n in counted(day)]
    return listed([*texts, f"{'' if day.values else 'the '}last day"] if day.last else texts)


def runs(values: Sequence[int], *, written: Callable[[int], str] = str) -> list[str]:
    """Write numbers, three or more in a row as a range: 1, 2, 5 to 9."""
    texts: list[str] = []
    found: list[list[int]] = []
    for value in values:
        if found and found[-1][-1] == value - 1:
            found[-1].append(value)
        else:
            found.append([value])
    for run in found:
        texts += [f"{written(run[0])} to {written(run[-1])}"] if len(run) > 2 else map(written, run)
    return texts


def _weekdays(weekday: Field) -> str:
    """Write weekdays: every weekday, every other Sunday and every Wednesday, Monday to Thursday."""
    plain = [day for day in _MONDAY_FIRST if day in weekday.values]
    every = [f"every {nth(n)} {WEEKDAY_NAMES[day]}" for day, n in sorted(counted(weekday), key=_week_order)]
    if not every and len(plain) in (3, 4, 6) and _is_run(plain):
        return f"{WEEKDAY_NAMES[plain[0]]} to {WEEKDAY_NAMES[plain[-1]]}"
    if not plain:
        return listed(every)
    last = {5: "weekday", 7: "day"}.get(len(plain)) if _is_run(plain) else None
    names = [last] if last else [WEEKDAY_NAMES[day] for day in plain]
    if len(names) == 1 or not every:
        return listed([*every, f"every {listed(names)}"])
    return f"{', '.join(every)} and every {listed(names)}"


def _week_order(item: tuple[int, int]) -> int:
    return _MONDAY_FIRST.index(item[0])


def _is_run(days: Sequence[int]) -> bool:
    at = _MONDAY_FIRST.index(days[0])
    return tuple(days) == _MONDAY_FIRST[at : at + len(days)] and (len(days) != 5 or days[0] == 1)


def _places(weekday: Field) -> str:
    """Write weekdays of the month: first Monday, first and third Friday, last Sunday."""
    by_day: dict[int, list[int]] = {}
    for mask, k in weekday.ordinals:
        by_day.setdefault(mask, []).append(k)
    return listed([_place(bits(mask), ks) for mask, ks in by_day.items()])


def _place(days: list[int], ks: list[int]) -> str:
    which = listed([_PLACES.get(k, ordinal(k)) for k in sorted(ks, key=lambda k: (k < 0, k))])
    if len(days) == 1 and max(ks) <= 5:
        return f"{which} {WEEKDAY_NAMES[days[0]]}"
    return f"{which} day that is a {listed([WEEKDAY_NAMES[day] for day in days], 'or')}"


def _alternatives(weekday: Field) -> list[str]:
    """List the weekdays that match as well as a day of the month: any Friday, every other Sunday, the first Monday."""
    found = [f"every {nth(n)} {WEEKDAY_NAMES[day]}" for day, n in counted(weekday)]
    plain = [WEEKDAY_NAMES[day] for day in _MONDAY_FIRST if day in weekday.values]
    found += [f"any {' or '.join(plain)}"] if plain else []
    return [*found, f"the {_places(weekday)} of the month"] if weekday.ordinals else found


def nth(n: int) -> str:
    """Write the ordinal of a step: other, 3rd, 4th."""
    return "other" if n == 2 else ordinal(n)
