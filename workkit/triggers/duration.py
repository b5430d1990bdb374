"""Lengths of time that pass: "30s", "1h30m", "5 minutes", "1.5 hours". The words are those of phrases."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from workkit.errors import PhraseError, TriggerError
from workkit.triggers.english.grammar.numbers import amount
from workkit.triggers.english.grammar.reader import Misread, Reader, named
from workkit.triggers.english.guess import with_suggestion
from workkit.triggers.refusal import not_a_length, refused

EXAMPLES: Final = '"30s", "1h30m" or "5 minutes"'
ACCEPTED: Final = '"30s", "1h30m", "5 minutes", "2 days" or a timedelta'


def duration(value: str | timedelta, *, name: str = "duration") -> timedelta:
    """Read a length of time, zero or more; a day is 24 hours. Messages begin with the option's `name`.

    Raise TriggerError for a number, which has no unit, and for what is negative or no duration; PhraseError for words
    that are not understood whole, or name months or years, whose length is not fixed.
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
