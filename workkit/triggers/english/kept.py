"""What a suggestion must keep: every number, unit and word that matters. Else there is none.

One rule for all suggestions of times: near phrases (`guess.py`) and full dates (`opinion.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dateutil.relativedelta import relativedelta

from workkit.errors import PhraseError
from workkit.triggers.english.grammar.numbers import amount
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import MONTHS, ORDINALS, UNITS, VOCABULARY, WEEKDAYS, Token, tokens

_HARMLESS = """
    please pls plz thanks thx about around approximately approx roughly circa exactly precisely sharp ish
"""
HARMLESS: Final = frozenset(_HARMLESS.split())
"""Words that a suggestion may leave out."""

_MEANINGFUL = """
    after before since until by from within without with unless if when while not no never none only even odd same
    alternate alternating consecutive previous following coming next last earlier later early late mid semi except
    excluding including skip skipping besides random randomly different other nearest closest final leap
    working business work bank public school holiday holidays payday paydays vacation
    eastern western central pacific mountain standard daylight local time zone summer winter spring autumn fall
    sunrise sunset dawn dusk breakfast lunch dinner supper teatime arvo
    dozen pair couple few several many some both either neither hundred thousand million zero
    ago past to times per
"""
MEANINGFUL: Final = frozenset(_MEANINGFUL.split())
"""Words that say something: no suggestion takes one for the misspelling of another word."""

_PIECE: Final = re.compile(r"[a-z][a-z']*|\d[\d.:]*|[^\s\w]")
_FILLERS: Final = frozenset(("at", "on", "the", "of", "in", "and", "or", "a", "an", ",", "-", "&"))
_DAYS: Final = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_PARTS: Final = {
    "morning": range(12),
    "afternoon": range(12, 19),
    "evening": range(16, 24),
    "night": (*range(18, 24), *range(6)),
    "tonight": (*range(17, 24), 0),
    "am": range(12),
    "a.m.": range(12),
    "pm": range(12, 24),
    "p.m.": range(12, 24),
}
_HOURS: Final = {"noon": 12, "midday": 12, "midnight": 0}
_FREE: Final = frozenset(("this", "next", "now", "o'clock", "breakfast", "lunch", "dinner", "eod", "eom", "eoy"))
"""Words that the date may answer in any way, as parsedatetime reads them whole."""


def keeps_words(given: str, other: str) -> bool:
    """Tell whether a near phrase keeps all of `given`: unknown words are exchanged, and only harmless ones left out."""
    before, after = (Counter(_PIECE.findall(text.lower())) for text in (given, other))
    lost, new = before - after, after - before
    if any(not _is_unknown(piece) or piece in MEANINGFUL for piece in lost):
        return False
    return sum(n for piece, n in lost.items() if piece not in HARMLESS) <= new.total() <= lost.total()


def _is_unknown(piece: str) -> bool:
    return piece[0].isalpha() and piece not in VOCABULARY


def keeps_date(words: Sequence[str], at: datetime, *, now: datetime) -> bool:
    """Tell whether a date, on the same naive wall clock as `now`, says all that the words say."""
    text = " ".join(words)
    try:
        found = tokens(text)
    except PhraseError:
        return False
    if any(one.text == "in" and two.kind == "clock" for one, two in pairwise(found)):
        return False  # perhaps a length: 1 hour 30 minutes
    reader, seen = Reader(text), 0
    while seen < len(found):
        reader.i = seen
        length = None if seen and found[seen - 1].text == "at" else _length(reader)
        if length is not None:
            if at.replace(microsecond=0) != (now + length).replace(microsecond=0):
                return False
            seen = reader.i
        elif _says(found[seen], at, now=now):
            seen += 1
        else:
            return False
    return True


def _length(reader: Reader) -> relativedelta | None:
    """Read an amount as a move of the calendar."""
    try:
        found = amount(reader)
    except PhraseError:
        return None
    if found is None or found.seconds % 1 != Fraction(0):
        return None
    return relativedelta(months=found.months, days=found.days, seconds=int(found.seconds))


def _says(token: Token, at: datetime, *, now: datetime) -> bool:
    """Tell whether the date agrees with one word or number."""
    word = token.text
    match token.kind:
        case "number":
            return word.isdigit() and _is_number(int(word), at)
        case "ordinal":
            return int(word[:-2]) == at.day
        case "clock":
            hour, minute = (int(part) for part in word.split(":")[:2])
            return hour % 12 == at.hour % 12 and minute == at.minute
    if word in _DAYS and _day(at, now=now) != _DAYS[word]:
        return False
    if word in _PARTS:
        return at.hour in _PARTS[word]
    if word in _HOURS:
        return at.hour == _HOURS[word]
    if word in WEEKDAYS:
        return at.isoweekday() % 7 == WEEKDAYS[word]
    if word in MONTHS:
        return at.month == MONTHS[word]
    if word in ORDINALS:
        return at.day == ORDINALS[word]
    return word in (*_FILLERS, *_FREE, *_DAYS, *HARMLESS) or (
        word in UNITS and UNITS[word] in ("week", "month", "year")
    )


def _is_number(n: int, at: datetime) -> bool:
    return n in (at.year, at.day) or (n < 24 and n % 12 == at.hour % 12 and (n < 12 or n == at.hour or n == 12))


def _day(at: datetime, *, now: datetime) -> int:
    days: timedelta = date(at.year, at.month, at.day) - date(now.year, now.month, now.day)
    return days.days
