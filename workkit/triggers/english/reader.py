"""The parts of a phrase that the grammar finds, a cursor over its tokens, and refusals that show the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final, TypeVar

from workkit.errors import PhraseError
from workkit.text.wording import MONTH_NAMES
from workkit.triggers.english.words import (
    NUMBERS,
    TENS,
    UNITS,
    VOCABULARY,
    ZONE_ABBREVIATIONS,
    Token,
    Unit,
    quote,
    tokens,
)

LAST: Final = -1
"""The last day of a month, or the last such weekday of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A length of time. Months and days move the calendar, seconds pass."""

    months: int = 0
    days: int = 0
    seconds: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseStep:
    """Every `n` of a unit."""

    n: int
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """A date as written; a part that was not written is None."""

    year: int | None = None
    month: int | None = None
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a phrase. Times of day in seconds; weekdays 0-6, 0 = Sunday."""

    every: bool = False
    now: bool = False
    instant: datetime | None = None
    """An aware instant: a full date with its offset, or epoch seconds."""
    amount: Amount | None = None
    ahead: bool = False
    """"in" or "from now" was written beside the amount."""
    day: int | None = None
    """Days from today."""
    moved: int = 0
    """Days from the named day: 7 in "sunday week", -1 in "the day before christmas"."""
    this: bool = False
    """"this" was written before the weekday, which may be today."""
    following: bool = False
    """"next" was written before the weekday."""
    week: bool = False
    """The weekday is one of next week."""
    month_ahead: int | None = None
    """The day is one of this month (0) or of next month (1)."""
    nearest: bool = False
    """The first of several coming months is used: the end of the quarter."""
    ending: str | None = None
    """The unit that the phrase names the end of: month, quarter or year."""
    step: PhraseStep | None = None
    count: PhraseStep | None = None
    """`n` times a unit."""
    times: tuple[int, ...] = ()
    halved: bool = False
    """am or pm was written."""
    bare: bool = False
    """An hour was written as a number alone: at 5."""
    noon: bool = False
    """Noon was written: a part of the day does not change this 12:00."""
    day_part: str | None = None
    """One of morning, afternoon, evening, night."""
    marks: tuple[int, ...] = ()
    """Minutes past each hour."""
    window: tuple[int, int] | None = None
    """First and last second of the day, both included; the first may be the later one."""
    named_end: int | None = None
    """The second that the window's end names, if the window goes beyond it: 17:00 of "9am to 5pm"."""
    weekdays: tuple[tuple[int, int], ...] = ()
    """(weekday, n): every nth such day."""
    counted: bool = False
    """An ordinal comes between "every" and the weekday: it may count such days, or name one of a month."""
    without: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    """(k, weekday): the kth such day of the month, or the LAST."""
    days: tuple[int, ...] = ()
    """Days of the month, or LAST."""
    either: bool = False
    """The phrase matches days of the month *or* weekdays."""
    both: bool = False
    """A day of the month that must be the weekday too: friday the 13th."""
    monthly: bool = False
    """The days are those of every month."""
    months: tuple[tuple[int, int], ...] = ()
    """(month, n): every nth such month."""
    years: tuple[int, int] | None = None
    from_time: bool = False
    """"starting at" was written before the time of day: it is the phase of an interval."""
    start: Parts | None = None
    """The day, month or year (or instant) in which it begins."""
    end: Parts | None = None
    """The day, month or year (or instant) with which it ends."""
    before: bool = False
    """It ends before `end`, not with it."""
    zone: str | None = None
    offset: timedelta | None = None
    """The offset east of UTC, instead of a zone."""


T = TypeVar("T")
EXAMPLES: Final = '"7pm tomorrow", "in 5 minutes" or "every weekday at 9am"'
_EMPTY: Final = Parts()
_NAMES: Final = {
    "times": "time of day",
    "days": "day of the month",
    "weekdays": "weekday",
    "months": "month",
    "years": "year",
    "amount": "length of time",
    "day": "day",
    "step": "interval",
    "start": "start",
    "end": "end",
    "zone": "zone",
    "offset": "zone",
    "day_part": "part of the day",
    "places": "weekday of the month",
    "window": "window",
    "marks": "minute",
    "now": "instant",
    "instant": "instant",
    "count": "number of times",
    "monthly": "month",
    "without": "exception",
    "moved": "day",
    "month_ahead": "month",
}


