"""What was probably meant: the known word nearest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

SHORT_WORD = 5  # below this many letters one slip is a large part of the word
LONG_WORD = 100  # nobody mistypes a longer one, and comparing takes time by the square of its length
MOST_KNOWN = 2000  # words that are compared


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find what was probably meant, or None. Quick, however long the word is and however many are known."""
    if len(word) > LONG_WORD:
        return None
    from difflib import get_close_matches  # needed only where something is wrong

    found = get_close_matches(word, list(islice(known, MOST_KNOWN)), n=1, cutoff=0.5 if len(word) < SHORT_WORD else 0.6)
    return found[0] if found else None
