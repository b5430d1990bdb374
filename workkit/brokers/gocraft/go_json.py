"""JSON as Go's encoding/json writes it, up to Go 1.21: the bytes of job texts and of unique keys. Normative:
spec/layouts/gocraft.md, section 2. Reading is in `text.py`.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

from workkit.errors import InvalidArguments
from workkit.jobs.json_value import at_key, check_finite, check_key, integer_text, plain_value, significant_digits

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_BROKEN: Final = "\\ufffd"  # what Go writes for a byte that is not UTF-8
_PLAIN_FROM, _PLAIN_BELOW = 1e-6, 1e21  # floats between these have no exponent
_Place = str | tuple["_Place", str | int]
_MOST_BITS: Final = 1023  # an integer of no more is finite as a float


def dumps(value: Any, place: str = "args") -> str:
    """Write a value as Go does: keys sorted by their UTF-8 bytes, no blanks, HTML characters escaped.

    A surrogate, which is how Python keeps a byte that is not UTF-8, becomes ``\\ufffd``. Integers keep all their
    digits. Raises InvalidArguments, with the place of the value behind `place`, for NaN, infinities, keys that are no
    text, types that JSON cannot carry, and integers so great that Go refuses to read them.
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
    """Write a finite float: its shortest digits, without a point where it is whole; ``1e+21``, ``1e-7``."""
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
    """Write a place as Python would index it. Only errors need it, so it travels in parts."""
    if isinstance(place, str):
        return place
    holder, key = place
    return at_key(_named(holder), key) if isinstance(key, str) else f"{_named(holder)}[{key}]"


def is_beyond_float(value: float) -> bool:
    """Tell whether a number, an integer too, is too great for a float of 64 bits: Go refuses to read it."""
    try:
        return not isfinite(float(value))
    except OverflowError:
        return True
