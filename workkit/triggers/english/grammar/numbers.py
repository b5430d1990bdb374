"""The grammar of numbers and lengths of time: 5, forty-five, 1h30m, half an hour, an hour and a half, PT5M."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Final

from workkit.triggers.english.grammar.parts import Amount
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import NUMBERS, ORDINALS, SECONDS, TENS, UNITS, Token, Unit

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
    """Add `value` units; only hours and smaller ones can be split."""
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
