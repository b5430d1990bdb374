"""Words that name no exact time, or none that is understood, each with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.synonyms import MOVABLE_HOLIDAYS
from workkit.triggers.english.grammar.words import NAMED_TIMES, NUMBERS, RELATIVE_DAYS, UNITS, WEEKDAYS, Token

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
_LONGEST: Final = 5  # words of one idiom
_TWO_MEANINGS: Final = {
    "biweekly": ("twice a week", "every two weeks", 'Say "every other monday at 9am"'),
    "bimonthly": ("twice a month", "every two months", 'Say "every 2 months on the 1st"'),
    "biannually": ("twice a year", "every two years", 'Say "every 6 months" or "every 2 years"'),
    "biannual": ("twice a year", "every two years", 'Say "every 6 months" or "every 2 years"'),
}


def vague(reader: Reader, parts: Parts) -> Parts | None:
    """Refuse what names no time; give None otherwise."""
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
    """Refuse an idiom, with the text in which an example takes its place."""
    mark = reader.i
    if reader.take("at") is None and reader.peek(1).text not in ("the", "next", "business"):
        reader.take("in", "every")
    start = reader.peek()
    for length in range(_LONGEST, 0, -1):
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
    """Give the text with `other` in the place of the idiom, and an hour if it names none."""
    text = reader.instead(start, other)
    return text if _names_hour(reader) or "noon" in text else f"{text} at 9am"
