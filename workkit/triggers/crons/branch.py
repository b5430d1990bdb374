"""One conjunction of a cron string, searched without ever walking seconds, minutes or hours.

A cron string is a union of branches. In a branch every field is either a plain set of values or exactly one `v/n`,
so that each `v/n` becomes a congruence: on years (month and day-of-month), or on days (the rest). The search leaps
between days that fulfil all congruences and days that fulfil the calendar, until a day fulfils both. A congruence
(r, p) is every whole number x with x mod p == r; occurrences are numbered 1, 2, 3, ... from 1970-01-01T00:00:00.

All numbers are counted from 1970-01-01T00:00:00 of the caller's clock. This module ignores zones.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cache, lru_cache
from itertools import pairwise
from math import gcd, lcm
from typing import TypeAlias

from workkit.triggers.crons.field import FIRST_YEAR, LAST_YEAR, bits

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
LAST_DAY = date(LAST_YEAR, 12, 31).toordinal() - _EPOCH_ORDINAL
DAY_SECONDS = 86_400
# After 400 years the calendar repeats, weekdays included.
_CALENDAR_DAYS = 146_097

LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
ALL_DAYS = (1 << 32) - 2
_FIT = tuple((1 << size + 1) - 2 for size in range(32))
_EVERY_SEVENTH = sum(1 << 7 * week for week in range(6))


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySet:
    """Days of any month: `days` and `last` by number, `weekdays` and `ordinals` by weekday.

    A day matches if either holds, or, if `joined`, if both hold.
    """

    days: int = 0
    last: bool = False
    weekdays: int = 0
    ordinals: tuple[tuple[int, int], ...] = ()
    joined: bool = False

    def mask(self, size: int, first: int) -> int:
        """Return as bits the days of a month of `size` days; its 1st is weekday `first` (0 = Sunday)."""
        fit = _FIT[size]
        found = self.days | (1 << size if self.last else 0)
        if self.weekdays or self.ordinals:
            week = (self.weekdays * _EVERY_SEVENTH >> first) << 1
            for weekdays, k in self.ordinals:
                week |= _ordinal_day((weekdays * _EVERY_SEVENTH >> first) << 1 & fit, k)
            found = found & week if self.joined else found | week
        return found & fit

    def possible(self, month: int) -> bool:
        """Return whether this month has one of these days in any year."""
        sizes = (28, 29) if month == 2 else (LENGTHS[month],)
        return any(self.mask(size, first) for size in sizes for first in range(7))

    @property
    def of_week(self) -> int:
        """The weekdays outside which no day can lie; 0 if there is no such bound."""
        if not self.joined and (self.days or self.last):
            return 0
        bound = self.weekdays
        for weekdays, _ in self.ordinals:
            bound |= weekdays
        return bound


def month_length(year: int, month: int) -> int:
    """Count the days of a month."""
    return 28 + isleap(year) if month == 2 else LENGTHS[month]


def _ordinal_day(mask: int, k: int) -> int:
    if k < 0:
        return 1 << mask.bit_length() - 1 if mask else 0
    for _ in range(k - 1):
        mask &= mask - 1
    return mask & -mask


@lru_cache(maxsize=512)
def _at_or_after(mask: int) -> tuple[int, ...]:
    """Tabulate, for 0 to 60, the lowest set bit at or after it; -1 where there is none."""
    table = [-1] * 61
    for below, value in pairwise([-1, *bits(mask)]):
        table[below + 1 : value + 1] = [value] * (value - below)
    return tuple(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One conjunction: see the module. `period` and `residues` give the days that the congruences allow.

    `hour_step`, `minute_step` are the n of a `v/n` in the minute and the second field: one an hour, one a minute.
    """

    years: range | tuple[int, ...]
    months: int
    days: DaySet
    hours: int
    minutes: int
    seconds: int
    period: int = 1
    residues: tuple[int, ...] = (0,)
    hour_step: int = 1
    minute_step: int = 1
    _year_set: range | frozenset[int] = field(init=False, repr=False, compare=False)
    _tables: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] = field(init=False, repr=False, compare=False)
    _known: list[tuple[int, int | None]] = field(init=False, repr=False, compare=False)
    _month: list[tuple[int, int, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        years = self.years
        object.__setattr__(self, "_year_set", years if isinstance(years, range) else frozenset(years))
        object.__setattr__(self, "_tables", tuple(map(_at_or_after, (self.hours, self.minutes, self.seconds))))
        object.__setattr__(self, "_known", [(0, -1)])
        object.__setattr__(self, "_month", [(0, 0, 0)])

    def next(self, wall: int) -> int | None:
        """Find the first second at or after `wall` that matches.

        Keeps the last answer, which holds for every second from the argument to the answer. So, of many branches,
        only those with a past answer search again.
        """
        since, known = self._known[0]
        if since <= wall and (known is None or wall <= known):
            return known
        found = self._search(wall)
        self._known[0] = (wall, found)
        return found

    def _search(self, wall: int) -> int | None:
        today, rest = divmod(wall, DAY_SECONDS)
        day = self._day(today)
        if day == today:
            second = self._time(day, rest)
            if second is not None:
                return day * DAY_SECONDS + second
            day = self._day(today + 1)
        while day is not None:
            second = self._time(day, 0)
            if second is not None:
                return day * DAY_SECONDS + second
            day = self._day(day + 1)
        return None

    def _day(self, day: int) -> int | None:
        """Find the first matching day at or after `day`."""
        found = self._calendar_day(day)
        if self.period == 1 or found is None:
            return found
        limit = LAST_DAY if self._year_set != _EVERY_YEAR else day + lcm(self.period, _CALENDAR_DAYS)
        while found is not None and found <= limit:
            day = self._aligned_day(found)
            if day == found:
                return found
            found = self._calendar_day(day)
        return None

    def _aligned_day(self, day: int) -> int:
        turn, residue = divmod(day, self.period)
        place = bisect_left(self.residues, residue)
        if place < len(self.residues):
            return turn * self.period + self.residues[place]
        return (turn + 1) * self.period + self.residues[0]

    def _calendar_day(self, day: int) -> int | None:
        if day > LAST_DAY:
            return None
        begin, end, mask = self._month[0]
        if not begin <= day < end:
            begin, end, mask = self._month[0] = self._month_of(day)
        left = mask >> day - begin
        if left:
            return day + (left & -left).bit_length() - 1
        last = date.fromordinal(day + _EPOCH_ORDINAL)
        for year, month in self._months(last.year, last.month):
            first = date(year, month, 1).toordinal()
            left = self.days.mask(month_length(year, month), first % 7)
            if left:
                return first - _EPOCH_ORDINAL + (left & -left).bit_length() - 2
        return None

    def _month_of(self, day: int) -> tuple[int, int, int]:
        """Return the first day of a day's month, the first of the next month, and the matching days as bits."""
        start = date.fromordinal(day + _EPOCH_ORDINAL)
        begin, size = day - start.day + 1, month_length(start.year, start.month)
        matches = self.months >> start.month & 1 and start.year in self._year_set
        return begin, begin + size, self.days.mask(size, (begin + 4) % 7) >> 1 if matches else 0

    def _months(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        """Yield the months of the branch after this one."""
        if year in self._year_set:
            for later in bits(self.months >> month + 1 << month + 1):
                yield year, later
        every = bits(self.months)
        for place in range(bisect_left(self.years, year + 1), len(self.years)):
            year = self.years[place]
            for later in every:
                yield year, later

    def _time(self, day: int, rest: int) -> int | None:
        """Find the first second of `day` at or after `rest` that matches."""
        hours, minutes, seconds = self._tables
        hour, rest = divmod(rest, 3600)
        minute, second = divmod(rest, 60)
        if self.hour_step > 1 or self.minute_step > 1:
            return self._counted_time(day, hour, minute, second)
        found = hours[hour]
        if found == hour:
            late = minutes[minute]
            if late == minute:
                last = seconds[second]
                if last >= 0:
                    return hour * 3600 + minute * 60 + last
                late = minutes[minute + 1]
            if late >= 0:
                return hour * 3600 + late * 60 + seconds[0]
            found = hours[hour + 1]
        return found * 3600 + minutes[0] * 60 + seconds[0] if found >= 0 else None

    def _counted_time(self, day: int, hour: int, minute: int, second: int) -> int | None:
        for late in bits(self.hours >> hour << hour):
            if (day * 24 + late + 1) % self.hour_step:
                continue
            if late > hour:
                minute = second = 0
            # A minute's number is its index plus one. This is the offset of the first firing minute in the hour.
            for m in range(-((day * 24 + late) * 60 + 1) % self.minute_step, 60, self.minute_step):
                if m < minute or not self.minutes >> m & 1:
                    continue
                last = self._tables[2][second if m == minute else 0]
                if last >= 0:
                    return late * 3600 + m * 60 + last
        return None


_EVERY_YEAR = range(FIRST_YEAR, LAST_YEAR + 1)


Congruence: TypeAlias = tuple[int, int]

ALWAYS: Congruence = (0, 1)
Years: TypeAlias = range | tuple[int, ...]
_THURSDAY = 4  # 1970-01-01


def weeks(weekday: int, n: int) -> Congruence:
    """Return the congruence on days of every nth such weekday, which comes once a week."""
    first = (weekday - _THURSDAY) % 7
    return (first + 7 * (n - 1)) % (7 * n), 7 * n


def alignment(days: Congruence | None, *, weekdays: int, clock: list[Congruence]) -> tuple[int, tuple[int, ...]] | None:
    """Return the days that can hold a firing, as a period and residues; None if there is no such day.

    `clock` is (bit set, n) of hour, minute and second: an nth minute value comes once an hour, an nth second value
    once a minute. `weekdays` is the bit set of allowed weekdays, 0 for no bound.
    """
    (hours, _), (minutes, hour_step), (_, minute_step) = clock
    found = {days}
    if hour_step > 1 or minute_step > 1:
        found = {both(days, slot) for slot in _slots(hours, minutes, hour_step, minute_step)}
    if weekdays and found != {(0, 1)}:
        found = {both(one, ((w - _THURSDAY) % 7, 7)) for one in found for w in bits(weekdays)}
    allowed = sorted(one for one in found if one is not None)
    if not allowed:
        return None
    return allowed[0][1], tuple(residue for residue, _ in allowed)


def _slots(hours: int, minutes: int, hour_step: int, minute_step: int) -> Iterator[Congruence | None]:
    """Yield the days on which an hour, or a minute of it, has a number that its step divides."""
    for hour in bits(hours):
        fits = _solve(24, -(hour + 1), n=hour_step)
        if fits is None or minute_step == 1:
            yield fits
            continue
        for minute in bits(minutes):
            yield both(fits, _solve(1440, -(hour * 60 + minute + 1), n=minute_step))


def month_days(years: Years, months: int, day: int, n: int) -> Iterator[tuple[Years, int]]:
    """Yield the years, for each month, of every nth such day of the month. It comes once in each month that has it."""
    if day == 29:
        yield from _leap_days(years, months, n)
        return
    having = [month for month in range(1, 13) if LENGTHS[month] >= day]
    for place, month in enumerate(having, 1):
        if months >> month & 1 and (fits := _solve(len(having), -place, n=n)) is not None:
            yield narrow(years, fits, origin=FIRST_YEAR), 1 << month


def _leap_days(years: Years, months: int, n: int) -> Iterator[tuple[Years, int]]:
    """Yield the years, for each month, of every nth 29th. Leap years prevent a congruence, so a list of all is used."""
    picked: dict[int, list[int]] = {month: [] for month in bits(months)}
    within = years if isinstance(years, range) else frozenset(years)
    for month, year in _twenty_ninths()[n - 1 :: n]:
        if month in picked and year in within:
            picked[month].append(year)
    for month, found in picked.items():
        yield tuple(found), 1 << month


@cache
def _twenty_ninths() -> list[tuple[int, int]]:
    """Return (month, year) of every 29th, in order."""
    every_year, leap = [m for m in range(1, 13) if m != 2], list(range(1, 13))
    return [(m, y) for y in range(FIRST_YEAR, LAST_YEAR + 1) for m in (leap if isleap(y) else every_year)]


def leap_only(years: Years, months: int, days: DaySet) -> Years:
    """Return the years without those that cannot be leap years, if 29 February is the only day left."""
    if months != 1 << 2 or any(days.mask(28, first) for first in range(7)):
        return years
    return narrow(years, (1972 - FIRST_YEAR, 4), origin=FIRST_YEAR)


def _solve(a: int, b: int, *, n: int) -> Congruence | None:
    """Solve a·x ≡ b (mod n) for x; None if there is no solution."""
    common, period, inverse = _inverse(a, n)
    return None if b % common else (b // common * inverse % period, period)


@lru_cache(maxsize=256)
def _inverse(a: int, n: int) -> tuple[int, int, int]:
    """Divide a and n by their greatest common divisor. Return it, the reduced n, and the inverse of the reduced a."""
    common = gcd(a, n)
    return common, n // common, pow(a // common, -1, n // common)


def both(one: Congruence | None, two: Congruence | None) -> Congruence | None:
    """Return the numbers that fulfil both (the Chinese remainder); None if there are none."""
    if one is None or two is None:
        return None
    (r, p), (s, q) = one, two
    if p == 1 or q == 1:
        return two if p == 1 else one
    found = _solve(p, s - r, n=q)
    return None if found is None else (r + p * found[0], lcm(p, q))


def narrow(numbers: Years, keep: Congruence, *, origin: int) -> Years:
    """Keep those of the ascending `numbers` that have a distance from `origin` which fulfils `keep`."""
    residue, period = keep
    if not isinstance(numbers, range):
        return tuple(x for x in numbers if (x - origin) % period == residue)
    if not numbers:
        return numbers
    met = both(((numbers.start - origin) % numbers.step, numbers.step), keep)
    if met is None:
        return range(0)
    first = numbers.start + (met[0] + origin - numbers.start) % met[1]
    return range(first, numbers.stop, met[1])