class Reader:
    """The tokens of one phrase, and the position of the next one."""

    __slots__ = ("end", "examples", "far", "i", "offered", "text", "tokens")

    def __init__(self, text: str, *, examples: str = EXAMPLES, lead: str | None = None) -> None:
        """Cut `text` into tokens; raise PhraseError if that is not possible.

        `examples` go into messages; `lead` is a word to read in front of the text, which does not contain it.
        """
        self.text = text
        self.examples = examples
        self.tokens = [Token(kind="word", text=lead, start=0, end=0)] if lead else []
        self.tokens += tokens(text)
        self.i = self.far = 0
        self.offered: list[str] = []
        self.end = Token(kind="end", text="", start=len(text.rstrip()), end=len(text.rstrip()))

    def peek(self, ahead: int = 0) -> Token:
        """Look at a token without taking it; beyond the last there is one of kind "end"."""
        at = self.i + ahead
        return self.tokens[at] if 0 <= at < len(self.tokens) else self.end

    def next(self) -> Token:
        """Take one token."""
        token = self.peek()
        self.i += 1
        self.far = max(self.far, self.i)
        return token

    def take(self, *words: str) -> Token | None:
        """Take the next token if it is one of `words`."""
        return self.next() if self.peek().text in words and self.peek().kind != "end" else None

    def take_all(self, *words: str) -> bool:
        """Take these words, one after the other, or nothing."""
        if [self.peek(k).text for k in range(len(words))] != list(words):
            return False
        self.i += len(words)
        self.far = max(self.far, self.i)
        return True

    def take_from(self, table: Mapping[str, T]) -> T | None:
        """Take the next token if it is a word of `table`, and return its value."""
        return table[self.next().text] if self.peek().text in table else None

    def take_and(self) -> bool:
        """Take the separator of a list, and return whether there is one: a comma, and, &, or a comma and one."""
        comma = self.take(",")
        return bool(self.take("and", "&") or comma)

    def put(self, parts: Parts, token: Token, /, **new: object) -> Parts:
        """Add new parts; raise PhraseError at `token` for one that the phrase named before."""
        for name in new:
            if getattr(parts, name) != getattr(_EMPTY, name) and name in _NAMES:
                raise self.refusal(f"would be a second {_NAMES[name]}", "Say one", start=token)
        return replace(parts, **new)  # type: ignore[arg-type]

    def since(self, start: Token) -> str:
        """Return the text from `start` up to the cursor."""
        last = self.peek(-1) if self.i else start
        return self.text[start.start : max(last.end, start.end)]

    def instead(self, start: Token, other: str, *, last: Token | None = None) -> str:
        """Return the whole text with `other` in place of the text from `start` up to `last` or the cursor."""
        last = last or (self.peek(-1) if self.i else start)
        text = f"{self.text[: start.start]}{other}{self.text[max(last.end, start.end) :]}"
        self.offered.append(" ".join(text.split()))
        return self.offered[-1]

    def refusal(
        self, trouble: str, remedy: str, *, start: Token | None = None, suggestion: str | None = None
    ) -> PhraseError:
        """Make the error `"text": "what was read since start" (column) trouble. Remedy.`"""
        start = start or self.peek()
        what = self.since(start) if start is not self.peek() else self.text[start.start : start.end]
        sentence = remedy if remedy.endswith("?") else f"{remedy}."
        error = PhraseError(
            f"{place(self.text, start.start, what)} {trouble}. {sentence}",
            given=self.text,
            position=min(start.start, len(self.text)),
            trouble=trouble,
            remedy=sentence,
            accepted=remedy,
            suggestion=suggestion,
        )
        error.offered = tuple(text for text in self.offered if text in remedy)
        return error

    def stuck(self) -> PhraseError:
        """Make the error about the first token that no clause takes: an unknown word, or a known one out of place."""
        self.i = self.far
        token = self.peek()
        if token.kind == "end":
            return self._cut_short()
        if token.text in ZONE_ABBREVIATIONS:
            return self._abbreviated(token)
        if token.kind == "slashed":
            return _slashed(self, token)
        known = token.kind not in ("word", "other") or token.text in VOCABULARY
        what = place(self.text, token.start, self.text[token.start : token.end])
        trouble = "does not fit here" if known else "is not understood"
        return Misread(
            f"{what} {trouble}.",
            given=self.text,
            position=token.start,
            trouble=trouble,
            accepted=self.examples,
        )

    def _cut_short(self) -> PhraseError:
        last = self.tokens[-1]
        if len(self.tokens) == 1 and last.kind == "number":
            long = len(last.text) > 8
            if len(last.text) == 8:
                date = f"{last.text[:4]}-{last.text[4:6]}-{last.text[6:]}"
                return self.refusal("is a bare number", f'Say "{date}" for the date', start=last)
            remedy = (
                f'Say "@{last.text}" for epoch seconds' if long else f'Say "at {last.text}" or "{last.text} minutes"'
            )
            return self.refusal("is a bare number", remedy, start=last)
        before = self.tokens[-2].text if len(self.tokens) > 1 else ""
        is_length = before in ("in", "every", "each") or (self.tokens[0].text == "in" and before in UNITS)
        if (last.kind == "number" or last.text in NUMBERS or last.text in TENS) and is_length:
            remedy = f'Say "{self.text.strip()} minutes", or another unit'
            return self.refusal("has no unit", remedy, start=last)
        after = quote(self.text[last.start : last.end])
        return self.refusal(f"ends too early: something is missing after {after}", f"Say for example {self.examples}")

    def _abbreviated(self, token: Token) -> PhraseError:
        zone, name = ZONE_ABBREVIATIONS[token.text], self.text[token.start : token.end].upper()
        trouble = f"{name} means several zones. Name a place: {zone}"
        return PhraseError(
            f"{quote(self.text)}: {trouble if zone != 'UTC' else f'{name} is not a zone here. Write UTC'}.",
            given=self.text,
            position=token.start,
            accepted="a zone by its place, such as Europe/Paris, or UTC",
            suggestion=self.text[: token.start] + zone + self.text[token.end :],
        )


