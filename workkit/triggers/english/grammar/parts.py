"""The parts of a phrase as the grammar finds them, before their meaning is looked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

from workkit.triggers.english.grammar.words import Unit

LAST: Final = -1
"""The last day of a month, or the last such weekday of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A length of time. Months and days move the calendar, seconds pass."""

    months: int = 0
    days: int = 0
    seconds: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Every `n` of a unit."""

    n: int
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """A date as written; a part that was not written is None."""

    year: int | None = None
    month: int | None = None
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A phrase, taken apart. Times of day in seconds; weekdays 0-6, 0 = Sunday."""

    every: bool = False
    now: bool = False
    instant: datetime | None = None
    """An aware one: a full date with its offset, or epoch seconds."""
    amount: Amount | None = None
    ahead: bool = False
    """"in" or "from now" was written beside the amount."""
    day: int | None = None
    """Days from today."""
    moved: int = 0
    """Days from the named day: 7 in "sunday week", -1 in "the day before christmas"."""
    this: bool = False
    """"this" was written before the weekday, which may be today;"""
    following: bool = False
    """or "next"."""
    week: bool = False
    """of next week"""
    month_ahead: int | None = None
    """of this month (0) or of next month (1)"""
    nearest: bool = False
    """The first of several months to come: the end of the quarter."""
    ending: str | None = None
    """The end of what was named: month, quarter or year."""
    step: Step | None = None
    count: Step | None = None
    """`n` times a unit."""
    times: tuple[int, ...] = ()
    halved: bool = False
    """am or pm was written."""
    bare: bool = False
    """An hour was written as a number alone: at 5."""
    noon: bool = False
    """Noon was written: this 12:00 is not open to a part of the day."""
    day_part: str | None = None
    """morning, afternoon, evening or night"""
    marks: tuple[int, ...] = ()
    """Minutes past each hour."""
    window: tuple[int, int] | None = None
    """First and last second of the day, both included; the first may be the later one."""
    named_end: int | None = None
    """The second that the window's end names, where the window goes beyond it: 17:00 of "9am to 5pm"."""
    weekdays: tuple[tuple[int, int], ...] = ()
    """(weekday, n): every nth such day."""
    counted: bool = False
    """An ordinal stands before the weekday, behind "every": it may count such days, or name one of a month."""
    without: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    """(k, weekday): the kth such day of the month, or the LAST."""
    days: tuple[int, ...] = ()
    """Days of the month, or LAST."""
    either: bool = False
    """Days of the month *or* weekdays, whichever comes."""
    both: bool = False
    """A day of the month that must be the weekday too: friday the 13th."""
    monthly: bool = False
    """of every month"""
    months: tuple[tuple[int, int], ...] = ()
    """(month, n): every nth such month."""
    years: tuple[int, int] | None = None
    from_time: bool = False
    """"starting at" was written before the time of day: it is the phase of an interval."""
    start: Parts | None = None
    """The day, month or year (or instant) in which it begins."""
    end: Parts | None = None
    """... and with which it ends,"""
    before: bool = False
    """or before which."""
    zone: str | None = None
    offset: timedelta | None = None
    """East of UTC, in place of a zone."""
