"""Words that name no exact time, each with what to write instead."""

from __future__ import annotations

from typing import Final

from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import UNITS, WEEKDAYS

_VAGUE: Final = {
    **dict.fromkeys(("soon", "later", "sometime", "sometimes", "eventually", "asap"), 'Say for example "in 5 minutes"'),
    "lunchtime": 'Say for example "noon"',
    "lunch": 'Say for example "noon"',
    "nightly": 'Say for example "every day at 2am"',
    "often": 'Say for example "every 5 minutes"',
    "few": 'Say a number: "in 5 minutes"',
    "couple": 'Say a number: "in 2 hours"',
    "several": 'Say a number: "in 5 minutes"',
    "while": 'Say a length: "in 10 minutes"',
    "some": 'Say a number: "in 5 minutes"',
    "moment": 'Say a length: "in 10 seconds"',
}
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
        raise reader.refusal("is no exact time", _VAGUE[ahead], start=reader.peek(-1))
    if word in _TWO_MEANINGS:
        reader.next()
        one, other, remedy = _TWO_MEANINGS[word]
        raise reader.refusal(f"is {one} to some and {other} to others", remedy, start=start)
    if word in ("next", "this", "last") and reader.peek(1).text in UNITS and reader.peek(1).text != "day":
        reader.i += 2
        unit = reader.peek(-1).text
        if word == "last":
            raise reader.refusal("is past", "Say a time to come", start=start)
        raise reader.refusal("is a span, not an instant", f'Say a day of it, or "in 1 {unit}"', start=start)
    past = word == "last" and reader.peek(1).text in WEEKDAYS and not parts.every
    if past and (len(reader.tokens) == reader.i + 2 or reader.peek(2).text == "at"):
        reader.i += 2
        what = reader.since(start)
        raise reader.refusal("is past", f'Say "{what} of every month" or a day to come', start=start)
    return None
