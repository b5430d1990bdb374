"""Numbers and lengths of time: 5, forty-five, 1h30m, half an hour, PT5M; and the nearest text to a misspelt one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from itertools import islice
from typing import Final

from workkit.errors import PhraseError, TriggerError
from workkit.text.nearest import nearest_words
from workkit.triggers.crons.field import not_a_length, refused
from workkit.triggers.english.reader import Amount, Misread, Reader, named
from workkit.triggers.english.words import (
    NUMBERS,
    ORDINALS,
    SECONDS,
    TENS,
    UNITS,
    VOCABULARY,
    Token,
    Unit,
    tokens,
)

MAX_DIGITS: Final = 9
_ORDER: Final = ("year", "quarter", "month", "fortnight", "week", "day", "hour", "minute", "second")
_PERIOD: Final = re.compile(r"p(?:(\d+)y)?(?:(\d+)m)?(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)?")
_PERIOD_UNITS: Final[tuple[Unit, ...]] = ("year", "month", "week", "day", "hour", "minute", "second")


def integer(reader: Reader) -> int | None:
    """Read 5, five, twenty or twenty-five; nothing for a decimal."""
    token = reader.peek()
    if token.kind == "number" and "." not in token.text:
        return _whole(reader, reader.next())
    if token.text in NUMBERS:
        return NUMBERS[reader.next().text]
    if token.text in TENS:
        tens = TENS[reader.next().text]
        ahead = 1 if reader.peek().text == "-" else 0
        ones = NUMBERS.get(reader.peek(ahead).text, 0)
        if 0 < ones < 10:
            reader.i += ahead + 1
            return tens + ones
        return tens
    return None


def _whole(reader: Reader, token: Token) -> int:
    if len(token.text) > MAX_DIGITS + 3:
        raise reader.refusal("is out of range", f"Numbers have at most {MAX_DIGITS} digits", start=token)
    return int(token.text)


def ordinal_number(reader: Reader) -> int | None:
    """Read 1st to 31st, or first to fifth."""
    token = reader.peek()
    if token.kind == "ordinal":
        reader.next()
        n = int(token.text[:-2]) if len(token.text) < 6 else 0
        if not 1 <= n <= 31:
            raise reader.refusal("is out of range", "Accepted: 1st to 31st", start=token)
        return n
    return ORDINALS[reader.next().text] if token.text in ORDINALS else None


def number(reader: Reader) -> Fraction | None:
    """Read an amount: 5, 1.5, five, a, an, one and a half."""
    token = reader.peek()
    if reader.take("a", "an"):
        return Fraction(1)
    if token.kind == "number" and "." in token.text:
        reader.next()
        if len(token.text) > MAX_DIGITS + 3:
            raise reader.refusal("is out of range", f"Numbers have at most {MAX_DIGITS} digits", start=token)
        return Fraction(token.text)
    whole = integer(reader)
    if whole is None:
        return None
    return whole + Fraction(1, 2) if reader.take_all("and", "a", "half") else Fraction(whole)


def unit(reader: Reader) -> Unit | None:
    """Read the name of a unit."""
    return UNITS[reader.next().text] if reader.peek().text in UNITS else None


def amount(reader: Reader) -> Amount | None:
    """Read a length of time, which may be zero; nothing, and no token taken, if none follows."""
    start = reader.peek()
    if start.kind == "period":
        return _period(reader, reader.next())
    found = pieces(reader)
    total = Amount()
    for value, name in found:
        total = _plus(reader, total, value=value, unit=name, start=start)
    return total if found else None


def pieces(reader: Reader) -> list[tuple[Fraction, Unit]]:
    """Read "2 hours and 30 minutes" piece by piece, largest unit first; nothing if none follows."""
    start = reader.peek()
    found: list[tuple[Fraction, Unit]] = []
    mark = reader.i
    while (piece := _piece(reader)) is not None:
        if found and _ORDER.index(piece[1]) <= _ORDER.index(found[-1][1]):
            raise reader.refusal("has its units out of order", 'Say for example "1 hour and 30 minutes"', start=start)
        found.append(piece)
        mark = reader.i
        reader.take_and()
    reader.i = mark
    return found


def _piece(reader: Reader) -> tuple[Fraction, Unit] | None:
    mark = reader.i
    shares = _share(reader)
    value = shares if shares is not None else number(reader)
    name = unit(reader) if value is not None else None
    if value is None or name is None or reader.peek().text in ("past", "to"):
        reader.i = mark
        return None
    if shares is None and reader.take_all("and", "a", "half"):
        value += Fraction(1, 2)
    elif shares is None and reader.take_all("and", "a", "quarter"):
        value += Fraction(1, 4)
    return value, name


def _share(reader: Reader) -> Fraction | None:
    """Read "half an", "a quarter of an", "three quarters of an"."""
    for words, share in (
        (("half", "an"), Fraction(1, 2)),
        (("half", "a"), Fraction(1, 2)),
        (("half", "hour"), Fraction(1, 2)),
        (("a", "quarter", "of", "an"), Fraction(1, 4)),
        (("quarter", "of", "an"), Fraction(1, 4)),
        (("three", "quarters", "of", "an"), Fraction(3, 4)),
    ):
        if reader.take_all(*words):
            if words[-1] == "hour":
                reader.i -= 1
            return share
    return None


def _plus(reader: Reader, total: Amount, *, value: Fraction, unit: Unit, start: Token) -> Amount:
    """Add `value` units to the total; only hours and smaller units can have a fraction."""
    if unit in SECONDS:
        return replace(total, seconds=total.seconds + value * SECONDS[unit])
    if value.denominator != 1:
        raise reader.refusal(f"splits a {unit}", 'Say it in smaller units, for example "36 hours"', start=start)
    n = int(value)
    match unit:
        case "day" | "week" | "fortnight":
            return replace(total, days=total.days + n * {"day": 1, "week": 7, "fortnight": 14}[unit])
        case _:
            return replace(total, months=total.months + n * {"month": 1, "quarter": 3, "year": 12}[unit])


def _period(reader: Reader, token: Token) -> Amount:
    match = _PERIOD.fullmatch(token.text)
    if match is None or not any(match.groups()):
        raise reader.refusal("is no ISO 8601 duration", "Write for example PT5M or P1DT2H", start=token)
    total = Amount()
    for digits, name in zip(match.groups(), _PERIOD_UNITS, strict=True):
        if digits:
            if len(digits) > MAX_DIGITS:
                raise reader.refusal("is out of range", f"Numbers have at most {MAX_DIGITS} digits", start=token)
            total = _plus(reader, total, value=Fraction(digits), unit=name, start=token)
    return total


_MAX_TRIES: Final = 3
LONG: Final = 50  # characters; from here on only the nearest phrase is tried
_MAX_UNKNOWN: Final = 4
_LONGEST: Final = max(map(len, VOCABULARY)) + 3
_NUMBERS: Final = frozenset((*NUMBERS, *TENS, *ORDINALS, "once", "twice", "half", "quarter", "other"))
_SORTED: Final = sorted(word for word in VOCABULARY if len(word) > 2)


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
"""Words with a meaning: no suggestion treats one as the misspelling of another word."""

_PIECE: Final = re.compile(r"[a-z][a-z']*|\d[\d.:]*|[^\s\w]")


def with_suggestion(
    trouble: Misread,
    understood: Callable[[str], object],
    *,
    command: str | None = "workkit next",
) -> Misread:
    """Complete the message of `trouble` with a near phrase that is understood, if there is one.

    `command` is the command to try the phrase with. The search tries at most `_MAX_TRIES` phrases.
    """
    text = str(trouble.given)
    near = islice(_near(text), _MAX_TRIES if len(text) < LONG else 1)
    suggestion = next((phrase for phrase in near if _is_understood(phrase, understood)), None)
    if suggestion is not None:
        remedy = f'Did you mean "{suggestion}"?' + (f' Try: {command} "{suggestion}".' if command else "")
    else:
        remedy = f"Say for example {trouble.accepted}."
    return Misread(
        f"{trouble} {remedy}",
        given=text,
        position=trouble.position,
        trouble=trouble.trouble,
        remedy=remedy,
        accepted=trouble.accepted,
        suggestion=suggestion,
    )


def _is_understood(text: str, understood: Callable[[str], object]) -> bool:
    try:
        understood(text)
    except PhraseError:
        return False
    return True


def _near(text: str) -> Iterator[str]:
    """Yield phrases with the nearest known word for each unknown word, or without words that are harmless."""
    unknown = [token for token in tokens(text) if token.kind == "word" and token.text not in VOCABULARY]
    if not 0 < len(unknown) <= _MAX_UNKNOWN or any(len(token.text) > _LONGEST for token in unknown):
        return
    near = [_nearest(token.text) for token in unknown]
    tries = [[words[k] for words in near] for k in range(2) if all(len(words) > k for words in near)]
    for words in tries:
        other = _replaced(text, unknown, words=words)
        if _keeps_words(text, other):
            yield other


def _keeps_words(given: str, other: str) -> bool:
    """Return whether a near phrase keeps every number, unit and meaningful word: it replaces unknown words one by one,
    and leaves out only harmless ones.
    """
    before, after = (Counter(_PIECE.findall(text.lower())) for text in (given, other))
    lost, new = before - after, after - before
    if any(not _is_unknown(piece) or piece in MEANINGFUL for piece in lost):
        return False
    return sum(n for piece, n in lost.items() if piece not in HARMLESS) <= new.total() <= lost.total()


def _is_unknown(piece: str) -> bool:
    return piece[0].isalpha() and piece not in VOCABULARY


def _nearest(word: str) -> list[str]:
    """Return up to two known words that `word` may be a misspelling of; none for a word that may be left out."""
    if word in HARMLESS:
        return [""]
    if word in MEANINGFUL:
        return []
    near = nearest_words(word, _alike(word), most=2, alike=0.7)
    return [known for known in near if not _means_another(word, known)]


def _means_another(word: str, known: str) -> bool:
    """Return whether `word` is another word than `known`, not a misspelling: biyearly is not yearly, nor is a number
    another number.
    """
    prefix = word.removesuffix(known)
    if prefix != word and len(prefix) > 1:
        return True
    return known in _NUMBERS and not nearest_words(word, [known], most=1, alike=0.85)


def _alike(word: str) -> list[str]:
    """List the known words to compare: few misspellings change both ends of a word, or its length by more than two
    letters.
    """
    return [
        known
        for known in _SORTED
        if abs(len(known) - len(word)) <= 2 and (known[0] == word[0] or known[-1] == word[-1])
    ]


def _replaced(text: str, unknown: list[Token], *, words: list[str]) -> str:
    for token, word in zip(reversed(unknown), reversed(words), strict=True):
        text = text[: token.start] + word + text[token.end :]
    return text if all(words) else " ".join(text.split())


EXAMPLES: Final = '"30s", "1h30m" or "5 minutes"'
ACCEPTED: Final = '"30s", "1h30m", "5 minutes", "2 days" or a timedelta'


def duration(value: str | timedelta, *, name: str = "duration") -> timedelta:
    """Read a length of time, zero or more; a day is 24 hours. Messages begin with the option's `name`.

    Raise TriggerError for a number, which has no unit, for a negative length, and for a value of another kind. Raise
    PhraseError for words that are not understood whole, and for months and years, which have no fixed length.
    """
    if isinstance(value, timedelta):
        if value < timedelta():
            remedy = f"Accepted: {ACCEPTED}."
            raise refused(TriggerError, name, repr(value), "is negative", remedy, given=value, accepted=ACCEPTED)
        return value
    if isinstance(value, str):
        try:
            return _read(value)
        except Misread as trouble:
            raise named(with_suggestion(trouble, _read, command=None), name) from None
        except PhraseError as trouble:
            raise named(trouble, name) from None
    raise not_a_length(name, value, accepted=ACCEPTED)


def _read(text: str) -> timedelta:
    reader = Reader(text, examples=EXAMPLES)
    if not reader.tokens:
        raise reader.refusal("says nothing", f"Say for example {EXAMPLES}")
    reader.take("in")
    start = reader.peek()
    found = amount(reader)
    if found is None and start.kind == "number" and reader.peek(1).kind == "end":
        raise reader.refusal("has no unit", f'Write "{start.text}s" or "{start.text} minutes"', start=start)
    if found is None or reader.peek().kind != "end":
        raise reader.stuck()
    if found.months:
        raise reader.refusal("has no fixed length", "Say it in days or hours", start=start)
    try:
        return timedelta(days=found.days, microseconds=-(-found.seconds * 1_000_000 // 1))
    except OverflowError:
        raise reader.refusal("is out of range", "Say it in at most 999,999,999 days", start=start) from None
