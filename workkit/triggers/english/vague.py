"""Words that name no exact time, or none that is understood, each with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.synonyms import MOVABLE_HOLIDAYS
from workkit.triggers.english.grammar.words import UNITS, WEEKDAYS, Token

_NO_TIME: Final = "is no exact time"
_VAGUE: Final = {
    **dict.fromkeys(("soon", "later", "sometime", "sometimes", "eventually", "asap"), 'Say for example "in 5 minutes"'),
    "often": 'Say for example "every 5 minutes"',
    "few": 'Say a number: "in 5 minutes"',
    "couple": 'Say a number: "in 2 hours"',
    "several": 'Say a number: "in 5 minutes"',
    "while": 'Say a length: "in 10 minutes"',
    "some": 'Say a number: "in 5 minutes"',
    "moment": 'Say a length: "in 10 seconds"',
    "payday": 'Say its day, for example "on the 25th of every month at 9am"',
    "paydays": 'Say its day, for example "on the 25th of every month at 9am"',
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
    **dict.fromkeys(("overnight", "during the night"), ("does not say which hour", "at 2am")),
}
"""Words, what is wrong with them, and an example of what to say in their place."""

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
    ahead = reader.peek(1).text if word in ("in", "a", "every") else word
    ahead = reader.peek(2).text if word == "in" and ahead in ("a", "some") and reader.peek(2).text in _VAGUE else ahead
    if ahead in _VAGUE:
        while reader.next().text != ahead:
            pass
        raise reader.refusal(_NO_TIME, _VAGUE[ahead], start=reader.peek(-1))
    if word in _TWO_MEANINGS:
        reader.next()
        one, other, remedy = _TWO_MEANINGS[word]
        raise reader.refusal(f"is {one} to some and {other} to others", remedy, start=start)
    _idiom(reader, parts)
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
    reader.take("at")
    start = reader.peek()
    for length in range(_LONGEST, 0, -1):
        words = " ".join(reader.peek(k).text for k in range(length))
        if words in MOVABLE_HOLIDAYS:
            reader.i += length
            date = reader.instead(start, "YYYY-MM-DD")
            raise reader.refusal("has another date each year", f'Write its date: "{date}"', start=start)
        if words in _WEEKENDS and not parts.every:
            reader.i += length
            choices = " or ".join(f'"{_completed(reader, start, day)}"' for day in ("saturday", "sunday"))
            raise reader.refusal("does not say which day", f"Say {choices}", start=start)
        if words in _INSTEAD:
            reader.i += length
            trouble, other = _INSTEAD[words]
            raise reader.refusal(trouble, f'Say for example "{reader.instead(start, other)}"', start=start)
    if start.text == "after" and not parts.every:
        tomorrow = reader.peek(1).text == "tomorrow"
        reader.next()
        rest = _completed(reader, start, "the day after" if tomorrow else "")
        raise reader.refusal("is no exact time", f'Say when it runs: "{rest}"', start=start)
    if start.text == "by":
        reader.i += 1
        rest = _completed(reader, start, "")
        raise reader.refusal("is a deadline, but a job has one time", f'Say when it runs: "{rest}"', start=start)
    reader.i = mark


def _names_hour(reader: Reader) -> bool:
    return any(token.kind in ("number", "clock") for token in reader.tokens)


def _completed(reader: Reader, start: Token, other: str) -> str:
    """Give the text with `other` in the place of the idiom, and an hour if it names none."""
    text = reader.instead(start, other)
    return text if _names_hour(reader) or "noon" in text else f"{text} at 9am"
