"""Families that put the parts of the others together: mixtures in any order, groups, and other spellings."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import permutations

from tests.triggers.oracle.days import FULL_DATES
from tests.triggers.oracle.evaluator import (
    HOUR,
    MINUTE,
    Calendar,
    Days,
    Length,
    Reading,
    Starting,
    Union,
    ahead,
    any_day,
    both,
    but,
    every_nth,
    every_nth_day,
    next_weekday,
    nth_of_month,
    of_month,
    on_date,
    stepped,
    weekdays,
    within,
)
from tests.triggers.oracle.hours import PARTS, Spoken, second_in
from tests.triggers.oracle.phrases import Phrase, listed, refused

WEEK: dict[str, Days] = {  # days that an exception may follow
    "every day": any_day,
    "daily": any_day,
    "every weekday": weekdays(0, 1, 2, 3, 4),
    "weekdays": weekdays(0, 1, 2, 3, 4),
    "monday to saturday": weekdays(0, 1, 2, 3, 4, 5),
}
DAYS: dict[str, Days] = {
    **WEEK,
    "every monday": weekdays(0),
    "on thursdays": weekdays(3),
    "every mon, wed and fri": weekdays(0, 2, 4),
    "every tuesday and sunday": weekdays(1, 6),
    "every weekend": weekdays(5, 6),
    "every other tuesday": every_nth(2, 1),
    "every 2 weeks on friday": every_nth(2, 4),
    "the first monday of the month": nth_of_month([1], 0),
    "on the last friday of every month": nth_of_month([-1], 4),
    "on the 2nd and 4th thursday of the month": nth_of_month([2, 4], 3),
    "on the 15th of every month": of_month(15),
    "every 1st and 20th": of_month(1, 20),
    "every month on the 3rd": of_month(3),
    "on the last day of the month": of_month(-1),
}
FORTNIGHTS = {"every other tuesday": 1, "every 2 weeks on friday": 4}  # a start chooses which weeks, unless months do
YEARLY: dict[str, Days] = {
    "every year on 24 december": on_date(12, 24),
    "every march 3": on_date(3, 3),
    "every third friday of march": nth_of_month([3], 4, [3]),
    "the 2nd sunday of may and june": nth_of_month([2], 6, [5, 6]),
    "every last monday in november": nth_of_month([-1], 0, [11]),
}
TIMES: dict[str, tuple[int, ...]] = {  # "/" parts the hour from the part of the day
    "at 9am": (540,),
    "at 18:30": (1110,),
    "at noon": (720,),
    "at half past 7": (450,),
    "at 6": (360,),
    "at 9:15 and 17:45": (555, 1065),
    "at 8am and 8pm": (480, 1200),
    "at 8/in the evening": (1200,),
    "at half past one/in the afternoon": (810,),
    "at 11/at night": (1380,),
    "at 7:15/in the morning": (435,),
    "at 8 o'clock/in the evening": (1200,),
    "at quarter to nine/at night": (1245,),
    "at 1 and 3/in the afternoon": (780, 900),
}
MONTHS: dict[str, Days] = {
    "in march": on_date(3, range(1, 32)),
    "in june and july": on_date((6, 7), range(1, 32)),
    "from march to june": on_date((3, 4, 5, 6), range(1, 32)),
    "in january, april and october": on_date((1, 4, 10), range(1, 32)),
    "from november to february": on_date((11, 12, 1, 2), range(1, 32)),
    "during december": on_date(12, range(1, 32)),
}
BOUNDS: dict[str, tuple[date, date]] = {
    "until 2029-03-01": (date.min, date(2029, 3, 1)),
    "before 1 january 2029": (date.min, date(2028, 12, 31)),
    "until the end of 2028": (date.min, date(2028, 12, 31)),
    "starting 2028-05-10": (date(2028, 5, 10), date.max),
    "from 2028-02-01 to 2028-10-31": (date(2028, 2, 1), date(2028, 10, 31)),
    "in 2029": (date(2029, 1, 1), date(2029, 12, 31)),
}
LEFT_OUT: dict[str, Days] = {
    "except sunday": weekdays(6),
    "except on mondays": weekdays(0),
    "except wed and thu": weekdays(2, 3),
}
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata")


def mixtures() -> Iterator[Phrase]:
    """Give days, an hour and what else goes with them in an order drawn by lot: they mean the same, or are refused.

    The order of the grammar must be read: the days, the hour with its part of the day, then the rest.
    """
    draw = random.Random(30)
    for _ in range(1_600):
        yearly = draw.random() < 0.2
        name, days = draw.choice([*(YEARLY if yearly else DAYS).items()])
        hour, minutes = draw.choice([*TIMES.items()])
        clauses, kinds = [name, *hour.split("/")], 0
        first, last, zone = date.min, date.max, ""
        if name.startswith("every month"):
            kinds += 1
        if not yearly and draw.random() < 0.4:
            months, among = draw.choice([*MONTHS.items()])
            days, kinds = both(days, among), kinds + 1
            clauses.append(months)
        if name in WEEK and draw.random() < 0.4:
            left, excepted = draw.choice([*LEFT_OUT.items()])
            days = but(days, excepted)
            clauses.append(left)
        if draw.random() < 0.4:
            bound, (first, last) = draw.choice([*BOUNDS.items()])
            kinds += 1
            clauses.append(bound)
            if name in FORTNIGHTS and days is DAYS[name] and not bound.startswith("in"):
                days = (
                    stepped(14, first + timedelta(days=(FORTNIGHTS[name] - first.weekday()) % 7))
                    if first > date.min
                    else days
                )
        if draw.random() < 0.2:
            zone = draw.choice(ZONES)
            clauses.append(zone)
        reading = Calendar(days, tuple(minute * MINUTE for minute in minutes), False, zone, first, last)
        ordered = draw.random() < 0.3
        if not ordered:
            draw.shuffle(clauses)
        yield Phrase(" ".join(clauses), reading, ordered and kinds < 2)


GROUPS: dict[str, Calendar] = {
    "every monday at 9am": Calendar(weekdays(0), (9 * HOUR,)),
    "every friday evening at 8": Calendar(weekdays(4), (20 * HOUR,)),
    "every sunday at 8 in the evening": Calendar(weekdays(6), (20 * HOUR,)),
    "every weekday at half past 7": Calendar(weekdays(0, 1, 2, 3, 4), (7 * HOUR + 1800,)),
    "every weekend at 10": Calendar(weekdays(5, 6), (10 * HOUR,)),
    "every morning at 7": Calendar(any_day, (7 * HOUR,)),
    "every night at 11": Calendar(any_day, (23 * HOUR,)),
    "every third friday of march at noon": Calendar(nth_of_month([3], 4, [3]), (12 * HOUR,)),
    "every 1st and 15th at 6": Calendar(of_month(1, 15), (6 * HOUR,)),
    "every other tuesday at 3pm": Calendar(every_nth(2, 1), (15 * HOUR,)),
    "every 6 hours": Calendar(any_day, range(0, 86_400, 6 * HOUR)),
}


def groups() -> Iterator[Phrase]:
    """Give several groups, which add up: the part of the day of one group says nothing of another."""
    for (one, left), (two, right) in permutations(GROUPS.items(), 2):
        for joint in (" and ", ", and "):
            yield Phrase(f"{one}{joint}{two}", Union((left, right)))
        if two.startswith("every"):
            yield Phrase(f"{one} and {two.removeprefix('every ')}", Union((left, right)), sure=False)
    for one, two, three in permutations(list(GROUPS)[:4], 3):
        yield Phrase(f"{one} and {two} and {three}", Union((GROUPS[one], GROUPS[two], GROUPS[three])))
    yield from refused("""
        every monday at 9am and every sunday | every monday at 9am until 2027-05-01 and every friday at 9am
        every monday at 9am or every friday at 9am | every day at 9am and tomorrow at 9am | every monday at 9am and at
    """)


ONE_DAY: dict[str, Days] = {
    **{text: within(day, day) for text, day in FULL_DATES.items()},
    "the 3rd": of_month(3),
    "on the 20th": of_month(20),
    "24 december": on_date(12, 24),
    "on march 3": on_date(3, 3),
    "the day after tomorrow": ahead(2),
    "a week from tomorrow": ahead(8),
    "christmas": on_date(12, 25),
    "new year's eve": on_date(12, 31),
    "saturday": next_weekday(5),
    "next monday": next_weekday(0),
    "end of march": on_date(3, 31),
}
OF_ONE_DAY = """
{d} at {h} {in} | at {h} {in} {d} | ? {d} {in} at {h} | ? {d} {p} at {h} | ? at {h} {d} {in} | ? {in} at {h} {d}
? at {h} {d} {p} | ? {in} {d} at {h}
"""


EVENING = 20 * HOUR
AT_EIGHT: dict[str, Reading] = {
    "in 3 days {}": Length(days=3, at=EVENING),
    "in 2 weeks {}": Length(days=14, at=EVENING),
    "in a month {}": Length(months=1, at=EVENING),
    "every day starting 2029-01-01 {}": Calendar(any_day, (EVENING,), first=date(2029, 1, 1)),
    "every 3 days starting 2029-01-01 {}": Calendar(stepped(3, date(2029, 1, 1)), (EVENING,)),
    "every 5 hours starting 2029-01-01 {}": Starting(date(2029, 1, 1), EVENING, 5 * HOUR),
    "every 24 hours starting {}": Calendar(any_day, (EVENING,)),
    "every 12 hours starting {}": Calendar(any_day, (8 * HOUR, EVENING)),
    "every 2 weeks on monday {} starting 2029-01-01": Calendar(stepped(14, date(2029, 1, 1)), (EVENING,)),
    "once a day {}": Calendar(any_day, (EVENING,)),
    "once a month on the 15th {}": Calendar(of_month(15), (EVENING,)),
    "twice a week on monday and friday {}": Calendar(weekdays(0, 4), (EVENING,)),
}


def parts_of_dates() -> Iterator[Phrase]:
    """Give an hour with a part of the day beside a date, and behind a length of days."""
    spoken = [
        Spoken("8", 8),
        Spoken("half past three", 3, 30),
        Spoken("quarter to six", 5, 45),
        Spoken("20:15", 20, 15, 24),
    ]
    for turn, (day, days) in enumerate(ONE_DAY.items()):
        for part in PARTS:
            for hour in spoken[turn % 2 :: 2] if turn else spoken:
                second, known = second_in(part, hour)
                has = second is not None and not (part == "night" and second < 6 * HOUR)
                words = {"d": day, "h": hour.text, "p": part, "in": "at night" if part == "night" else f"in the {part}"}
                for text, sure in listed(OF_ONE_DAY):
                    reading = Calendar(days, (second or 0,), once=True) if has else None
                    yield Phrase(text.format_map(words), reading, known and sure and day != "end of march")
    for text, at_eight in AT_EIGHT.items():
        yield Phrase(text.format("at 8 in the evening"), at_eight, sure=False)
        yield Phrase(text.format("in the evening at 8"), at_eight, sure=False)
        yield Phrase(text.format("at 20:00"), at_eight, sure="once" not in text and "twice" not in text)
        yield Phrase(f"in the evening {text.format('at 8')}", at_eight, sure=False)


def daily(*hours: float) -> Calendar:
    """Run every day at these hours."""
    return Calendar(any_day, tuple(int(hour * HOUR) for hour in hours))


def pairs(*parts: tuple[Days, float]) -> Union:
    """Run on several days, at an hour of its own on each."""
    return Union(tuple(Calendar(days, (int(hour * HOUR),)) for days, hour in parts))


THIRD, SECOND = nth_of_month([3], 4, [3]), nth_of_month([2], 4, [9])
DISTRIBUTED: dict[str, Reading | None] = {  # each word belongs to its own part, or the phrase is refused
    "every morning and evening at 8": daily(8, 20),
    "every evening and morning at 8": daily(8, 20),
    "every day at 8 in the morning and evening": daily(8, 20),
    "every day at 8 in the morning and at 8 in the evening": daily(8, 20),
    "every day at 7 in the morning, 3 in the afternoon and 9 in the evening": daily(7, 15, 21),
    "at noon and 8 in the evening every day": daily(12, 20),
    "every day at noon and at 8 in the evening": daily(12, 20),
    "at 9am and 8 in the evening every day": daily(9, 20),
    "every day at 8 in the evening and 9am": daily(9, 20),
    "evenings at 8": daily(20),
    "at 8 evenings": daily(20),
    "mornings at 7": daily(7),
    "every other evening at 8": Calendar(every_nth_day(2), (20 * HOUR,)),
    "every second evening at 8": Calendar(every_nth_day(2), (20 * HOUR,)),
    "at 8 every third evening": Calendar(every_nth_day(3), (20 * HOUR,)),
    "every evening except friday evening at 8": Calendar(but(any_day, weekdays(4)), (20 * HOUR,)),
    "every day at 8 except friday evening": None,
    "every morning at 8 except sunday evening": None,
    "every day at 8 until friday evening": None,
    "every hour except friday evening": None,
    "every evening this week at 8": None,
    "this evening and tomorrow evening at 8": None,
    "every monday morning and friday evening at 8": pairs((weekdays(0), 8), (weekdays(4), 20)),
    "at 8 every monday morning and friday evening": pairs((weekdays(0), 8), (weekdays(4), 20)),
    "every monday morning at 8 and friday evening at 9": pairs((weekdays(0), 8), (weekdays(4), 21)),
    "every monday and friday evening at 8": Calendar(weekdays(0, 4), (20 * HOUR,)),
    "every saturday and sunday morning at 9": Calendar(weekdays(5, 6), (9 * HOUR,)),
    "on the evening of march 3 at 8": Calendar(on_date(3, 3), (20 * HOUR,), once=True),
    "at 8 on the evening of march 3": Calendar(on_date(3, 3), (20 * HOUR,), once=True),
    "on the morning of the 20th at 9": Calendar(of_month(20), (9 * HOUR,), once=True),
    "every friday in the evening of march at 8": Calendar(both(weekdays(4), on_date(3, range(1, 32))), (20 * HOUR,)),
    "early tomorrow morning at 5": Calendar(ahead(1), (5 * HOUR,), once=True),
    "late tonight at 11": Calendar(ahead(0), (23 * HOUR,), once=True),
    "at noon and at 8 every evening": None,
    "at 8am and 10 every evening": None,
    "8 to 10 every evening": None,
    "every day at 8 or 9 in the evening": None,
    "every third friday of every march at 9": Calendar(THIRD, (9 * HOUR,)),
    "third friday of each march at 9": Calendar(THIRD, (9 * HOUR,)),
    "every other friday of march at 9": Calendar(both(every_nth(2, 4), on_date(3, range(1, 32))), (9 * HOUR,)),
    "every third friday from march to june at 9": Calendar(
        both(every_nth(3, 4), on_date((3, 4, 5, 6), range(1, 32))), (9 * HOUR,)
    ),
    "the third friday of march and the second friday of september at 9": pairs((THIRD, 9), (SECOND, 9)),
    "every third friday of march and second friday of september at 9": pairs((THIRD, 9), (SECOND, 9)),
    "every third friday of march and every second friday of september at 9": pairs((THIRD, 9), (SECOND, 9)),
    "every third friday of march at 9 and every second friday of september at 9": pairs((THIRD, 9), (SECOND, 9)),
    "every first monday of may and last friday of june at 9": pairs(
        (nth_of_month([1], 0, [5]), 9), (nth_of_month([-1], 4, [6]), 9)
    ),
    "every 2nd sunday of may and every wednesday at 9": pairs((nth_of_month([2], 6, [5]), 9), (weekdays(2), 9)),
    "every wednesday and every 2nd sunday of may at 9": None,
    "every third friday of march and september 5 at 9": pairs((THIRD, 9), (on_date(9, 5), 9)),
    "every march 3 and june 5 at 9": pairs((on_date(3, 3), 9), (on_date(6, 5), 9)),
    "every year on march 3 and june 5 at 9": pairs((on_date(3, 3), 9), (on_date(6, 5), 9)),
    "every year on 3 march and 5 june at 9": pairs((on_date(3, 3), 9), (on_date(6, 5), 9)),
    "every 1st of march and 5th of june at 9": pairs((on_date(3, 1), 9), (on_date(6, 5), 9)),
    "the 1st of march and the 15th of june every year at 9": pairs((on_date(3, 1), 9), (on_date(6, 15), 9)),
    "every 1st and 15th of march and june at 9": Calendar(on_date((3, 6), (1, 15)), (9 * HOUR,)),
    "every monday at 9 and friday at 17:00": pairs((weekdays(0), 9), (weekdays(4), 17)),
    "at 9am on monday and 5pm on friday every week": pairs((weekdays(0), 9), (weekdays(4), 17)),
    "mondays at 9 and fridays at 17:00": pairs((weekdays(0), 9), (weekdays(4), 17)),
    "weekdays at 9 and weekends at 10": pairs((weekdays(0, 1, 2, 3, 4), 9), (weekdays(5, 6), 10)),
    "at 9 on weekdays and at 10 on weekends": pairs((weekdays(0, 1, 2, 3, 4), 9), (weekdays(5, 6), 10)),
    "every weekday at 9 and at 10 on weekends": pairs((weekdays(0, 1, 2, 3, 4), 9), (weekdays(5, 6), 10)),
    "on the 1st at 9 and the 15th at 10 of every month": pairs((of_month(1), 9), (of_month(15), 10)),
    "every day at 9am in march and at 10am in june": pairs(
        (on_date(3, range(1, 32)), 9), (on_date(6, range(1, 32)), 10)
    ),
    "every monday in march and friday in june at 9": pairs(
        (both(weekdays(0), on_date(3, range(1, 32))), 9), (both(weekdays(4), on_date(6, range(1, 32))), 9)
    ),
    "every weekday except friday and every sunday at 9": Calendar(weekdays(0, 1, 2, 3, 6), (9 * HOUR,)),
    "every day except sunday at 9 and monday at 10": None,
    "every monday and the 15th of every month at 9": pairs((weekdays(0), 9), (of_month(15), 9)),
    "tomorrow at 9 and friday at 10": None,
    "every 15 minutes and at noon": None,
    "every hour and every day at 9:30": Calendar(any_day, tuple(sorted({*range(0, 86_400, HOUR), 9 * HOUR + 1800}))),
}


def each_word_in_its_place() -> Iterator[Phrase]:
    """Give phrases in which a careless reader lets a word of one part count for another."""
    for text, reading in DISTRIBUTED.items():
        yield Phrase(text, reading, sure=False)


SHORT = {
    "monday": "mon", "tuesday": "tues", "wednesday": "wed", "thursday": "thur", "friday": "fri", "saturday": "sat",
    "sunday": "sun", "march": "mar", "december": "dec", "september": "sept", "november": "nov", "october": "oct",
    "minutes": "mins", "hours": "hrs", "seconds": "secs", "weeks": "w", "every": "each", "and": "&", "noon": "midday",
}  # fmt: skip


def other_spellings(phrases: Iterable[Phrase]) -> Iterator[Phrase]:
    """Give phrases of other families in capitals, with more blanks, and with the short names of days and months."""
    for number, phrase in enumerate(phrases):
        if number % 80 == 0:
            yield phrase._replace(text=phrase.text.upper())
        elif number % 80 == 40:
            yield phrase._replace(text="  " + phrase.text.replace(" ", " \t ") + "\n")
        elif number % 16 == 8:
            text = re.sub(r"[a-z]+", lambda word: SHORT.get(word[0], word[0]), phrase.text)
            if text != phrase.text:
                yield phrase._replace(text=text, sure=False)
