"""Lengths of time as Go writes them, ``1h30m10s``: what follows ``@every``. workkit's own grammar of durations knows
more words and days, so a text of it is offered in Go's form where Go refuses it.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from workkit.errors import TriggerError

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
SECOND: Final = _NANOSECONDS["s"]
_MOST: Final = 2**63
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


class Misread(Exception):
    """A text is no duration of Go: the `trouble`, and its offset."""

    def __init__(self, trouble: str, at: int) -> None:
        super().__init__(trouble, at)
        self.trouble = trouble
        self.at = at


def nanoseconds(text: str) -> int:
    """Read a duration of Go: a sign, then numbers with a unit each; ``0`` alone needs none. Raises Misread."""
    sign = -1 if text[:1] == "-" else 1
    at = 1 if text[:1] in ("-", "+") else 0
    if text[at:] == "0":
        return 0
    if at == len(text):
        raise Misread("has no duration", at)
    total = 0
    while at < len(text):
        found = _PART.match(text, at)
        assert found is not None  # every part of the pattern may be empty
        whole, fraction, unit = found.groups()
        if not whole and not fraction:
            raise Misread("is no number with a unit", at)
        if unit not in _NANOSECONDS:
            raise Misread(f'has the unknown unit "{unit.strip()}"' if unit else "has no unit", found.start(3))
        size = _NANOSECONDS[unit]
        total += int(whole or 0) * size + _fraction(fraction or "", size)
        if total > _MOST or (total == _MOST and sign > 0):
            raise Misread("is longer than 292 years", at)
        at = found.end()
    return sign * total


def _fraction(digits: str, unit: int) -> int:
    """Give this fraction of a unit, rounded as Go does: in floats, by as many digits as fit into 63 bits."""
    while int(digits or 0) >= _MOST:
        digits = digits[:-1]
    return int(float(digits or 0) * (unit / float(10 ** len(digits))))


def written(length: timedelta) -> str:
    """Write whole seconds as Go reads them: ``24h``, ``1h30m10s``."""
    rest = max(1, round(length.total_seconds()))
    parts = []
    for unit in ("h", "m", "s"):
        count, rest = divmod(rest, _NANOSECONDS[unit] // SECOND)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def in_go_form(text: str) -> str | None:
    """Write a length in workkit's words, such as "5 minutes" or "1d", as Go reads it; None if it is none."""
    from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

    try:
        found = written(duration(text))
        nanoseconds(found)
    except (TriggerError, Misread):
        return None
    return found
