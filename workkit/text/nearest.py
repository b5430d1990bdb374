"""The known words nearest to a mistyped one: behind every "Did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

SHORT_WORD = 5  # letters; in a shorter word one slip is a large part of it
MOST_SLIPS = 2
LONG_WORD = 100  # letters; longer words are not compared, because the time grows with the square of the length
MOST_KNOWN = 2000  # words that are compared, at most
NEGATIONS = (
    "no-",
    "no_",
    "not-",
    "not_",
    "non-",
    "without-",
    "disable-",
    "dis",
    "un",
    "de",
)  # prefixes that make the contrary of a word


def nearest_word(word: str, known: Iterable[str], *, alike: float | None = None) -> str | None:
    """Return the known word nearest to `word`, or None if none is near. Letter case counts."""
    return next(iter(nearest_words(word, known, most=1, alike=alike)), None)


def nearest_words(word: str, known: Iterable[str], *, most: int, alike: float | None = None) -> list[str]:
    """Return up to `most` known words, nearest first, with a likeness of at least `alike` (0 to 1; 1 is equal).

    The default is 0.6, and 0.5 for a short word. The contrary of `word` is left out. The time is limited for any length
    of the word and any number of known words.
    """
    if len(word) > LONG_WORD:
        return []
    from difflib import get_close_matches  # imported only for an error

    cutoff = alike or (0.5 if len(word) < SHORT_WORD else 0.6)
    compared = [one for one in islice(known, MOST_KNOWN) if not is_contrary(word, one)]
    return get_close_matches(word, compared, n=max(1, most), cutoff=cutoff)


def is_contrary(word: str, other: str) -> bool:
    """Return whether one of two words is the other with a negation in front; one slip may be in it."""
    return any(
        long.startswith(prefix) and not short.startswith(prefix) and _is_near(long.removeprefix(prefix), short)
        for long, short in ((word, other), (other, word))
        for prefix in NEGATIONS
    )


def is_slip(word: str, other: str) -> bool:
    """Return whether typing slips turn `other` into `word`: one slip in a short word, two in a longer one, or a missing
    ending. The first letter is right, or swapped with the second. The contrary does not count.
    """
    if not word or is_contrary(word, other) or (word[0] != other[0] and word[:2] != other[1::-1]):
        return False
    return (len(word) > 2 and other.startswith(word)) or _is_near(word, other)


def _is_near(word: str, other: str) -> bool:
    return slips(word, other) <= (1 if min(len(word), len(other)) <= SHORT_WORD else 2)


def slips(word: str, other: str) -> int:
    """Count the letters to add, to remove, to change, or to swap with the next, between two words."""
    if abs(len(word) - len(other)) > MOST_SLIPS:
        return abs(len(word) - len(other))
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            line.append(min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted)))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == wanted:
                line[-1] = min(line[-1], before[column - 2] + 1)
        before, last = last, line
    return last[-1]
