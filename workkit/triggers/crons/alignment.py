"""Which days and years the `v/n` of a cron string allow: every nth occurrence, as congruences.

Occurrences are numbered 1, 2, 3, ... from 1970-01-01T00:00:00 (spec/cron.md). Days and years are counted from 1970.
A congruence (r, p) is every whole number x with x mod p == r.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Iterator
from functools import cache, lru_cache
from math import gcd, lcm
from typing import TypeAlias

from workkit.triggers.crons.branch import LENGTHS, DaySet
from workkit.triggers.crons.field import FIRST_YEAR, LAST_YEAR, bits

Congruence: TypeAlias = tuple[int, int]

ALWAYS: Congruence = (0, 1)
Years: TypeAlias = range | tuple[int, ...]
THURSDAY = 4  # 1970-01-01


def weeks(weekday: int, n: int) -> Congruence:
    """Every nth such weekday, which comes once a week."""
    first = (weekday - THURSDAY) % 7
    return (first + 7 * (n - 1)) % (7 * n), 7 * n


def alignment(days: Congruence | None, *, weekdays: int, clock: list[Congruence]) -> tuple[int, tuple[int, ...]] | None:
    """The days that can hold a firing, as a period and residues; None where there is no such day.

    `clock` is (bit set, n) of hour, minute and second: an nth minute value comes once an hour, an nth second value
    once a minute. `weekdays` is a bit set outside which no day can lie, 0 for no bound.
    """
    (hours, _), (minutes, hour_step), (_, minute_step) = clock
    found = {days}
    if hour_step > 1 or minute_step > 1:
        found = {both(days, slot) for slot in _slots(hours, minutes, hour_step, minute_step)}
    if weekdays and found != {(0, 1)}:
        found = {both(one, ((w - THURSDAY) % 7, 7)) for one in found for w in bits(weekdays)}
    allowed = sorted(one for one in found if one is not None)
    if not allowed:
        return None
    return allowed[0][1], tuple(residue for residue, _ in allowed)


def _slots(hours: int, minutes: int, hour_step: int, minute_step: int) -> Iterator[Congruence | None]:
    """On which days an hour, or a minute of it, has a number that its step divides."""
    for hour in bits(hours):
        fits = solve(24, -(hour + 1), n=hour_step)
        if fits is None or minute_step == 1:
            yield fits
            continue
        for minute in bits(minutes):
            yield both(fits, solve(1440, -(hour * 60 + minute + 1), n=minute_step))


def month_days(years: Years, months: int, day: int, n: int) -> Iterator[tuple[Years, int]]:
    """Every nth such day of the month, which comes once in each month that has it: the years for each month."""
    if day == 29:
        yield from _leap_days(years, months, n)
        return
    having = [month for month in range(1, 13) if LENGTHS[month] >= day]
    for place, month in enumerate(having, 1):
        if months >> month & 1 and (fits := solve(len(having), -place, n=n)) is not None:
            yield narrow(years, fits, origin=FIRST_YEAR), 1 << month


def _leap_days(years: Years, months: int, n: int) -> Iterator[tuple[Years, int]]:
    """Every nth 29th: leap years forbid a congruence, so they are picked from a list of all."""
    picked: dict[int, list[int]] = {month: [] for month in bits(months)}
    within = years if isinstance(years, range) else frozenset(years)
    for month, year in _twenty_ninths()[n - 1 :: n]:
        if month in picked and year in within:
            picked[month].append(year)
    for month, found in picked.items():
        yield tuple(found), 1 << month


@cache
def _twenty_ninths() -> list[tuple[int, int]]:
    """(month, year) of every 29th, in order."""
    every_year, leap = [m for m in range(1, 13) if m != 2], list(range(1, 13))
    return [(m, y) for y in range(FIRST_YEAR, LAST_YEAR + 1) for m in (leap if isleap(y) else every_year)]


def leap_only(years: Years, months: int, days: DaySet) -> Years:
    """Leave out years that cannot be leap years, where nothing but 29 February is left."""
    if months != 1 << 2 or any(days.mask(28, first) for first in range(7)):
        return years
    return narrow(years, (1972 - FIRST_YEAR, 4), origin=FIRST_YEAR)


def solve(a: int, b: int, *, n: int) -> Congruence | None:
    """Solve a·x ≡ b (mod n) for x; None where no x does."""
    common, period, inverse = _inverse(a, n)
    return None if b % common else (b // common * inverse % period, period)


@lru_cache(maxsize=256)
def _inverse(a: int, n: int) -> tuple[int, int, int]:
    """Divide a and n by what they have in common, and find the inverse of what is left of a."""
    common = gcd(a, n)
    return common, n // common, pow(a // common, -1, n // common)


def both(one: Congruence | None, two: Congruence | None) -> Congruence | None:
    """Find the numbers that fulfil both (the Chinese remainder); None where none does."""
    if one is None or two is None:
        return None
    (r, p), (s, q) = one, two
    if p == 1 or q == 1:
        return two if p == 1 else one
    found = solve(p, s - r, n=q)
    return None if found is None else (r + p * found[0], lcm(p, q))


def narrow(numbers: Years, keep: Congruence, *, origin: int) -> Years:
    """Keep those of the ascending `numbers` whose distance from `origin` fulfils `keep`."""
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
