"""Which routing keys a binding of a topic exchange takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def takes(pattern: str, key: str) -> bool:
    """Say whether a binding takes a routing key: ``*`` stands for one word, ``#`` for any number of words."""
    return _takes(_words(pattern), _words(key))


def is_wild(pattern: str) -> bool:
    """Say whether a binding takes more than one routing key."""
    return not {"*", "#"}.isdisjoint(pattern.split("."))


def _words(key: str) -> list[str]:
    return key.split(".") if key else []  # as RabbitMQ has it: an empty key has no word


def _takes(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Follow all places of the pattern at which the words so far may end."""
    places = _open(pattern, {0})
    for word in words:
        found = {place if pattern[place] == "#" else place + 1
                 for place in places if place < len(pattern) and pattern[place] in ("#", "*", word)}  # fmt: skip
        places = _open(pattern, found)
    return len(pattern) in places


def _open(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Add the places behind each ``#``, which may stand for no word."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] == "#":
            place += 1
            found.add(place)
    return found
