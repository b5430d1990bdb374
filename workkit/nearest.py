"""What was probably meant: the known word nearest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable

SHORT_WORD = 5  # below this many letters one slip is a large part of the word


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find what was probably meant, or None."""
    from difflib import get_close_matches  # needed only where something is wrong

    found = get_close_matches(word, list(known), n=1, cutoff=0.5 if len(word) < SHORT_WORD else 0.6)
    return found[0] if found else None
