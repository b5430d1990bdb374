"""Families of days: places in a month, days of the week, exceptions and dates, each with hours around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache

from tests.triggers.oracle.evaluator import (
    HOUR,
    Calendar,
    Days,
    ahead,
    any_day,
    both,
    but,
    every_nth,
    next_weekday,
    nth_of_month,
    of_month,
    on_date,
    weekdays,
    within,
)
from tests.triggers.oracle.phrases import HOURS, NAMES, ONE_HOUR, Phrase, hourly, listed, once, ordered, refused

ORDINALS: dict[str, Sequence[int]] = {
    "first": [1], "second": [2], "third": [3], "fourth": [4], "fifth": [5], "last": [-1],
    "1st": [1], "2nd": [2], "3rd": [3], "4th": [4], "5th": [5],
    "first and third": [1, 3], "2nd and 4th": [2, 4], "1st and last": [1, -1], "first, second and third": [1, 2, 3],
}  # fmt: skip
MONTHS: dict[str, Sequence[int]] = {
    "march": [3],
    "november": [11],
    "may": [5],
    "march and september": [3, 9],
    "jan, apr and oct": [1, 4, 10],
    "june & dec": [6, 12],
    "march, june, september": [3, 6, 9],
    "february, may, august, and november": [2, 5, 8, 11],
}
# {n} is the ordinal with its weekday, {m} are the months, {at} is the hour. The Nth of those months, each year.
OF_MONTHS = """
every {n} of {m} {at} | each {n} of {m} {at} | the {n} of {m} {at} | on the {n} of {m} {at} | {n} of {m} {at}
{at} every {n} of {m} | {at} on the {n} of {m} | {at} each {n} of {m} | {n} in {m} {at} | on the {n} in {m} {at}
every year on the {n} of {m} {at} | each year on the {n} of {m} {at} | the {n} of {m} every year {at}
{n} of {m} each year {at} | {at} every year on the {n} of {m}
? yearly on the {n} of {m} {at} | ? annually {at} on the {n} of {m}
? every {n} of {m}, {at} | ? {at}, every {n} of {m} | ? every {n} {at} of {m} | ? {at} of {m} every {n}
? of {m} every {n} {at}
? every {n} of {m} every year {at} | ? every year every {n} of {m} {at} | ? every year {at} on the {n} in {m}
? on {n}s of {m} {at}
"""
IN_MONTHS = """
every {n} in {m} {at} | {at} every {n} in {m} | each {n} in {m} {at} | every {n} {at} in {m} | every {n} during {m} {at}
"""


def weekdays_of_months() -> Iterator[Phrase]:
    """Give "every third friday of march at 18:00": the third one of that month, each year.

    "Every third friday in march" has two readings, and is refused; "every first friday in march" has one.
    """
    hours = {"": (0,), **HOURS}
    for number, (ordinal, nth) in enumerate(ORDINALS.items()):
        for turn, (months, numbers) in enumerate(MONTHS.items()):
            weekday, at = (number + turn) % 7, list(hours)[(number + turn) % len(hours)]
            reading = Calendar(nth_of_month(nth, weekday, numbers), hours[at])
            words = {"n": f"{ordinal} {NAMES[weekday]}", "m": months, "at": at}
            for place, (text, sure) in enumerate(listed(OF_MONTHS)):
                if (place + number + turn) % 3 == 0:
                    yield Phrase(_filled(text, words), reading, sure)
            twofold = len(nth) == 1 and nth[0] in (2, 3, 4, 5)
            for text, _ in listed(IN_MONTHS):
                yield Phrase(_filled(text, words), None if twofold else reading, sure=twofold)
    yield from refused("""
        every third weekday of march | 6th friday of march | third friday of march of june | every 0th monday of may
        every third friday of the march | the third of friday of march | every third friday march friday
    """)


def _filled(text: str, words: dict[str, str]) -> str:
    return " ".join(text.format_map(words).split()).strip(" ,").replace(" ,", ",")


def weekdays_of_every_month() -> Iterator[Phrase]:
    """Give "the first monday of every month at 9am", in several orders."""
    for number, (ordinal, nth) in enumerate(ORDINALS.items()):
        for weekday in (number % 7,):
            place, days = f"{ordinal} {NAMES[weekday]}", nth_of_month(nth, weekday)
            texts = (f"the {place} of the month", f"on the {place} of every month", f"every {place} of the month")
            yield from hourly(days, *texts, f"every month on the {place}", f"monthly on the {place}", hours=ONE_HOUR)
            for at, seconds in ONE_HOUR.items():
                yield Phrase(f"{place} of each month {at}", Calendar(days, seconds))
                yield Phrase(f"every month {at} on the {place}", Calendar(days, seconds), sure=False)
                yield Phrase(f"the {place} {at} of every month", Calendar(days, seconds), sure=False)
                yield Phrase(f"{place} {at} every month", Calendar(days, seconds), sure=False)
    yield from refused("first monday | last friday at noon | last weekday of the month | 6th monday of the month")


def every_nth_weekday() -> Iterator[Phrase]:
    """Give "every 2nd monday" without a month: it counts from 1970."""
    words = {2: ("2nd", "second", "other"), 3: ("3rd", "third"), 4: ("4th", "fourth"), 5: ("5th",)}
    for n, ordinals in words.items():
        for ordinal in ordinals:
            for weekday, name in enumerate(NAMES):
                yield from hourly(every_nth(n, weekday), f"every {ordinal} {name}", hours=ONE_HOUR)
    for weekday, name in enumerate(NAMES):
        days = every_nth(2, weekday)
        texts = (f"every 2 weeks on {name}", f"every other week on {name}", f"fortnightly on {name}")
        yield from hourly(days, *texts, hours=ONE_HOUR)
        yield from ordered(Calendar(days, (9 * HOUR,)), "every 2 weeks", f"on {name}", "at 9am")
    yield from hourly(every_nth(2, 5, 6), "every other weekend", "every second weekend")
    yield from hourly(
        lambda day, today: every_nth(2, 6)(day, today) or day.weekday() == 2, "every 2nd sunday and every wednesday"
    )
    march = both(every_nth(2, 6), within(date(2029, 3, 1), date(2029, 3, 31)))
    yield Phrase("every 2nd sunday of march 2029 at 9am", Calendar(march, (9 * HOUR,)))  # as the published example
    yield from refused("""
        every first monday | every last friday at 9am | every other weekday | every other monday and thursday
        every 2 weeks on monday and friday | every 2 weeks | every week | every fortnight at 9am
    """)


SETS: dict[str, Sequence[int]] = {
    "monday": [0],
    "tue": [1],
    "thurs": [3],
    "mon, wed and fri": [0, 2, 4],
    "tuesday and thursday": [1, 3],
    "monday, wednesday, and friday": [0, 2, 4],
    "sat & sun": [5, 6],
    "weekday": [0, 1, 2, 3, 4],
    "weekend": [5, 6],
    "weekday and saturday": [0, 1, 2, 3, 4, 5],
    "monday to friday": [0, 1, 2, 3, 4],
    "friday to monday": [0, 4, 5, 6],
    "mon-thu": [0, 1, 2, 3],
    "monday to wednesday and saturday": [0, 1, 2, 5],
    "monday and every thursday": [0, 3],
}
PLURALS: dict[str, Sequence[int]] = {
    "mondays": [0],
    "tuesdays and thursdays": [1, 3],
    "mondays, wednesdays and sundays": [0, 2, 6],
    "weekdays": [0, 1, 2, 3, 4],
    "weekends": [5, 6],
    "weekdays and sundays": [0, 1, 2, 3, 4, 6],
    "monday to thursday": [0, 1, 2, 3],
    "tue-sat": [1, 2, 3, 4, 5],
    "thursday through saturday": [3, 4, 5],
    "sunday to tuesday": [6, 0, 1],
    "mon thru fri": [0, 1, 2, 3, 4],
}


def days_of_the_week() -> Iterator[Phrase]:
    """Give weekdays, lists and ranges of them, before and behind the hour, and beside months."""
    for text, numbers in SETS.items():
        days = weekdays(*numbers)
        march = both(days, on_date((3, 6), range(1, 32)))
        yield from hourly(days, f"every {text}", f"each {text}")
        yield from ordered(Calendar(march, (9 * HOUR,)), f"every {text}", "in march and june", "at 9am")
    for text, numbers in PLURALS.items():
        days = weekdays(*numbers)
        february = both(days, on_date(2, range(1, 32)))
        yield from hourly(days, text, f"on {text}")
        yield from ordered(Calendar(days, (9 * HOUR,)), "every day", f"on {text}", "at 9am", sure=0)
        yield from ordered(Calendar(february, (18 * HOUR,)), f"on {text}", "in february", "at 18:00")
    yield from hourly(any_day, "every day", "daily", "each day", "once a day", "everyday")
    for number, name in enumerate(NAMES):
        texts = (f"every week on {name}", f"weekly on {name}", f"once a week on {name}")
        yield from hourly(weekdays(number), *texts, hours=ONE_HOUR)
        yield from once(next_weekday(number), name, f"next {name}", f"on {name}")
    yield from refused("""
        monday and thursday at noon | mon, wed and fri at 9am | every weekday on saturday | every day on monday
        every monday on tuesdays at 9 | monday or tuesday at noon | every monday at | every monday at 9 at 10 | weekend
    """)


WHOLE: dict[str, Sequence[int]] = {
    "every day": range(7),
    "daily": range(7),
    "every weekday": range(5),
    "weekdays": range(5),
    "monday to saturday": range(6),
}
LEFT_OUT: dict[str, Sequence[int]] = {
    "sunday": [6],
    "friday": [4],
    "mondays": [0],
    "monday and tuesday": [0, 1],
    "weekends": [5, 6],
    "wed, thu and fri": [2, 3, 4],
}


def exceptions() -> Iterator[Phrase]:
    """Give days without some: "every day except sunday at 9am"."""
    for whole, numbers in WHOLE.items():
        for left, excepted in LEFT_OUT.items():
            days, among = but(weekdays(*numbers), weekdays(*excepted)), {*excepted} <= {*numbers}
            for word in ("except", "but not"):
                yield from hourly(days, f"{whole} {word} {left}", sure=among, hours=ONE_HOUR)
            yield from ordered(Calendar(days, (9 * HOUR,)), whole, "at 9am", f"except {left}", sure=among)
            winter = both(days, on_date((1, 2), range(1, 32)))
            yield from ordered(
                Calendar(winter, (9 * HOUR,)), whole, f"except {left}", "at 9am", "in january and february", sure=0
            )
    yield from refused("""
        every weekday except weekdays | every day except sunday except monday | every day except
        every month except sundays | every monday except monday | except sunday | except sunday at 9am
        every day except 9am | every day except march
    """)


DATES: dict[str, Days] = {
    "march 3": on_date(3, 3),
    "3 march": on_date(3, 3),
    "3rd of march": on_date(3, 3),
    "mar 3rd": on_date(3, 3),
    "24 december": on_date(12, 24),
    "dec 24th": on_date(12, 24),
    "feb 29": on_date(2, 29),
    "31 jan": on_date(1, 31),
    "first of may": on_date(5, 1),
}
FULL_DATES: dict[str, date] = {
    "3 march 2029": date(2029, 3, 3),
    "march 3, 2029": date(2029, 3, 3),
    "2029-03-03": date(2029, 3, 3),
    "2030/12/31": date(2030, 12, 31),
    "the 1st of july 2029": date(2029, 7, 1),
    "feb 29 2032": date(2032, 2, 29),
    "15-may-2031": date(2031, 5, 15),
    "friday 3 march 2034": date(2034, 3, 3),
    "first monday of may 2029": date(2029, 5, 7),
    "the last friday of march 2029": date(2029, 3, 30),
    "last day of february 2032": date(2032, 2, 29),
}
EVERY_MONTH: dict[str, Sequence[int]] = {
    "every 1st and 15th": [1, 15],
    "every 5th, 10th and 20th": [5, 10, 20],
    "on the 15th of every month": [15],
    "the 1st and 15th of the month": [1, 15],
    "every month on the 3rd": [3],
    "monthly on the 31st": [31],
    "every 30th of the month": [30],
    "1st of each month": [1],
    "last day of the month": [-1],
    "on the last day of every month": [-1],
    "on the 15th and last day of every month": [15, -1],
    "the 1st to 7th of every month": [1, 2, 3, 4, 5, 6, 7],
    "first day of every month": [1],
    "monthly": [1],
    "every month": [1],
}


def dates() -> Iterator[Phrase]:
    """Give dates with and without a year, days of the month, and what comes back each month or year."""
    for text, days in DATES.items():
        yield from once(days, text, f"on {text}")
        yield from hourly(days, f"every year on {text}", f"yearly on {text}", f"every {text}", hours=ONE_HOUR)
        yield from hourly(days, f"{text} every year", f"annually on {text}", f"on {text} each year", hours=ONE_HOUR)
        yield from ordered(Calendar(days, (18 * HOUR,)), "every year", f"on {text}", "at 18:00")
    for text, day in FULL_DATES.items():
        yield from once(within(day, day), text, f"on {text}")
    for text, numbers in EVERY_MONTH.items():
        yield from hourly(of_month(*numbers), text)
    for number, text in ((3, "the 3rd"), (31, "on the 31st"), (20, "20th"), (1, "the 1st")):
        yield from once(of_month(number), text)
    yield from once(ahead(1), "tomorrow")
    yield from once(ahead(2), "the day after tomorrow", "day after tomorrow")
    yield from hourly(both(of_month(-1), on_date((3, 6, 9, 12), (30, 31))), "the last day of every quarter")
    yield from hourly(on_date((1, 4, 7, 10), 1), "quarterly", "every quarter", "every 3 months")
    yield from hourly(on_date(3, 1), "every march", "every 1st of march")
    yield from hourly(on_date((3, 6), 5), "every march and june on the 5th", "every year on the 5th of march and june")
    yield from hourly(on_date(12, (24, 25)), "every december 24 and 25", "every year on 24 and 25 december")
    yield from ordered(Calendar(of_month(15), (18 * HOUR,)), "every month", "on the 15th", "at 18:00")
    yield from hourly(both(of_month(13), weekdays(4)), "every friday the 13th")
    yield from refused("""
        31 april | feb 30 | march 32 | 2027-02-29 | 2029-13-01 | the 32nd | 3 march 2020 | 2025-01-01 at 9am
        monday 3 march 2034 | the 1st and 15th at noon | every 15th | every 31st at 9am | every feb 30
        every monday on the 15th | 12/25/2029 | 01/02/2029 | friday the 13th | the 15th in 2029
        tomorrow today | yesterday | tomorrow at 9am at 10am | first of next | 0th of may
    """)


HOLIDAYS = {"christmas": (12, 25), "christmas eve": (12, 24), "boxing day": (12, 26), "new year's eve": (12, 31)}
HOLIDAYS |= {"new year's day": (1, 1), "halloween": (10, 31), "valentine's day": (2, 14), "xmas": (12, 25)}


def next_of(days: Days) -> Days:
    """Take the first day after today that these days have, and no other."""

    @cache
    def first(today: date) -> date:
        return next(later for n in range(1, 3_000) if days(later := today + timedelta(days=n), today))

    return lambda day, today: day == first(today)


def moved(days: Days, by: int) -> Days:
    """Take the days that lie so many days after the given ones."""
    return lambda day, today: days(day - timedelta(days=by), today)


def relative_days() -> Iterator[Phrase]:
    """Give days that are named from today, from a weekday or from a date, and those of this month and of the next."""
    for number, name in ((0, "monday"), (4, "friday"), (5, "saturday")):
        weekday = next_of(weekdays(number))
        yield from once(weekday, f"this {name}", f"coming {name}", sure=False)
        for days, texts in {
            7: (
                f"{name} week",
                f"a week from {name}",
                f"1 week after {name}",
                f"a week on {name}",
                f"7 days after {name}",
            ),
            14: (f"2 weeks from {name}", f"a fortnight on {name}", f"two weeks after {name}", f"14 days from {name}"),
            3: (f"3 days after {name}", f"3 days from {name}"),
            1: (f"the day after {name}", f"1 day after {name}"),
        }.items():
            yield from once(moved(weekday, days), *texts, sure=False)
    for days, texts in {
        7: ("a week from today", "today week", "7 days from today"),
        8: ("a week from tomorrow", "tomorrow week"),
        2: ("the day after tomorrow", "the day after tomorrow"),
        4: ("3 days from tomorrow", "3 days after tomorrow"),
    }.items():
        yield from once(ahead(days), *texts)
    for name, (month, number) in HOLIDAYS.items():
        day = on_date(month, number)
        yield from once(day, name, f"on {name}", f"next {name}", sure="next" not in name)
        yield from hourly(day, f"every {name}", hours=ONE_HOUR)
        yield from once(next_of(moved(day, -2)), f"2 days before {name}", sure=False)
        yield from once(next_of(moved(day, 1)), f"the day after {name}", sure=False)
    following: dict[str, Days] = {
        "1st of next month": lambda day, today: day.day == 1 and _months(today, day) == 1,
        "start of next month": lambda day, today: day.day == 1 and _months(today, day) == 1,
        "next month on the 3rd": lambda day, today: day.day == 3 and _months(today, day) == 1,
        "on the 15th of next month": lambda day, today: day.day == 15 and _months(today, day) == 1,
        "last day of next month": lambda day, today: of_month(-1)(day, today) and _months(today, day) == 1,
        "first monday of next month": lambda day, today: nth_of_month([1], 0)(day, today) and _months(today, day) == 1,
        "last day of this month": lambda day, today: of_month(-1)(day, today) and _months(today, day) == 0,
    }
    for text, among in following.items():
        yield from once(among, text)
    for text, among in {
        "end of the month": of_month(-1),
        "end of next month": lambda day, today: of_month(-1)(day, today) and _months(today, day) == 1,
        "end of march": on_date(3, 31),
        "end of the year": lambda day, today: (day.year, day.month, day.day) == (today.year, 12, 31),
    }.items():
        yield Phrase(text, None)  # at which hour?
        for at, seconds in ONE_HOUR.items():
            yield Phrase(f"{text} {at}", Calendar(among, seconds, once=True))
            yield Phrase(f"{at} {text}", Calendar(among, seconds, once=True), sure=False)
    yield from refused("""
        next week | next month | this week | today | next weekend | monday after next | yesterday at 9am
        the day before yesterday | friday yesterday | a week from | tomorrow at 9am today | in 2 days tomorrow
        end of friday
    """)


def _months(today: date, day: date) -> int:
    return (day.year - today.year) * 12 + day.month - today.month
