"""The known words nearest to a mistyped one: behind every "Did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

SHORT_WORD = 5  # below this many letters one slip is a large part of the word
LONG_WORD = 100  # nobody mistypes a longer one, and comparing takes time by the square of its length
MOST_KNOWN = 2000  # words that are compared


def nearest_word(word: str, known: Iterable[str], *, alike: float | None = None) -> str | None:
    """Find the known word nearest to `word`, or None where none is near. Letter case counts."""
    return next(iter(nearest_words(word, known, most=1, alike=alike)), None)


def nearest_words(word: str, known: Iterable[str], *, most: int, alike: float | None = None) -> list[str]:
    """Find up to `most` known words, nearest first, that are at least so much `alike` (0 to 1; 1 is equal).

    By default 0.6, and 0.5 for a short word. Quick, however long the word is and however many are known.
    """
    if len(word) > LONG_WORD:
        return []
    from difflib import get_close_matches  # needed only where something is wrong

    cutoff = alike or (0.5 if len(word) < SHORT_WORD else 0.6)
    return get_close_matches(word, list(islice(known, MOST_KNOWN)), n=most, cutoff=cutoff)
