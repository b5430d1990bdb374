"""The nearest understood phrase to a misspelt one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from workkit.errors import PhraseError
from workkit.text.nearest import nearest_words
from workkit.triggers.english.grammar.reader import Misread
from workkit.triggers.english.grammar.words import NUMBERS, ORDINALS, TENS, VOCABULARY, Token, tokens
from workkit.triggers.english.kept import HARMLESS, MEANINGFUL, keeps_words

MAX_TRIES: Final = 3
LONG: Final = 50  # characters; from here on only the nearest phrase is tried
MAX_UNKNOWN: Final = 4
_LONGEST: Final = max(map(len, VOCABULARY)) + 3
_NUMBERS: Final = frozenset((*NUMBERS, *TENS, *ORDINALS, "once", "twice", "half", "quarter", "other"))
_SORTED: Final = sorted(word for word in VOCABULARY if len(word) > 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A text that is understood, and the sentence that offers it."""

    text: str
    remedy: str


def with_suggestion(
    trouble: Misread,
    understood: Callable[[str], object],
    *,
    command: str | None = "workkit next",
    otherwise: Callable[[], Suggestion | None] | None = None,
) -> Misread:
    """Complete the message of `trouble` with a near phrase that is understood, if there is one.

    `command` is what to try the phrase with; `otherwise` is asked where no phrase is near. The search is bounded: at
    most `MAX_TRIES` phrases are tried.
    """
    text = str(trouble.given)
    near = islice(_near(text), MAX_TRIES if len(text) < LONG else 1)
    suggestion = next((phrase for phrase in near if _is_understood(phrase, understood)), None)
    if suggestion is not None:
        remedy = f'Did you mean "{suggestion}"?' + (f' Try: {command} "{suggestion}".' if command else "")
    elif otherwise is not None and (other := otherwise()) is not None:
        suggestion, remedy = other.text, other.remedy
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
    """Yield phrases in which each unknown word is the nearest known one, or is left out because it says nothing."""
    unknown = [token for token in tokens(text) if token.kind == "word" and token.text not in VOCABULARY]
    if not 0 < len(unknown) <= MAX_UNKNOWN or any(len(token.text) > _LONGEST for token in unknown):
        return
    near = [_nearest(token.text) for token in unknown]
    tries = [[words[k] for words in near] for k in range(2) if all(len(words) > k for words in near)]
    for words in tries:
        other = _replaced(text, unknown, words=words)
        if keeps_words(text, other):
            yield other


def _nearest(word: str) -> list[str]:
    """Find up to two known words that `word` may be a slip of; nothing at all for a word that may be left out."""
    if word in HARMLESS:
        return [""]
    if word in MEANINGFUL:
        return []
    near = nearest_words(word, _alike(word), most=2, alike=0.7)
    return [known for known in near if not _means_another(word, known)]


def _means_another(word: str, known: str) -> bool:
    """Tell whether `word` is a word of its own rather than a slip: biyearly is not yearly, and a number is no other."""
    prefix = word.removesuffix(known)
    if prefix != word and len(prefix) > 1:
        return True
    return known in _NUMBERS and not nearest_words(word, [known], most=1, alike=0.85)


def _alike(word: str) -> list[str]:
    """Known words worth comparing: few slips change both ends of a word, or its length by more than two letters."""
    return [
        known
        for known in _SORTED
        if abs(len(known) - len(word)) <= 2 and (known[0] == word[0] or known[-1] == word[-1])
    ]


def _replaced(text: str, unknown: list[Token], *, words: list[str]) -> str:
    for token, word in zip(reversed(unknown), reversed(words), strict=True):
        text = text[: token.start] + word + text[token.end :]
    return text if all(words) else " ".join(text.split())
