"""The date that refused words perhaps mean: a second opinion by parsedatetime. It is suggested, never scheduled.

parsedatetime guesses, and passes over what it does not know. So its answer counts only where it used every word of a
short text, says all that the text says (`kept.py`), and lies ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise
from typing import Any, Final

from workkit.errors import PhraseError
from workkit.text.nearest import nearest_word
from workkit.triggers.english.grammar.words import (
    ADVERBS,
    MONTHS,
    PLURAL_WEEKDAYS,
    UNITS,
    VOCABULARY,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
    tokens,
)
from workkit.triggers.english.kept import HARMLESS, MEANINGFUL, keeps_date

LONGEST: Final = 60  # characters of a text that is tried
MOST_TOKENS: Final = 10
_ALIKE: Final = 0.75
_FILLERS: Final = frozenset(("at", "on", "the", "of", "in", "and", "or"))
_RECURRING: Final = frozenset(
    (
        *("every", "each", "other", "per", "once", "twice", "times", "except", "but", "between", "during"),
        *("to", "until", "till", "through", "starting", "beginning", "ending"),
        *ADVERBS,
        *PLURAL_WEEKDAYS,
        *(f"{group}{s}" for group in WEEKDAY_GROUPS for s in ("", "s")),
    )
)
"""Words of what recurs: one date is no answer to them."""
_NAMES: Final = sorted(word for word in VOCABULARY - _RECURRING if len(word) > 2)
_READABLE: Final = ("word", "number", "clock", "ordinal", "sign")  # kinds of tokens; the others have exact refusals
_NEXT: Final = ("next", "this", "last")
_NAMED: Final = frozenset((*WEEKDAYS, *UNITS))
"""What parsedatetime reads well behind `_NEXT`: not "monday after next", nor "next march 3"."""
_NOT_HOURS: Final = frozenset((*UNITS, *MONTHS, "am", "pm", "a.m.", "p.m.", "o'clock"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A naive wall-clock time; `timed` tells whether the text named the hour too."""

    at: datetime
    timed: bool


def opinion(text: str, *, now: datetime) -> Opinion | None:
    """Guess the one time that `text` names, later than `now`, both on the naive wall clock of the phrase's zone.

    None where there is no good guess. Never raises, and is quick: long texts are not tried. The first call imports
    parsedatetime.
    """
    try:
        for words in _candidates(text):
            found = _guessed(words, now=now)
            if found is not None:
                return found
    except Exception:  # whatever a grammar of somebody else makes of hostile text, the refusal needs no guess
        return None
    return None


def _candidates(text: str) -> Iterator[list[str]]:
    """Yield what to ask: the words as they are, then with each unknown word replaced by a near one or left out."""
    if len(text) > LONGEST:
        return
    try:
        found = tokens(text)
    except PhraseError:
        return
    if len(found) > MOST_TOKENS or any(t.kind not in _READABLE or t.text in _RECURRING for t in found):
        return
    words = [_with_half(found, n) for n in range(len(found))]
    if sum(word != token.text for token, word in zip(found, words, strict=True)) > 1:
        return  # several numbers: which one is the hour?
    yield [word for word in words if word != ","]
    repaired = [
        word if token.kind != "word" or token.text in VOCABULARY else _repaired(word)
        for token, word in zip(found, words, strict=True)
    ]
    if repaired != words and None not in repaired:
        yield [word for word in repaired if word and word not in ("-", ",")]


def _repaired(word: str) -> str | None:
    """Give the word that an unknown one is near to, nothing for one that says nothing, None for any other."""
    if word in HARMLESS:
        return ""
    return None if word in MEANINGFUL else nearest_word(word, _NAMES, alike=_ALIKE)


def _with_half(found: list[Token], n: int) -> str:
    """Give a token; a bare number that can only be an hour gets the half of the day in which people work."""
    token = found[n]
    before = found[n - 1].text if n else ""
    after = found[n + 1].text if n + 1 < len(found) else ""
    bare = token.kind == "number" and token.text.isdigit() and 0 < int(token.text[:3]) < 24
    if not bare or after in _NOT_HOURS or before in MONTHS or before == "-" or after == "-":
        return token.text
    hour = int(token.text)
    return f"{hour}:00" if hour > 12 else f"{hour}{'am' if 7 <= hour < 12 else 'pm'}"


def _guessed(words: list[str], *, now: datetime) -> Opinion | None:
    """Ask parsedatetime, and keep an answer only if it uses all words, names what they name, and lies ahead."""
    if any(word in _NEXT and after not in _NAMED for word, after in pairwise((*words, ""))):
        return None
    from parsedatetime import VERSION_CONTEXT_STYLE, Calendar, Constants  # only where a phrase was refused

    calendar = Calendar(Constants(usePyICU=False), version=VERSION_CONTEXT_STYLE)  # one a call: it keeps state
    text = " ".join(words)
    source = now.replace(microsecond=0)
    matches: Any = calendar.nlp(text, sourceTime=source)
    if not matches or len(matches) != 1:
        return None
    _, _, start, end, _ = matches[0]
    if not _FILLERS.issuperset(f"{text[:start]} {text[end:]}".split()):
        return None
    at, context = calendar.parseDT(text, sourceTime=source)
    if not isinstance(at, datetime) or not (context.hasDate or context.hasTime):
        return None
    if not context.hasTime:
        at = datetime.combine(at.date(), time())
    if not context.hasDate and not timedelta(0) <= at.date() - now.date() <= timedelta(days=1):
        return None  # it has asked the clock of the machine
    if not context.hasDate and at <= now:
        at += timedelta(days=1)
    return Opinion(at=at, timed=bool(context.hasTime)) if at > now and keeps_date(words, at, now=source) else None
