"""The taken slots of a sorted set, by limit key: its members are ``<key>\\0<run>``, in the order of their text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MOST: Final = 5_000  # slots that are read; of a key with more, the server counts them

# The runs of recurring jobs that are open stand there too, under run:<id>. They are no slots.
_RANGES: Final = ((b"-", b"(run:"), (b"[run;", b"+"))


def ask_slots(pipe: Any, key: str) -> None:
    """Ask for the taken slots, in two answers."""
    for low, high in _RANGES:
        pipe.zrangebylex(key, low, high, start=0, num=MOST)


def grouped(pages: Iterable[Iterable[bytes]]) -> dict[bytes, list[bytes]]:
    """Group slots by key: the names of the runs that have them."""
    found: dict[bytes, list[bytes]] = {}
    for page in pages:
        for member in page:
            key, zero, run = member.partition(b"\0")
            if zero and key:
                found.setdefault(key, []).append(run)
    return found


def bounds(key: bytes) -> tuple[bytes, bytes]:
    """Give the lexical bounds of the members of a key."""
    return b"[" + key + b"\0", b"(" + key + b"\1"
