"""Families of phrases in which an hour and a part of the day stand in every order.

The rules are those of `spec/phrases.md` 3.3: a part of the day belongs to the hour wherever its words stand, the night
is 18:00 to 6:00, an hour that the part does not have is refused, and so are the small hours of one named night.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from tests.triggers.oracle.evaluator import (
    HOUR,
    MINUTE,
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
from tests.triggers.oracle.phrases import Phrase, listed, ordered


class Spoken(NamedTuple):
    """An hour as it is written: on the clock of 12 hours or of 24, or noon and midnight."""

    text: str
    hour: int
    minute: int = 0
    clock: int = 12
    usual: bool = True  # False: "08:30" of the evening, which may be refused

    @property
    def alone(self) -> bool:
        """Tell whether it is a number only, which is no time without "at"."""
        return self.text in {*map(str, range(25)), "eight", "seven"}


SPOKEN = [
    *[Spoken(str(hour), hour) for hour in range(1, 13)],
    *[Spoken("eight", 8), Spoken("8 o'clock", 8), Spoken("eleven o'clock", 11), Spoken("two o'clock", 2)],
    *[Spoken("8:30", 8, 30), Spoken("5:45", 5, 45), Spoken("6:30", 6, 30), Spoken("12:30", 12, 30)],
    *[Spoken("half past one", 1, 30), Spoken("half past 7", 7, 30), Spoken("quarter past six", 6, 15)],
    *[Spoken("quarter to nine", 8, 45), Spoken("a quarter to twelve", 11, 45), Spoken("ten minutes to 1", 12, 50)],
    *[Spoken("twenty past ten", 10, 20), Spoken("5 minutes to 3", 2, 55), Spoken("7.15", 7, 15, usual=False)],
    *[Spoken("08:30", 8, 30, usual=False), Spoken("06:15", 6, 15, usual=False), Spoken("0:30", 0, 30, 24)],
    *[Spoken("8am", 8, 0, 24), Spoken("11:30 am", 11, 30, 24), Spoken("2am", 2, 0, 24), Spoken("12am", 0, 0, 24)],
    *[Spoken("8pm", 20, 0, 24), Spoken("7:30pm", 19, 30, 24), Spoken("1 p.m.", 13, 0, 24), Spoken("12pm", 12, 0, 24)],
    *[Spoken("20:00", 20, 0, 24), Spoken("23:45", 23, 45, 24), Spoken("17:15", 17, 15, 24), Spoken("14:00", 14, 0, 24)],
    *[Spoken("noon", 12, 0, 0), Spoken("midnight", 0, 0, 0)],
]

_HAVE = {  # the hours that a part of the day has, as they are said on the clock of 12 hours
    "morning": {hour: hour for hour in range(1, 12)},
    "afternoon": {12: 12, **{hour: hour + 12 for hour in range(1, 7)}},
    "evening": {hour: hour + 12 for hour in range(5, 12)},
    "night": {12: 0, **{hour: hour for hour in range(1, 6)}, **{hour: hour + 12 for hour in range(6, 12)}},
}
_OPEN = {"morning": {12: 0}, "afternoon": {}, "evening": {4: 16}, "night": {}}  # may be read so, or refused
_DAY_HOURS = {"morning": range(12), "afternoon": range(12, 18), "evening": range(17, 24)}
_OPEN_HOURS = {"morning": (), "afternoon": (18,), "evening": (16,), "night": (17,)}
_SMALL = 6 * HOUR  # the hours before it end a night that began on the day before


def second_in(part: str, spoken: Spoken) -> tuple[int | None, bool]:
    """Give the second of the day at which this hour of the part is, None if it has none, and whether that is sure."""
    hour, minute = spoken.hour, spoken.minute
    if spoken.clock == 0:  # noon and midnight
        if hour == 12:
            return (12 * HOUR, False) if part == "afternoon" else (None, True)
        return (None, True) if part == "afternoon" else (0, part == "night")
    if spoken.clock == 24:
        has = _DAY_HOURS.get(part, {*range(18, 24), *range(6)})
        if hour not in has and hour not in _OPEN_HOURS[part]:
            return None, True
        return hour * HOUR + minute * MINUTE, hour in has
    found = (_HAVE[part] | _OPEN[part]).get(hour)
    if found is None:
        return None, True
    sure = spoken.usual and hour in _HAVE[part] and not (part == "afternoon" and hour == 6 and minute)
    return found * HOUR + minute * MINUTE, sure


PARTS = ("morning", "afternoon", "evening", "night")
FRIDAY = 4

# {h} is the hour, {at} is the hour with "at", {p} is the part of the day, {in} is "in the evening" or "at night".
DAILY = """
{at} every {p} | every {p} {at} | each {p} {at} | {at} each {p} | {at} {in} every day | every day {at} {in}
daily {at} {in} | {h} {in} every day | ? {in} {at} every day | ? every day {in} {at} | ? {at} daily {in}
? {in} every day {at}
? {h} every {p} | ? every {p} {h} | ? {at} every day {in} | ? each day {in} {at} | ? {at}, every {p} | ? every {p}, {at}
"""
NIGHTLY = "nightly {at} | {at} nightly | ? {h} nightly | ? nightly {h}"
WEEKLY = """
every friday {p} {at} | {at} every friday {p} | {at} {in} every friday | every friday {at} {in} | {h} {in} every friday
? {h} every friday {p} | ? every friday {in} {at} | ? on fridays {at} {in} | ? friday {p}s {at} | ? {at} {in} on fridays
? {at} on friday {p}s | ? every {p} {at} on fridays | ? {at} every {p} on fridays | ? each friday {p} {at}
"""
WORKING = """
every weekday {p} {at} | {at} every weekday {p} | {at} {in} on weekdays | every weekday {at} {in} | weekday {p}s {at}
? on weekdays {at} {in} | ? weekdays {at} {in} | ? {at} on weekday {p}s | ? every {p} {at} on weekdays
"""
TOMORROW = """
tomorrow {p} {at} | {at} tomorrow {p} | tomorrow {at} {in} | {at} {in} tomorrow | {h} {in} tomorrow
? {h} tomorrow {p} | ? {in} {at} tomorrow | ? tomorrow {in} {at}
"""
FRIDAYS = """
friday {p} {at} | {at} friday {p} | on friday {at} {in} | {at} {in} on friday | ? {h} friday {p} | ? friday {in} {at}
? next friday {p} {at}
"""
TODAY = "this {p} {at} | {at} this {p} | ? {h} this {p} | ? today {at} {in} | ? {at} {in} today"
TONIGHT = "{at} tonight | tonight {at} | {h} tonight | ? tonight {h} | ? tonight, {at}"
NEXT = "{at} {in} | {h} {in} | ? {in} {at}"
DATED = """
on march 3 {at} {in} | {at} {in} on march 3 | ? march 3 {in} {at} | ? {h} {in} on 3 march
"""


def told(orders: str, part: str, spoken: Spoken) -> Iterator[tuple[str, bool]]:
    """Write the hour and the part in each of these orders, with whether that order must be understood."""
    where = "at night" if part == "night" else f"in the {part}"
    at = spoken.text if spoken.text == "noon" else f"at {spoken.text}"
    for words, sure in listed(orders):
        bare = spoken.alone and "{h}" in words and "{h} {in}" not in words and "{h} tonight" not in words
        yield words.format_map({"h": spoken.text, "at": at, "p": part, "in": where}), sure and not bare


def _family(
    orders: str, days: Days, *, once: bool = False, named: bool = False, parts: Sequence[str] = PARTS, share: int = 1
) -> Iterator[Phrase]:
    """Tell the hours in each part of the day. The small hours of one `named` night are refused.

    With a `share` of 2 every order has half of the hours, which take turns.
    """
    for part in parts:
        for number, spoken in enumerate(SPOKEN):
            second, known = second_in(part, spoken)
            if named and part in ("night", "evening") and second is not None and second < _SMALL:
                second, known = None, True
            reading = None if second is None else Calendar(days, (second,), once)
            for turn, (text, sure) in enumerate(told(orders, part, spoken)):
                if (turn + number) % share == 0:
                    yield Phrase(text, reading, known and sure)


def every_part() -> Iterator[Phrase]:
    """Give "at 8 every evening" in every order."""
    yield from _family(DAILY, any_day, share=3)
    yield from _family(NIGHTLY, any_day, parts=["night"])


def parts_of_weekdays() -> Iterator[Phrase]:
    """Give "at 10 every friday evening" in every order."""
    yield from _family(WEEKLY, weekdays(FRIDAY), named=True, share=3)
    yield from _family(WORKING, weekdays(0, 1, 2, 3, 4), named=True, share=3)


def parts_of_one_day() -> Iterator[Phrase]:
    """Give "8 tonight" and "tomorrow evening at 8" in every order."""
    yield from _family(TOMORROW, ahead(1), once=True, named=True, share=3)
    yield from _family(FRIDAYS, next_weekday(FRIDAY), once=True, named=True, share=3)
    yield from _family(TODAY, ahead(0), once=True, named=True, parts=["afternoon", "evening"], share=2)
    yield from _family(DATED, on_date(3, 3), once=True, named=True, share=3)
    yield from _family(NEXT, any_day, once=True, share=2)
    for spoken in SPOKEN:
        second, sure = second_in("night", spoken)
        reading = None if second is None or second < _SMALL else Calendar(ahead(0), (second,), once=True)
        if second == 0:  # the midnight to come, where the phrase says midnight
            reading, sure = Calendar(ahead(1), (0,), once=True), spoken.text == "midnight"
        for text, known in told(TONIGHT, "night", spoken):
            yield Phrase(text, reading, sure and known)


LISTED: dict[
    str, dict[str, Sequence[int]]
] = {  # several hours of one part of the day; none: it does not have all of them
    "evening": {"8 and 10": [20, 22], "7, 8 and 9": [19, 20, 21], "6 and 11": [18, 23], "2 and 8": [], "12 and 8": []},
    "morning": {"8 and 10": [8, 10], "6, 8 and 11": [6, 8, 11], "1 and 9": [1, 9], "9 and 15:00": []},
    "afternoon": {"1 and 3": [13, 15], "12, 2 and 4": [12, 14, 16], "12 and 5": [12, 17], "1 and 9": []},
    "night": {"8 and 10": [20, 22], "10 and 12": [0, 22], "9 and 2": [2, 21], "7, 9 and 11": [19, 21, 23]},
}
TWO_PARTS = """
every morning at 8 and every evening at 9 | every evening at 9 and every morning at 8 | every day at 8am and 9pm
? at 8 every morning and at 9 every evening | ? at 9 every evening and at 8 every morning
? every day at 8 in the morning and at 9 in the evening | ? every day at 8 in the morning and 9 in the evening
? at 8 in the morning and at 9 in the evening every day | ? every morning at 8 and evening at 9
? at 8 in the morning and 9 in the evening on every day | ? daily at 8 in the morning and at 9 at night
"""


def several_hours() -> Iterator[Phrase]:
    """Give "at 8 and 10 every evening" in every order, and two parts of the day in one phrase."""
    for part, lists in LISTED.items():
        for text, hours in lists.items():
            for orders, days, named in ((DAILY, any_day, False), (WEEKLY, weekdays(FRIDAY), True)):
                has = hours and not (named and part == "night" and hours[0] * HOUR < _SMALL)
                reading = Calendar(days, tuple(hour * HOUR for hour in hours)) if has else None
                for words, sure in told(orders, part, Spoken(text, 0)):
                    yield Phrase(words, reading, sure and not words.startswith(text))
    for words, sure in listed(TWO_PARTS):
        yield Phrase(words, Calendar(any_day, (8 * HOUR, 21 * HOUR)), sure)


BESIDE: dict[str, Days] = {
    "every {p} in march {at} | {at} every {p} in march | ? in march every {p} {at}": on_date(3, range(1, 32)),
    "every {p} except sunday {at} | {at} every {p} except sunday": but(any_day, weekdays(6)),
    "every day except sunday {at} {in} | {at} {in} every day except sunday": but(any_day, weekdays(6)),
    "every {p} {at} starting 2029-01-01 | {at} every {p} starting 2029-01-01": within(date(2029, 1, 1)),
    "every {p} {at} until 2026-12-24 | {at} every {p} until 2026-12-24": within(last=date(2026, 12, 24)),
    "on the 1st of every month {at} {in} | {at} {in} on the 1st of every month": of_month(1),
    "last day of the month {at} {in} | {at} {in} on the last day of the month": of_month(-1),
    "every third friday of march {at} {in} | {at} {in} every third friday of march": nth_of_month([3], 4, [3]),
    "first monday of the month {at} {in} | {at} {in} on the first monday of the month": nth_of_month([1], 0),
    "every year on 24 december {at} {in} | {at} {in} every year on 24 december": on_date(12, 24),
    "every other tuesday {at} {in} | {at} {in} every other tuesday": every_nth(2, 1),
    "every monday to friday {p} {at} | {at} every monday to friday {p}": weekdays(0, 1, 2, 3, 4),
    "every mon, wed and fri {at} {in} | {at} {in} every mon, wed and fri": weekdays(0, 2, 4),
    "every monday and thursday {p} {at} | {at} every monday and thursday {p}": weekdays(0, 3),
}


def parts_beside_the_rest() -> Iterator[Phrase]:
    """Give a part of the day beside months, exceptions, bounds, dates, places and lists of days."""
    spoken = [Spoken("8", 8), Spoken("half past three", 3, 30), Spoken("11:15", 11, 15), Spoken("9pm", 21, 0, 24)]
    for orders, days in BESIDE.items():
        unnamed = orders.startswith("every {p} ") or "except" in orders  # no single nights
        for part in PARTS:
            for hour in spoken:
                second, known = second_in(part, hour)
                if part == "night" and second is not None and second < _SMALL:
                    second, known = (second, False) if unnamed else (None, True)
                reading = None if second is None else Calendar(days, (second,))
                for text, sure in told(orders, part, hour):
                    yield Phrase(text, reading, known and sure)


def orders_of_parts() -> Iterator[Phrase]:
    """Give the same parts in every order: they mean the same, or are refused."""
    evening, workdays = (20 * HOUR,), weekdays(0, 1, 2, 3, 4)
    march = on_date(3, range(1, 32))
    third = nth_of_month([3], 4, [3])
    ends = within(last=date(2029, 3, 1))
    window = Calendar(both(workdays, march), range(9 * HOUR, 17 * HOUR + 1, 1_800))
    yield from ordered(Calendar(both(workdays, march), evening), "on weekdays", "at 8", "in the evening", "in march")
    yield from ordered(Calendar(march, evening), "every evening", "at 8", "in march")
    yield from ordered(
        Calendar(both(weekdays(FRIDAY), ends), evening), "every friday evening", "at 8", "until 2029-03-01"
    )
    yield from ordered(Calendar(any_day, evening), "every day", "at 8", "in the evening")
    yield from ordered(Calendar(any_day, evening), "daily", "at 8", "in the evening")
    yield from ordered(Calendar(any_day, evening), "every day", "8 in the evening", "until 2039-03-01", sure=0)
    yield from ordered(Calendar(but(any_day, weekdays(6)), evening), "every evening", "at 8", "except sunday")
    yield from ordered(Calendar(third, evening), "every third friday of march", "at 8", "in the evening")
    yield from ordered(Calendar(third, evening), "every third friday", "of march", "at 20:00", sure=1)
    yield from ordered(Calendar(third, evening), "every third friday", "of march", "at 8", "in the evening", sure=1)
    yield from ordered(Calendar(third, evening), "every year", "on the third friday of march", "at 8pm")
    yield from ordered(
        Calendar(nth_of_month([3], 4), evening), "every month", "on the third friday", "at 8", "in the evening"
    )
    yield from ordered(Calendar(of_month(15), evening), "every month", "on the 15th", "at 8", "in the evening")
    yield from ordered(window, "every 30 minutes", "from 9am until 5pm", "on weekdays", "in march")
    yield from ordered(Calendar(on_date(12, 24), evening), "every year", "on 24 december", "at 8", "in the evening")
    yield from ordered(Calendar(every_nth(2, FRIDAY), evening), "every 2 weeks", "on friday", "at 8", "in the evening")
    for days, words in ((ahead(1), "tomorrow"), (next_weekday(FRIDAY), "on friday"), (on_date(3, 3), "on march 3")):
        yield from ordered(Calendar(days, evening, once=True), words, "at 8", "in the evening")
    yield from ordered(Calendar(ahead(0), evening, once=True), "tonight", "at 8")
    for zone in ("UTC", "Europe/Paris", "America/New_York"):
        yield from ordered(Calendar(any_day, evening, zone=zone), "every evening", "at 8", zone)
        yield from ordered(Calendar(ahead(1), evening, once=True, zone=zone), "tomorrow evening", "at 8", f"in {zone}")


CLOCK = """
0:00 = 12am | midnight | 12 midnight | ? 0
0:05 = 0:05 | 0005 | five minutes past midnight
0:30 = 12:30 am | 0:30 | ? half past 0 | ? half past 12am
0:45 = quarter to 1am | 00:45
7:00 = 7 | seven | 7am | seven o'clock
7:30 = half past 7 | half past seven | 7:30 | 7.30 | 07:30 am
8:45 = quarter to 9 | 15 minutes to 9 | a quarter to nine
9:00 = 9am | 9 am | 9 a.m. | 09:00 | 9:00 | 9 o'clock | 0900
9:15 = quarter past 9 | a quarter past nine | 15 minutes past 9
9:30 = 9.30am | 0930 | ? 9h30 | 9:30
11:45 = ? quarter to 12pm | ? quarter to noon | quarter to 12
12:00 = 12pm | noon | midday | 12 noon | 12 | twelve o'clock
12:10 = ten minutes past noon | 12:10pm | ten minutes past 12
12:30 = 12:30pm | half past 12pm | ? half past noon
12:45 = quarter to 1pm | quarter to 13
13:00 = 1 p.m. | 13 | 13:00
16:20 = 20 minutes past 4pm | 4:20pm
17:05 = five minutes past 17 | 17:05
19:30 = 19.30 | 1930 | half past 7pm | 7:30 p.m.
21:00 = 9 o'clock pm | 9pm | 21
23:59 = 11:59pm | 23:59 | 2359 | one minute to midnight
none = 24:00 | 25:00 | 12:60 | 13pm | 0am | 00:30am | 13:00pm | 9:5 | 24 | 2400 | half past 24 | half past 13pm | 9am pm
none = 930 | 9:60am | quarter to | half past | ten to | noon pm | 1:2:3:4 | 9:00:60 | quarter past 9:30
"""
ROUND: dict[str, Days] = {
    "every day {}": any_day,
    "{} every day": any_day,
    "every monday {}": weekdays(0),
    "{} on weekdays": weekdays(0, 1, 2, 3, 4),
    "every third friday of march {}": nth_of_month([3], 4, [3]),
}
ONCE: dict[str, Days] = {
    "{}": any_day,
    "tomorrow {}": ahead(1),
    "{} tomorrow": ahead(1),
    "on march 3 {}": on_date(3, 3),
}
LISTS: dict[str, Sequence[int]] = {  # hours of a list, all with am or pm or all on the clock of 24 hours; none: refused
    "at 9am and 5pm": [540, 1020],
    "at 9am, 1pm and 5pm": [540, 780, 1020],
    "at 5pm and 9am": [540, 1020],
    "at 9:00, 9:30 and 17:00": [540, 570, 1020],
    "at 9, 12 and 17": [540, 720, 1020],
    "at noon and midnight": [0, 720],
    "at 9am, noon and 5:30pm": [540, 720, 1050],
    "at half past 9 and quarter to 11": [570, 645],
    "at 9am and at 5pm": [540, 1020],
    "at 8:15 & 18:45": [495, 1125],
    "at 5 and 6pm": [],
    "at 5:30 and 6:30pm": [],
    "at 9am and 17": [],
    "at 9 or 10": [],
    "at 9am and": [],
}


def spoken_hours() -> Iterator[Phrase]:
    """Give every way to write an hour without a part of the day, and lists of hours."""
    for line in CLOCK.strip().splitlines():
        shown, texts = line.split(" = ", 1)
        hour, _, minute = shown.partition(":")
        seconds = () if shown == "none" else (int(hour) * HOUR + int(minute) * MINUTE,)
        for text, sure in listed(texts):
            at = text if text in ("noon", "midday", "12 noon") else f"at {text}"
            for words, days in ROUND.items():
                yield Phrase(words.format(at), Calendar(days, seconds) if seconds else None, sure)
            for words, days in ONCE.items():
                yield Phrase(words.format(at), Calendar(days, seconds, once=True) if seconds else None, sure)
    for text, minutes in LISTS.items():
        listing = tuple(minute * MINUTE for minute in minutes)
        for words, days in ROUND.items():
            yield Phrase(words.format(text), Calendar(days, listing) if listing else None)
        for words in ONCE:
            yield Phrase(words.format(text), None)
