"""Refusals of words that name no exact time, or that no clause reads, with the text to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from workkit.text.nearest import nearest_words
from workkit.text.wording import MONTH_NAMES
from workkit.triggers.english.marks import HALVES
from workkit.triggers.english.numbers import amount
from workkit.triggers.english.reader import Parts, Reader
from workkit.triggers.english.words import (
    ADVERBS,
    MONTHS,
    MOVABLE_HOLIDAYS,
    NAMED_TIMES,
    NUMBERS,
    PLURAL_WEEKDAYS,
    RELATIVE_DAYS,
    TENS,
    UNITS,
    VOCABULARY,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
)
from workkit.triggers.zone import zone_names

_REGIONS: Final = {
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "uk": "Europe/London",
    "zulu": "UTC",
}
_LONGEST: Final = 30  # letters of a place


def unread(reader: Reader, parts: Parts) -> Parts | None:
    """Refuse a place that is not the name of a zone, a month alone, hours without am and pm, and the like."""
    mark = reader.i
    reader.take("in", "the")
    start = reader.peek()
    before = reader.peek(-2 if reader.peek(-1).text == "at" else -1)
    if before.text in ("except", "but", "not"):
        remedy = 'Name the hours, days or months that are left, for example "every hour from 1am to 11pm"'
        raise reader.refusal("cannot be left out: only weekdays can", remedy)
    match start.kind:
        case "word":
            _minutes_to(reader)
            _next_group(reader, parts)
            _bounded(reader)
            _place(reader)
            _month(reader, parts)
            _group(reader, parts)
            _foreign_day(reader)
        case "number":
            _hours(reader, parts)
        case "clock" if reader.peek(-1).text == "in" and reader.i > mark:
            hour, minute = start.text.split(":")[:2]
            reader.next()
            length = reader.instead(start, f"{int(hour)}h{int(minute)}m")
            raise reader.refusal(
                "is no length of time", f'Say "{length}", or "at {start.text}" for the hour', start=start
            )
    reader.i = mark
    return None


def _minutes_to(reader: Reader) -> None:
    """Refuse "ten to 5", which may be a window."""
    start = reader.peek()
    if (start.text in NUMBERS or start.text in TENS) and reader.peek(1).text == "to":
        reader.next()
        said = reader.instead(start, f"{start.text} minutes")
        raise reader.refusal("may be minutes or an hour", f'Say "{said}" for the minutes', start=start)


def _next_group(reader: Reader, parts: Parts) -> None:
    """Refuse "every monday at 6pm and friday at 4pm", which must repeat "every"."""
    start = reader.peek()
    if parts.every and parts.times and reader.peek(-1).text == "and" and start.text in WEEKDAYS:
        _offer(reader, "does not say that it recurs too", f"every {start.text}")


def _bounded(reader: Reader) -> None:
    """Refuse "for 2 weeks" and "after 5pm" in a recurring phrase."""
    start = reader.peek()
    if start.text == "for":
        reader.next()
        if amount(reader) is None:
            reader.i = len(reader.tokens)
        said = reader.instead(start, "until 2027-01-31")
        raise reader.refusal("names no end", f'Say until when, for example "{said}"', start=start)
    if start.text == "after" and reader.text[reader.peek(1).start :][:1].isdigit():
        reader.next()
        hour = reader.peek()
        while reader.peek().kind in ("number", "clock") or reader.peek().text in HALVES:
            reader.next()
        said = reader.instead(start, f"from {reader.since(hour)} to 11pm")
        raise reader.refusal("does not say until when", f'Say for example "{said}"', start=start)


def _place(reader: Reader) -> None:
    """Refuse a region or city, with its zone."""
    start = reader.peek()
    two = f"{start.text} {reader.peek(1).text}"
    for words, count in ((two, 2), (start.text, 1)):
        zone = _REGIONS.get(words) or _city(words)
        if zone is None or (count == 1 and start.text in VOCABULARY):
            continue
        reader.i += count
        reader.take("standard", "daylight", "summer")
        reader.take("time")
        said = reader.instead(start, zone)
        raise reader.refusal("is not the name of a zone", f'Say "{said}"', start=start, suggestion=said)


def _city(words: str) -> str | None:
    if not 3 < len(words) <= _LONGEST or not words.replace(" ", "").isalpha():
        return None
    tail = f"/{words.replace(' ', '_')}"
    return next((name for low, name in zone_names().items() if low.endswith(tail)), None)


def _month(reader: Reader, parts: Parts) -> None:
    """Refuse "march", "march 2027": a span."""
    start, before = reader.peek(), reader.peek(-1)
    if start.text in MONTHS and not (parts.days or parts.months):
        reader.next()
        said = reader.instead(before if reader.i > 1 and before.text in ("next", "this") else start, f"1 {start.text}")
        raise reader.refusal("is a span, not an instant", f'Say a day of it, for example "{said}"', start=start)


def _group(reader: Reader, parts: Parts) -> None:
    """Refuse "weekday at 9" without every, and days that would be counted: 3 business days, next working day."""
    start, before = reader.peek(), reader.peek(-1)
    if start.text.removesuffix("s") not in WEEKDAY_GROUPS or parts.weekdays:
        return
    reader.next()
    if reader.i > 1 and (before.kind == "number" or before.text in ("next", "every", "each", "other")):
        raise reader.refusal(
            "is not counted", 'Say it in days, for example "in 3 days at 9am", or the date', start=start
        )
    said = reader.instead(start, f"every {reader.since(start)}")
    if parts.every:  # "every 5 minutes on the weekend"
        the = before if before.text == "the" else start
        on = reader.peek(-3) if the is before and reader.peek(-3).text == "on" else the
        said = reader.instead(on, f"on {reader.since(start).removesuffix('s')}s")
    raise reader.refusal("does not say that it recurs", f'Say "{said}"', start=start)


def _foreign_day(reader: Reader) -> None:
    """Refuse a day that has a name of its own: groundhog day."""
    start = reader.peek()
    if start.text not in VOCABULARY and reader.peek(1).text == "days":
        reader.i += 2
        said = reader.instead(start, "every weekday")
        raise reader.refusal("does not say which days", f'Say for example "{said}"', start=start)
    if start.text not in VOCABULARY and reader.peek(1).text == "day" and not _is_slip(start.text):
        reader.i += 2
        raise reader.refusal("is not known", f'Write its date: "{reader.instead(start, "YYYY-MM-DD")}"', start=start)


def _is_slip(word: str) -> bool:
    return bool(nearest_words(word, sorted(VOCABULARY), most=1, alike=0.7))


def _hours(reader: Reader, parts: Parts) -> None:
    """Refuse "9-5", "monday 9", "24.12", and "2030" that may be an hour."""
    start, joint, last = reader.peek(), reader.peek(1).text, reader.peek(2)
    whole, _, part = start.text.partition(".")
    first = int(whole) if len(whole) <= _LONGEST else 0
    if part:
        if 1 <= first <= 31 and part.isdigit() and 1 <= int(part) <= 12:
            _offer(reader, "is no date as read here", f"{first} {MONTH_NAMES[int(part) - 1]}")
        return
    if joint in ("-", "to", "until", "till") and last.text.isdigit() and first < 24 and int(last.text) < 24:
        hours = [f"{first}:00", last.text + ":00"]
        if int(last.text) <= first <= 12:
            hours = [f"{first}am", f"{last.text}pm"]
        reader.i += 2
        often = "" if any(token.text in ("every", "each", "hourly") for token in reader.tokens) else "every hour "
        to = "to" if joint == "-" else joint
        _offer(reader, "does not say that these are hours", f"{often}from {hours[0]} {to} {hours[1]}", start=start)
    if whole == "2400":
        _offer(reader, "is no hour", "at 23:59", tail=", or 0:00 of the next day")
    if joint in PLURAL_WEEKDAYS and (last.text, reader.peek(3).text) == ("from", "now") and first > 0:
        reader.i += 3
        day = joint.removesuffix("s")
        weeks = "" if first == 1 else "a week from " if first == 2 else f"{first - 1} weeks from "
        _offer(reader, "is counted in weeks", f"{weeks}{day}", start=start)
    if reader.peek(-1).text in ("in", "every", "each") or joint.startswith("-"):
        return
    if len(whole) == 4 and first // 100 < 24 and first % 100 < 60 and len(reader.tokens) > 1:
        _offer(reader, "may be an hour or a year", f"at {first // 100}:{first % 100:02}", tail=" for the hour")
    if len(whole) == 3 and first // 100 > 0 and first % 100 < 60 and len(reader.tokens) > 1:
        _offer(reader, "is no hour as read here", f"at {first // 100}:{first % 100:02}")
    if len(whole) == 8:
        _offer(reader, "is no date as read here", f"{whole[:4]}-{whole[4:6]}-{whole[6:]}")
    named = parts != Parts() or joint in (*RELATIVE_DAYS, *WEEKDAYS, *ADVERBS, "every", "each")
    named = named or (joint in ("and", "&", ",") and last.kind == "number")
    if first < 24 and named and not parts.times and joint not in UNITS and reader.peek(-1).text != "in":
        _offer(reader, "does not say that it is an hour", f"at {first}")


def _offer(reader: Reader, trouble: str, other: str, *, start: Token | None = None, tail: str = "") -> NoReturn:
    """Refuse the next piece, or the text since `start`, and offer the text with `other` in its place."""
    reader.next()
    start = start or reader.peek(-1)
    raise reader.refusal(trouble, f'Say "{reader.instead(start, other)}"{tail}', start=start)


_NO_TIME: Final = "is no exact time"
_VAGUE: Final = {
    **dict.fromkeys(("soon", "later", "sometime", "sometimes", "eventually", "asap"), 'Say for example "in 5 minutes"'),
    "often": 'Say for example "every 5 minutes"',
    "while": 'Say a length: "in 10 minutes"',
    **dict.fromkeys(("moment", "jiffy"), 'Say a length: "in 10 seconds"'),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 'Say whole seconds, for example "in 1 second"'),
    "q": 'Say a day of that quarter, for example "31 december at 5pm"',
    "leap": 'Name the day, for example "every february 29"',
    "following": 'Say "next monday", or the date',
    "payday": 'Say its day, for example "on the 25th of every month at 9am"',
    "paydays": 'Say its day, for example "on the 25th of every month at 9am"',
    **dict.fromkeys(("early", "late"), 'Say the hour, for example "tomorrow at 6am"'),
    **dict.fromkeys(("odd", "even"), 'Name the days or hours, for example "on the 1st, 3rd and 5th of every month"'),
    **dict.fromkeys(
        ("sunrise", "sunset", "dawn", "dusk"), 'It differs from day to day. Say for example "every day at 6am"'
    ),
}
_INSTEAD: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("lunchtime", "lunch", "lunch time"), (_NO_TIME, "noon")),
    **dict.fromkeys(("first thing", "first thing in the morning", "breakfast", "breakfast time"), (_NO_TIME, "8am")),
    **dict.fromkeys(("eod", "cob", "close of business", "end of play"), ("does not say which hour", "at 5pm")),
    **dict.fromkeys(
        ("during business hours", "in business hours", "during office hours", "during working hours", "business hours"),
        ("does not say which hours", "from 9am to 5pm on weekdays"),
    ),
    **dict.fromkeys(
        ("during the day", "in the daytime", "during daytime"), ("does not say which hours", "from 8am to 8pm")
    ),
    **dict.fromkeys(
        ("a few", "few", "several", "some", "a couple of", "a couple", "couple of", "couple"), ("is no number", "2")
    ),
    **dict.fromkeys(("within", "within the next", "in the next"), ("is no exact time", "in")),
    **dict.fromkeys(("within the hour", "in the next hour", "within an hour"), ("is no exact time", "in 1 hour")),
    **dict.fromkeys(("new year", "new years", "new year's"), ("may be its eve or its first day", "new year's day")),
    **dict.fromkeys(("weeknight", "weeknights"), ("is not the same everywhere", "monday to thursday night")),
    **dict.fromkeys(("or so", "or thereabouts"), (_NO_TIME, "")),
    "on the dot": (_NO_TIME, ""),
    **dict.fromkeys(("remind me", "run it", "run", "execute", "start it"), ("says what to do, not when", "")),
    **dict.fromkeys(("close", "closing", "closing time"), ("does not say which hour", "5pm")),
    "overnight": ("does not say which hour", "at 2am"),
    **dict.fromkeys(("during the night", "through the night"), ("does not say which hours", "from 10pm to 6am")),
    **dict.fromkeys(
        ("mid month", "mid - month", "middle of the month", "the middle of the month"), (_NO_TIME, "the 15th")
    ),
    **dict.fromkeys(
        ("this time tomorrow", "same time tomorrow", "the same time tomorrow"), ("names no hour", "in 1 day")
    ),
    **dict.fromkeys(("this time next week", "same time next week"), ("names no hour", "in 1 week")),
}
"""Vague words -> the reason for the refusal, and an example to write in their place."""

_WEEKENDS: Final = ("this weekend", "next weekend", "the weekend", "on the weekend", "at the weekend", "weekend")
_LONGEST_IDIOM: Final = 5  # words of one idiom
_TWO_MEANINGS: Final = {
    "biweekly": ("twice a week", "every two weeks", 'Say "every other monday at 9am"'),
    "bimonthly": ("twice a month", "every two months", 'Say "every 2 months on the 1st"'),
    "biannually": ("twice a year", "every two years", 'Say "every 6 months" or "every 2 years"'),
    "biannual": ("twice a year", "every two years", 'Say "every 6 months" or "every 2 years"'),
}


def vague(reader: Reader, parts: Parts) -> Parts | None:
    """Refuse words that name no time; return None for others."""
    start = reader.peek()
    word = start.text
    ahead = reader.peek(1).text if word in ("in", "a", "every", "at", "on") else word
    ahead = reader.peek(2).text if word == "in" and ahead == "a" and reader.peek(2).text in _VAGUE else ahead
    if ahead in _VAGUE:
        while reader.next().text != ahead:
            pass
        raise reader.refusal(_NO_TIME, _VAGUE[ahead], start=reader.peek(-1))
    if word in _TWO_MEANINGS:
        reader.next()
        one, other, remedy = _TWO_MEANINGS[word]
        if word == "biweekly" and len(reader.tokens) > 1:
            remedy = f'Say "{reader.instead(start, "every 2 weeks")}"'
        raise reader.refusal(f"is {one} to some and {other} to others", remedy, start=start)
    _idiom(reader, parts)
    days = (reader.peek(2).text, reader.peek(3).text if reader.peek(2).text == "on" else "")
    if (word, reader.peek(1).text) == ("next", "week") and any(day in WEEKDAYS for day in days):
        return None
    if word in ("next", "this", "last") and reader.peek(1).text in UNITS and reader.peek(1).text != "day":
        _span(reader, start, word)
    past = word == "last" and reader.peek(1).text in WEEKDAYS and not parts.every
    if past and (len(reader.tokens) == reader.i + 2 or reader.peek(2).text == "at"):
        reader.i += 2
        what = reader.since(start)
        raise reader.refusal("is past", f'Say "{what} of every month" or a day to come', start=start)
    return None


def _span(reader: Reader, start: Token, word: str) -> None:
    """Refuse "next week", which is no instant."""
    reader.i += 2
    unit = reader.peek(-1).text
    if word == "last":
        raise reader.refusal("is past", "Say a time to come", start=start)
    near = {"week": '"monday next week at 9am"', "month": '"next month on the 3rd at 9am"'}.get(unit)
    say = f"Say a day of it, for example {near}," if near and word == "next" else "Say a day of it,"
    raise reader.refusal("is a span, not an instant", f'{say} or "in 1 {unit}"', start=start)


def _idiom(reader: Reader, parts: Parts) -> None:
    """Refuse an idiom, and offer the text with an example in its place."""
    mark = reader.i
    if reader.take("at") is None and reader.peek(1).text not in ("the", "next", "business"):
        reader.take("in", "every")
    start = reader.peek()
    for length in range(_LONGEST_IDIOM, 0, -1):
        words = " ".join(reader.peek(k).text for k in range(length))
        if words in MOVABLE_HOLIDAYS and reader.peek(-1).text not in ("except", "but", "not"):
            reader.i += length
            date = reader.instead(start, "YYYY-MM-DD")
            raise reader.refusal("has another date each year", f'Write its date: "{date}"', start=start)
        if words in _WEEKENDS and not (parts.every or reader.peek(-1).text in ("every", "each")):
            reader.i += length
            choices = " or ".join(f'"{_completed(reader, start, day)}"' for day in ("saturday", "sunday"))
            raise reader.refusal("does not say which day", f"Say {choices}", start=start)
        if words in _INSTEAD:
            reader.i += length
            trouble, other = _INSTEAD[words]
            raise reader.refusal(trouble, f'Say for example "{reader.instead(start, other)}"', start=start)
    hour = reader.peek(1)
    if start.text == "half" and (hour.text in NUMBERS or hour.kind == "number"):
        reader.next()
        said = reader.instead(start, "half past")
        raise reader.refusal("is the half before the hour to some, after it to others", f'Say "{said}"', start=start)
    if start.text in ("after", "by") and not parts.every:
        _limit(reader, start)
    reader.i = mark


def _limit(reader: Reader, start: Token) -> None:
    """Refuse "after tomorrow", "by friday", which name a limit and no time."""
    before, named = reader.peek(-1), reader.next().text
    trouble = "is no exact time" if named == "after" else "is a deadline, but a job has one time"
    what = reader.peek().text
    if named == "after" and what == "tomorrow":
        raise reader.refusal(trouble, f'Say "{_completed(reader, start, "the day after")}"', start=start)
    if named == "after" and what == "next" and reader.i > 1 and before.text in WEEKDAYS:
        reader.next()
        at = reader.tokens[reader.i - 4] if reader.i > 3 and reader.tokens[reader.i - 4].text == "the" else before
        raise reader.refusal(trouble, f'Say "{_completed(reader, at, f"a week from {before.text}")}"', start=at)
    if before.text in WEEKDAYS:
        raise reader.refusal("counts from another day", 'Write the date, for example "2026-12-28 9am"', start=before)
    named_day = what in WEEKDAYS or what in NAMED_TIMES or what in RELATIVE_DAYS
    if named_day or reader.peek().kind in ("number", "clock", "date", "ordinal"):
        raise reader.refusal(trouble, f'Say when it runs: "{_completed(reader, start, "")}"', start=start)
    raise reader.refusal(trouble, 'Say when it runs, for example "today at 5pm"', start=start)


def _names_hour(reader: Reader) -> bool:
    return any(token.kind in ("number", "clock") for token in reader.tokens)


def _completed(reader: Reader, start: Token, other: str) -> str:
    """Return the text with `other` in place of the idiom, and an hour if it names none."""
    text = reader.instead(start, other)
    return text if _names_hour(reader) or "noon" in text else f"{text} at 9am"