def named(error: PhraseError, name: str) -> PhraseError:
    """Make the same error about the option `name`: ``start="tomorow" is not understood. ...``."""
    return PhraseError(
        f"{name}={error}",
        given=error.given,
        position=error.position,
        where=name,
        trouble=error.trouble,
        remedy=error.remedy,
        accepted=error.accepted,
        suggestion=error.suggestion,
    )


def without_offer(error: PhraseError, remedy: str) -> PhraseError:
    """Make the same error with another remedy, because the text that it offers is not understood either."""
    return PhraseError(
        f"{str(error).removesuffix(error.remedy or '')}{remedy}.",
        given=error.given,
        position=error.position,
        trouble=error.trouble,
        remedy=f"{remedy}.",
        accepted=remedy,
    )


class Misread(PhraseError):
    """A word that the grammar cannot use; the caller may suggest a near one."""


def place(text: str, position: int, what: str) -> str:
    """Name the offending part of `text`, and its column unless it is the whole."""
    given = quote(text)
    return given if not what or what.strip() == text.strip() else f"{given}: {quote(what)} (column {position + 1})"


def _slashed(reader: Reader, token: Token) -> PhraseError:
    """Make the error about 01/02/2027, with the whole text for each possible date."""
    parts = [int(part) for part in re.findall(r"\d{1,4}", token.text)]
    if len(parts) == 3 and parts[0] >= 1970 and parts[1] <= 12 and parts[2] <= 31:
        remedy = _written(reader, token, f"{parts[0]}-{parts[1]:02}-{parts[2]:02}")
        return reader.refusal("is not a date as read here", remedy, start=token)
    if len(parts) == 2 and 1 <= min(parts) <= 12 and max(parts) <= 31:
        dates = [f"{day} {MONTH_NAMES[month - 1]}" for day, month in (parts, parts[::-1]) if month <= 12]
        remedy = _written(reader, token, *dict.fromkeys(dates))
        return reader.refusal("is not a date as read here", remedy, start=token)
    if len(parts) != 3 or not 1970 <= parts[2] <= 9999 or min(parts) < 1 or max(parts[:2]) > 31:
        return reader.refusal("is not a date as read here", "Write the year first: 2027-01-31", start=token)
    a, b, year = parts
    month, day = (a, b) if a <= 12 else (b, a)
    if max(a, b) > 12 or a == b:
        remedy = _written(reader, token, f"{year}-{month:02}-{day:02}", f"{day} {MONTH_NAMES[month - 1]} {year}")
        if min(a, b) > 12:
            remedy = "Write the year first: 2027-01-31"
        return reader.refusal("is not a date as read here", remedy, start=token)
    trouble = f"is {MONTH_NAMES[a - 1]} {b} to some and {a} {MONTH_NAMES[b - 1]} to others"
    remedy = _written(reader, token, f"{year}-{a:02}-{b:02}", f"{a} {MONTH_NAMES[b - 1]} {year}")
    return reader.refusal(trouble, remedy, start=token)


def _written(reader: Reader, token: Token, *dates: str) -> str:
    """Return the advice to write one of the dates in place of `token`; quotes the text if there is more of it."""
    alone = reader.text.strip() == reader.text[token.start : token.end]
    mark = "" if alone else '"'
    reader.i = next(k for k, other in enumerate(reader.tokens) if other is token) + 1
    texts = [f"{mark}{reader.instead(token, date)}{mark}" for date in dates]
    reader.i -= 1
    return f"Write {' or '.join(texts)}"
