"""The nearest understood phrase to a misspelt one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from workkit.errors import PhraseError
from workkit.text.nearest import nearest_words
from workkit.triggers.english.grammar.reader import Misread
from workkit.triggers.english.grammar.words import NUMBERS, ORDINALS, TENS, VOCABULARY, Token, tokens

MAX_TRIES: Final = 3
LONG: Final = 50  # characters; from here on only the nearest phrase is tried
MAX_UNKNOWN: Final = 4
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
"""Words that say something: no suggestion takes one for the misspelling of another word."""

_PIECE: Final = re.compile(r"[a-z][a-z']*|\d[\d.:]*|[^\s\w]")


def with_suggestion(
    trouble: Misread,
    understood: Callable[[str], object],
    *,
    command: str | None = "workkit next",
) -> Misread:
    """Complete the message of `trouble` with a near phrase that is understood, if there is one.

    `command` is what to try the phrase with. The search is bounded: at most `MAX_TRIES` phrases are tried.
    """
    text = str(trouble.given)
    near = islice(_near(text), MAX_TRIES if len(text) < LONG else 1)
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
    """Yield phrases in which each unknown word is the nearest known one, or is left out because it says nothing."""
    unknown = [token for token in tokens(text) if token.kind == "word" and token.text not in VOCABULARY]
    if not 0 < len(unknown) <= MAX_UNKNOWN or any(len(token.text) > _LONGEST for token in unknown):
        return
    near = [_nearest(token.text) for token in unknown]
    tries = [[words[k] for words in near] for k in range(2) if all(len(words) > k for words in near)]
    for words in tries:
        other = _replaced(text, unknown, words=words)
        if _keeps_words(text, other):
            yield other


def _keeps_words(given: str, other: str) -> bool:
    """Tell whether a near phrase keeps every number, unit and word that matters: it exchanges unknown words one for
    one, and leaves out only harmless ones.
    """
    before, after = (Counter(_PIECE.findall(text.lower())) for text in (given, other))
    lost, new = before - after, after - before
    if any(not _is_unknown(piece) or piece in MEANINGFUL for piece in lost):
        return False
    return sum(n for piece, n in lost.items() if piece not in HARMLESS) <= new.total() <= lost.total()


def _is_unknown(piece: str) -> bool:
    return piece[0].isalpha() and piece not in VOCABULARY


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
