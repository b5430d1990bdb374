"""Lengths of time, written: the one speller of durations and ages. Instants are milliseconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from typing import Final

MILLISECOND: Final = timedelta(milliseconds=1)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def epoch_ms(at: datetime) -> int:
    """Give an instant in epoch milliseconds, to the nearest."""
    return round(at.timestamp() * 1000)


def duration_text(ms: float, /, parts: int = 2) -> str:
    """Write milliseconds: ``41 ms``, ``2.1 s``, ``15 min 34 s``, ``1 d 7 h 44 min``; at most `parts` units."""
    if ms < 1000:
        return f"{max(0, round(ms))} ms"
    if ms < 60_000:
        tenths = f"{int(ms / 100) / 10:.1f}".removesuffix(".0")
        return f"{tenths} s"
    rest = int(ms // 1000)
    found: list[str] = []
    for seconds, unit in _UNITS:
        count, rest = divmod(rest, seconds)
        if count or found:
            found.append(f"{count:,} {unit}" if count else "")
        if len(found) == parts:
            break
    return " ".join(part for part in found if part)


def age_text(ms: float, /) -> str:
    """Write milliseconds in one whole unit: ``40 s``, ``3 min``, ``36 h``, ``2 d``; less than 0 is ``0 s``.

    Days begin at two, as "1 d" would hide up to a day.
    """
    seconds = max(0, int(ms // 1000))
    for size, unit in _UNITS:
        if seconds >= (2 * size if unit == "d" else size):
            return f"{seconds // size:,} {unit}"
    return "0 s"


def option_text(seconds: float, /) -> str:
    """Write seconds as options are written, in one whole unit: ``90s``, ``2h``; rounded up to a whole second."""
    whole = ceil(seconds)
    size, unit = next(((size, unit) for size, unit in _UNITS if whole and whole % size == 0), (1, "s"))
    return f"{whole // size}{unit[0]}"
