"""One conjunction of a cron string, searched without ever walking seconds, minutes or hours.

A cron string is a union of branches. In a branch every field is either a plain set of values or exactly one `v/n`,
so that each `v/n` becomes a congruence: on years (month and day-of-month), or on days (the rest). Days that fulfil
all congruences on days and days that fulfil the calendar are then met by leaps from one to the other.

All numbers are counted from 1970-01-01T00:00:00 of the clock that the caller uses; knows nothing of zones.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import pairwise
from math import lcm

from workkit.triggers.crons.field import FIRST_YEAR, LAST_YEAR, bits

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
LAST_DAY = date(LAST_YEAR, 12, 31).toordinal() - EPOCH_ORDINAL
DAY_SECONDS = 86_400
# After 400 years the calendar repeats, weekdays included.
CALENDAR_DAYS = 146_097

LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
ALL_DAYS = (1 << 32) - 2
_FIT = tuple((1 << size + 1) - 2 for size in range(32))
_EVERY_SEVENTH = sum(1 << 7 * week for week in range(6))


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySet:
    """Days of any month: `days` and `last` by number, `weekdays` and `ordinals` by weekday.

    Either is enough, or, if `joined`, both must hold.
    """

    days: int = 0
    last: bool = False
    weekdays: int = 0
    ordinals: tuple[tuple[int, int], ...] = ()
    joined: bool = False

    def mask(self, size: int, first: int) -> int:
        """List as bits the days of a month of `size` days whose 1st is weekday `first` (0 = Sunday)."""
        fit = _FIT[size]
        found = self.days | (1 << size if self.last else 0)
        if self.weekdays or self.ordinals:
            week = (self.weekdays * _EVERY_SEVENTH >> first) << 1
            for weekdays, k in self.ordinals:
                week |= _ordinal_day((weekdays * _EVERY_SEVENTH >> first) << 1 & fit, k)
            found = found & week if self.joined else found | week
        return found & fit

    def possible(self, month: int) -> bool:
        """Tell whether any such month, of any year, has one of these days."""
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
    """One conjunction: see the module. `period` and `residues` say which days the congruences allow.

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

        The last answer is kept: it holds for every second from the one asked about to itself, so that of many
        branches only those that are over search again.
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
        limit = LAST_DAY if self._year_set != _EVERY_YEAR else day + lcm(self.period, CALENDAR_DAYS)
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
        last = date.fromordinal(day + EPOCH_ORDINAL)
        for year, month in self._months(last.year, last.month):
            first = date(year, month, 1).toordinal()
            left = self.days.mask(month_length(year, month), first % 7)
            if left:
                return first - EPOCH_ORDINAL + (left & -left).bit_length() - 2
        return None

    def _month_of(self, day: int) -> tuple[int, int, int]:
        """Give the first day of a day's month, that of the next, and which days match, the first as bit 0."""
        start = date.fromordinal(day + EPOCH_ORDINAL)
        begin, size = day - start.day + 1, month_length(start.year, start.month)
        matches = self.months >> start.month & 1 and start.year in self._year_set
        return begin, begin + size, self.days.mask(size, (begin + 4) % 7) >> 1 if matches else 0

    def _months(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        """Walk the months of the branch after the one given."""
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
            # The number of a minute is one more than its index, so the first of this hour to fire is this far in.
            for m in range(-((day * 24 + late) * 60 + 1) % self.minute_step, 60, self.minute_step):
                if m < minute or not self.minutes >> m & 1:
                    continue
                last = self._tables[2][second if m == minute else 0]
                if last >= 0:
                    return late * 3600 + m * 60 + last
        return None


_EVERY_YEAR = range(FIRST_YEAR, LAST_YEAR + 1)
