"""JSON as Go's encoding/json writes it, up to Go 1.21, and durations as Go writes them, ``1h30m10s``. Pure.

The JSON is that of job texts and of unique keys; `text.py` reads them. A duration follows ``@every``. workkit's own
grammar of durations knows more words and days, so a text of it is offered in Go's form if Go refuses it. Normative:
spec/layouts/gocraft.md, sections 2 and 4.
"""

from __future__ import annotations

import re
from datetime import timedelta
from math import isfinite
from typing import Any, Final

from workkit.errors import InvalidArguments, TriggerError
from workkit.jobs.json_value import at_key, check_finite, check_key, integer_text, plain_value, significant_digits

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_BROKEN: Final = "\\ufffd"  # Go writes this for a byte that is not UTF-8
_PLAIN_FROM, _PLAIN_BELOW = 1e-6, 1e21  # floats between these have no exponent
_Place = str | tuple["_Place", str | int]
_MOST_BITS: Final = 1023  # an integer of at most this many bits is finite as a float


def dumps(value: Any, place: str = "args") -> str:
    """Write a value as Go does: keys sorted by their UTF-8 bytes, no blanks, HTML characters escaped.

    Python keeps a byte that is not UTF-8 as a surrogate; it becomes ``\\ufffd``. Integers keep all their digits. Raises
    InvalidArguments, with the place of the value behind `place`, for NaN, infinities, keys that are no text, types that
    JSON cannot carry, and integers that Go refuses to read because they are too great.
    """
    try:
        return _text(value, place)
    except RecursionError:
        trouble = "holds itself, or is nested too deeply for JSON"
        raise InvalidArguments.about(place, trouble, "Pass a flat value.", given=value) from None


def string(text: str) -> str:
    """Write a text with its quotes."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def number(value: float) -> str:
    """Write a finite float: its shortest digits, without a point if it is whole; ``1e+21``, ``1e-7``."""
    size = abs(value)
    sign = "-" if repr(value)[0] == "-" else ""
    if size == 0:
        return f"{sign}0"
    digits, point = significant_digits(repr(size))
    if not _PLAIN_FROM <= size < _PLAIN_BELOW:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{point - 1:+}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if short := _SHORT.get(char):
        return short
    return _BROKEN if "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04x}"


def _text(value: Any, place: _Place) -> str:
    kind = type(value)
    if kind is str:
        return string(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return _integer(value, place)
    if kind is float:
        if not isfinite(value):
            check_finite(value, _named(place))
        return number(value)
    if kind is dict:
        return _object(value, place)
    if kind is list or kind is tuple:
        return "[" + ",".join([_text(inner, (place, i)) for i, inner in enumerate(value)]) + "]"
    return _text(plain_value(value, _named(place)), place)


def _object(value: dict[Any, Any], place: _Place) -> str:
    for key in value:
        if type(key) is not str:
            check_key(key, _named(place))
    # the order of code points is that of the UTF-8 bytes
    pairs = [f"{string(key)}:{_text(value[key], (place, key))}" for key in sorted(value)]
    return "{" + ",".join(pairs) + "}"


def _integer(value: int, place: _Place) -> str:
    if value.bit_length() <= _MOST_BITS:
        return int.__repr__(value)
    if is_beyond_float(value):
        trouble, remedy = "is an integer beyond 1.8e308, which no Go pool can read", "Pass it as text."
        raise InvalidArguments.about(_named(place), trouble, remedy, given=value)
    return integer_text(value, _named(place))


def _named(place: _Place) -> str:
    """Write a place as Python would index it. Only errors need it, so the place is passed in parts."""
    if isinstance(place, str):
        return place
    holder, key = place
    return at_key(_named(holder), key) if isinstance(key, str) else f"{_named(holder)}[{key}]"


def is_beyond_float(value: float) -> bool:
    """Say whether a number, also an integer, is too great for a float of 64 bits. Go refuses to read such a number."""
    try:
        return not isfinite(float(value))
    except OverflowError:
        return True


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
    """A text is no duration of Go. It has the `trouble` and its offset."""

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
    """Return this fraction of a unit, rounded as Go does: in floats, with as many digits as fit into 63 bits."""
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
    """Write a length in workkit's words, such as "5 minutes" or "1d", as Go reads it; None if it is no length."""
    from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

    try:
        found = written(duration(text))
        nanoseconds(found)
    except (TriggerError, Misread):
        return None
    return found
