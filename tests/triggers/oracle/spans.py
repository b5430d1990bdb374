"""Families of lengths, intervals, windows and bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from tests.triggers.oracle.evaluator import (
    DAY,
    HOUR,
    MINUTE,
    Calendar,
    Days,
    Elapsed,
    Length,
    Reading,
    Starting,
    any_day,
    every_nth_day,
    nth_of_month,
    of_month,
    on_date,
    stepped,
    weekdays,
)
from tests.triggers.oracle.phrases import ONE_HOUR, Phrase, ordered, refused

NUMBERS = {"1": 1, "2": 2, "5": 5, "five": 5, "twenty": 20, "45": 45, "90": 90, "100": 100, "365": 365}
LENGTHS: dict[str, Length] = {
    "2 hours and 30 minutes": Length(seconds=9_000),
    "2 hours 30 minutes": Length(seconds=9_000),
    "1h30m": Length(seconds=5_400),
    "1 hour, 5 minutes and 10 seconds": Length(seconds=3_910),
    "an hour and a half": Length(seconds=5_400),
    "two and a half hours": Length(seconds=9_000),
    "half an hour": Length(seconds=1_800),
    "a quarter of an hour": Length(seconds=900),
    "1.5 hours": Length(seconds=5_400),
    "an hour": Length(seconds=3_600),
    "a minute": Length(seconds=60),
    "90 secs": Length(seconds=90),
    "10m": Length(seconds=600),
    "36 hours": Length(seconds=129_600),
    "2 days and 3 hours": Length(days=2, seconds=10_800),
    "a fortnight": Length(days=14),
    "a week": Length(days=7),
    "2 weeks and 1 day": Length(days=15),
    "1 year and 2 months": Length(months=14),
    "1 month, 2 days and 5 minutes": Length(months=1, days=2, seconds=300),
}


def lengths() -> Iterator[Phrase]:
    """Give lengths of time from now: "in 2 hours and 30 minutes", "in 3 days at 9am"."""
    for number, n in NUMBERS.items():
        units = {
            "second": Length(seconds=n),
            "minute": Length(seconds=n * MINUTE),
            "hour": Length(seconds=n * HOUR),
            "day": Length(days=n),
            "week": Length(days=7 * n),
            "month": Length(months=n),
            "year": Length(months=12 * n),
        }
        for unit, length in units.items():
            words = f"{number} {unit}{'s' * (n > 1)}"
            for text in (f"in {words}", words, f"{words} from now"):
                yield Phrase(text, length)
            if not length.seconds:
                for at, (second, *_) in ONE_HOUR.items():
                    yield Phrase(f"in {words} {at}", Length(length.months, length.days, at=second))
                    yield Phrase(f"{at} in {words}", Length(length.months, length.days, at=second), sure=False)
    for words, length in LENGTHS.items():
        for text in (f"in {words}", words, f"{words} from now"):
            yield Phrase(text, length)
    yield from refused("""
        in 5 | in a few minutes | in -5 minutes | in 2 hours at 9am | in 5 minutes 2 hours | 1.5 days | in half a day
        in 0 minutes | in five | in 1,000 seconds | in 5 minutes in 2 hours | 5 minutes ago | in 99999999999 years
    """)


def counted(n: int, unit: int, larger: int) -> Reading:
    """Every n of a unit: aligned with the clock where n divides the larger unit, else every nth one since 1970."""
    if larger % (n * unit) == 0:
        return Calendar(any_day, range(0, DAY, n * unit))
    return Elapsed(n * unit, 0 if unit == 1 else n * unit - unit)


NAMED_INTERVALS: dict[str, Reading] = {
    **dict.fromkeys(
        ("every fifteen minutes", "every quarter of an hour", "4 times an hour"), counted(15, MINUTE, HOUR)
    ),
    **dict.fromkeys(
        ("every half hour", "every half an hour", "twice an hour", "every 0.5 hours"), counted(30, MINUTE, HOUR)
    ),
    **dict.fromkeys(("hourly", "each hour", "once an hour", "24 times a day"), counted(1, HOUR, DAY)),
    **dict.fromkeys(("every other hour", "every second hour", "every 2nd hour"), counted(2, HOUR, DAY)),
    **dict.fromkeys(("every 1h30m", "every hour and a half", "every 1.5 hours"), counted(90, MINUTE, HOUR)),
    **dict.fromkeys(("twice a day", "twice daily", "2 times a day"), counted(12, HOUR, DAY)),
    **dict.fromkeys(("three times a day", "thrice a day"), counted(8, HOUR, DAY)),
    **dict.fromkeys(("every other minute", "every second minute"), counted(2, MINUTE, HOUR)),
    "4 times a minute": counted(15, 1, MINUTE),
    "every 120 seconds": counted(2, MINUTE, HOUR),
    "every 5400 seconds": counted(90, MINUTE, HOUR),
    "every 7200 seconds": counted(2, HOUR, DAY),
}
MARKS = {
    15: (":15", "15 past", "quarter past"),
    30: (":30", "half past"),
    50: (":50", "10 to", "ten to"),
    5: (":05", "5 past", "5 minutes past"),
}
BESIDE: dict[str, Days] = {
    "on weekdays": weekdays(0, 1, 2, 3, 4),
    "on mondays": weekdays(0),
    "in march": on_date(3, range(1, 32)),
    "on the 1st of every month": of_month(1),
}


def intervals() -> Iterator[Phrase]:
    """Give intervals of time, those that divide their unit and those that do not, and marks of the hour."""
    for unit, names, larger, numbers in (
        (1, ("second", "sec"), MINUTE, (1, 2, 5, 7, 10, 13, 15, 30, 45, 60, 90, 100)),
        (MINUTE, ("minute", "min"), HOUR, (1, 2, 3, 4, 5, 7, 10, 12, 15, 20, 25, 30, 45, 60, 90, 100, 250)),
        (HOUR, ("hour", "hr"), DAY, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24, 36, 48, 100)),
    ):
        for n in numbers:
            whole = unit == 1 and n == 60
            for name in names:
                words = f"{n} {name}s" if n > 1 else name
                reading = counted(1, MINUTE, HOUR) if whole else counted(n, unit, larger)
                yield Phrase(f"every {words}", reading)
                yield Phrase(f"each {words}", reading, sure=n == 1)
    for text, reading in NAMED_INTERVALS.items():
        yield Phrase(text, reading)
    for minute, marks in MARKS.items():
        reading = Calendar(any_day, range(minute * MINUTE, DAY, HOUR))
        for mark in marks:
            for hour in ("every hour", "hourly", "each hour"):
                yield from ordered(reading, hour, f"at {mark}")
    for n, texts in {
        2: ("2nd day", "2 days", "other day"),
        3: ("3rd day", "3 days"),
        10: ("10th day", "10 days"),
    }.items():
        for text in texts:
            yield Phrase(f"every {text}", None)
            for at, seconds in ONE_HOUR.items():
                yield from ordered(Calendar(every_nth_day(n), seconds), f"every {text}", at, sure=2)
    for beside, days in BESIDE.items():
        for n in (5, 15, 20, 30):
            yield from ordered(Calendar(days, range(0, DAY, n * MINUTE)), f"every {n} minutes", beside)
        for text, n in {"hourly": 1, "every hour": 1, "every 2 hours": 2, "every 6 hours": 6}.items():
            yield from ordered(Calendar(days, range(0, DAY, n * HOUR)), text, beside)
    yield from refused("""
        every 0 hours | every 0.5 seconds | every half day | every week | every fortnight | every 2 weeks
        biweekly | weekly
        every 90 seconds on weekdays | every 5 minutes at :15 | every hour at 9am | 5 times a day | every second second
        every -5 minutes | every few minutes | every 5 | every 5 minutes every hour | 7 times an hour
        every 3 days in march
    """)


WINDOWS: dict[str, tuple[int, int, bool]] = {  # the first and the last minute, and whether all of the last hour counts
    "from 9am to 5pm": (540, 1020, True),
    "between 9am and 5pm": (540, 1020, True),
    "between 9 and 17": (540, 1020, True),
    "from 09:00 to 17:00": (540, 1020, True),
    "9am-5pm": (540, 1020, True),
    "from 9am until 5pm": (540, 1020, False),
    "from 8am till noon": (480, 720, False),
    "from 8am to noon": (480, 720, True),
    "from 8:30 to 16:30": (510, 990, False),
    "from 8:30 until 16:30": (510, 990, False),
    "between 9am and 11:30am": (540, 690, False),
    "from 10pm to 2am": (1320, 120, True),
    "between 22:00 and 02:00": (1320, 120, True),
}
WITHIN: dict[str, Days] = {
    "on weekdays": weekdays(0, 1, 2, 3, 4),
    "every monday": weekdays(0),
    "on weekends": weekdays(5, 6),
}


WINDOWS_OF_PARTS: dict[str, range] = {
    "every hour from 8 in the morning until 6 in the evening": range(480, 1081, 60),
    "every hour from 8 in the morning to 6 in the evening": range(480, 1081, 60),
    "every 30 minutes between 9 in the morning and 5 in the afternoon": range(540, 1080, 30),
    "every 30 minutes from 9am until 5 in the afternoon": range(540, 1021, 30),
    "every hour from 8 to 10 in the evening": range(1200, 1321, 60),
    "every hour from 8 until 10 every evening": range(1200, 1321, 60),
    "every evening every hour from 8 until 10": range(1200, 1321, 60),
    "every 15 minutes from 8 until 10 in the evening": range(1200, 1321, 15),
    "every 15 minutes from 8pm until 10 in the evening": range(1200, 1321, 15),
    "every 15 minutes in the evening from 8pm until 10pm": range(1200, 1321, 15),
    "every hour in the morning from 8 until 11": range(480, 661, 60),
    "every hour between 1 and 5 in the afternoon": range(780, 1021, 60),
    "every hour between 1 and 5 every afternoon": range(780, 1021, 60),
    "every 20 minutes every afternoon from 2 until 4": range(840, 961, 20),
    "at 8 in the evening every hour from 8 until 10": range(0),
    "every hour in the evening": range(0),
    "every 15 minutes every evening": range(0),
    "every hour at night": range(0),
    "every 2 hours on friday evening": range(0),
    "every hour from 9am to 5pm in the evening": range(0),
}


def windows() -> Iterator[Phrase]:
    """Give intervals within a window: its whole last hour counts after "to" and "between", not after "until"."""
    for window, (first, last, whole) in WINDOWS.items():
        end, over = last + 59 if whole else last, last < first
        for n in (5, 20, 30, 60, 120):
            minutes = [*range(0, end + 1, n), *range(first, 1440, n)] if over else range(first, end + 1, n)
            begins = first % n == 0  # an interval begins with its window, or is refused
            seconds = tuple(minute * MINUTE for minute in minutes)
            every = {60: "every hour", 120: "every 2 hours"}.get(n, f"every {n} minutes")
            yield from ordered(Calendar(any_day, seconds) if begins else None, every, window)
            for text, days in WITHIN.items():
                yield from ordered(Calendar(days, seconds) if begins and not over else None, every, window, text)
    for text, minutes in WINDOWS_OF_PARTS.items():
        yield Phrase(text, Calendar(any_day, tuple(minute * MINUTE for minute in minutes)), sure=False)
    yield from refused("""
        every hour from 9 to 5 | every day from 9am to 5pm | from 9am to 5pm | every hour from 9:30am to 5pm
        every hour from 9am | every 7 minutes between 9am and 5pm | every hour from 6pm to midnight
        every 20 minutes from 9:10am to 3:15pm | every 90 seconds from 9am to 5pm | every hour between 9am
        every hour from 9am to 9am to 5pm | every hour between 9 and 5
    """)


PHASES: dict[str, Reading] = {
    "every 6 hours starting at 3am": Calendar(any_day, range(3 * HOUR, DAY, 6 * HOUR)),
    "every 2 hours starting at 9am": Calendar(any_day, range(1 * HOUR, DAY, 2 * HOUR)),
    "every 15 minutes starting at 9:05": Calendar(any_day, range(5 * MINUTE, DAY, 15 * MINUTE)),
    "every hour beginning at 9:30": Calendar(any_day, range(30 * MINUTE, DAY, HOUR)),
    "hourly starting at 9:30": Calendar(any_day, range(30 * MINUTE, DAY, HOUR)),
    "every 45 minutes starting at 9am": Calendar(any_day, range(0, DAY, 45 * MINUTE)),
    "every 90 minutes starting at 8:15": Calendar(any_day, range(45 * MINUTE, DAY, 90 * MINUTE)),
    "every 20 minutes starting at 8am": Calendar(any_day, range(0, DAY, 20 * MINUTE)),
    "every 2 hours starting 2029-01-01": Calendar(any_day, range(0, DAY, 2 * HOUR), first=date(2029, 1, 1)),
    "every 2 hours starting 2029-01-01 at 9am": Starting(date(2029, 1, 1), 9 * HOUR, 2 * HOUR, wall=True),
    "every 15 minutes starting 2029-01-01 at 9:05": Starting(date(2029, 1, 1), 9 * HOUR + 300, 15 * MINUTE, wall=True),
    "every 7 hours starting 2029-01-01 at 3am": Starting(date(2029, 1, 1), 3 * HOUR, 7 * HOUR),
    "every 7 hours starting 2029-01-01": Starting(date(2029, 1, 1), 0, 7 * HOUR),
    "every 36 hours starting 3 march 2030 at 9am": Starting(date(2030, 3, 3), 9 * HOUR, 36 * HOUR),
    "every 50 minutes starting 2029-06-01 at 10:10": Starting(date(2029, 6, 1), 10 * HOUR + 600, 50 * MINUTE),
    "every 90 seconds starting 2029-06-01 at 10:10": Starting(date(2029, 6, 1), 10 * HOUR + 600, 90),
    "every 3 days starting 2029-01-01 at 9am": Calendar(stepped(3, date(2029, 1, 1)), (9 * HOUR,)),
    "every other day starting 2029-01-02 at noon": Calendar(stepped(2, date(2029, 1, 2)), (12 * HOUR,)),
    "every 10 days at 18:00 starting 5 may 2029": Calendar(stepped(10, date(2029, 5, 5)), (18 * HOUR,)),
    "every 2 weeks on monday at 9am starting 2029-01-01": Calendar(stepped(14, date(2029, 1, 1)), (9 * HOUR,)),
    "every 2 weeks on monday at 9am starting 2029-01-03": Calendar(stepped(14, date(2029, 1, 8)), (9 * HOUR,)),
    "every 3 weeks on friday starting 2029-01-01": Calendar(stepped(21, date(2029, 1, 5)), (0,)),
    "every 2 weeks starting 2029-01-03 at 9am": Calendar(stepped(14, date(2029, 1, 3)), (9 * HOUR,)),
    "every 2 weeks starting 4 january 2029": Calendar(stepped(14, date(2029, 1, 4)), (0,)),
}


def phases() -> Iterator[Phrase]:
    """Give intervals whose start chooses where they are counted from."""
    for text, reading in PHASES.items():
        every, word, start = re.split(" (starting|beginning) ", text)
        yield Phrase(text, reading)
        yield Phrase(f"{word} {start} {every}", reading, sure=False)
    yield from refused("""
        every 7 hours starting at 3am | every 90 seconds from 3am | every 7 seconds at 9am | every 2 hours starting
        every 6 hours starting at 3am and 4am | every 100 minutes starting at 9am | every 3 days starting at
        every 2 weeks starting at 9am
    """)


BASES: dict[str, tuple[Days, tuple[int, ...] | range]] = {
    "every day at 9am": (any_day, (9 * HOUR,)),
    "every weekday at 18:00": (weekdays(0, 1, 2, 3, 4), (18 * HOUR,)),
    "every monday at noon": (weekdays(0), (12 * HOUR,)),
    "every day except sunday at 9am": (weekdays(0, 1, 2, 3, 4, 5), (9 * HOUR,)),
    "on the 1st of every month at 9am": (of_month(1), (9 * HOUR,)),
    "every first friday of march at 9am": (nth_of_month([1], 4, [3]), (9 * HOUR,)),
    "every 30 minutes": (any_day, range(0, DAY, 30 * MINUTE)),
}
DATED: dict[str, tuple[date, date]] = {
    "until 2029-03-01": (date.min, date(2029, 3, 1)),
    "through 2029-03-01": (date.min, date(2029, 3, 1)),
    "before 2029-03-01": (date.min, date(2029, 2, 28)),
    "until 3 march 2029": (date.min, date(2029, 3, 3)),
    "until the end of 2029": (date.min, date(2029, 12, 31)),
    "until the end of march 2029": (date.min, date(2029, 3, 31)),
    "starting 2030-01-01": (date(2030, 1, 1), date.max),
    "starting on 15 january 2030": (date(2030, 1, 15), date.max),
    "beginning 2030-05-10": (date(2030, 5, 10), date.max),
    "from 2029-12-10": (date(2029, 12, 10), date.max),
    "from 2029-12-10 to 2029-12-12": (date(2029, 12, 10), date(2029, 12, 12)),
    "starting 2030-01-01 until 2030-01-02": (date(2030, 1, 1), date(2030, 1, 2)),
    "in 2030": (date(2030, 1, 1), date(2030, 12, 31)),
    "from 2029 to 2031": (date(2029, 1, 1), date(2031, 12, 31)),
}
SOON = {"until 2026-12-15": (date.min, date(2026, 12, 15)), "before 2026-11-20": (date.min, date(2026, 11, 19))}


def bounds() -> Iterator[Phrase]:
    """Give what recurs with a first or a last day, before it or behind it."""
    for base, (days, seconds) in BASES.items():
        for bound, (first, last) in {**DATED, **SOON}.items():
            reading = Calendar(days, seconds, first=first, last=last)
            yield from ordered(reading, base, bound, sure=0 if "month" in base or "march" in base else 1)
            every, _, at = base.partition(" at ")
            if at:
                yield from ordered(reading, every, f"at {at}", bound, sure=0)
    for n, first in ((2, date(2029, 1, 1)), (3, date(2030, 5, 5)), (10, date(2029, 7, 1))):
        for order in ("{every} {at} {start}", "{at} {every} {start}", "{start} {every} {at}"):
            words = order.format(every=f"every {n} days", at="at 9am", start=f"starting {first}")
            yield Phrase(words, Calendar(stepped(n, first), (9 * HOUR,)), sure=order.startswith("{every}"))
    fortnight = Calendar(stepped(14, date(2029, 1, 1)), (9 * HOUR,))
    yield from ordered(fortnight, "every 2 weeks on monday", "at 9am", "starting 2029-01-01")
    yield from refused("""
        every day until 2028 | every day at 9am until march | every day at 9am until 2026-11-01
        every day from 2028 to 2027 | every day until 2027-01-31 starting 2027-02-01 | until tomorrow
        starting at 9am | every day at 9am from 1 march to 15 march
        every day until | every day at 9am until until 2029 | every day starting | every 5 minutes until 5pm
    """)
