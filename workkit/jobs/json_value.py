"""What JSON carries of Python's values, for every layout: how subclasses travel, what is refused, digits. Pure.

A `place` is where a value is in the arguments, as Python would index it: ``args["rows"][3]``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from enum import Enum
from typing import Any

from workkit.errors import InvalidArguments

_ADVICE = {
    "datetime": "Pass .isoformat(), and parse it in the function.",
    "date": "Pass .isoformat(), and parse it in the function.",
    "time": "Pass .isoformat(), and parse it in the function.",
    "timedelta": "Pass .total_seconds().",
    "Decimal": "Pass str(value), and parse it in the function.",
    "UUID": "Pass str(value), and parse it in the function.",
    "set": "Pass a sorted list.",
    "frozenset": "Pass a sorted list.",
    "bytes": "Pass text, for example base64.b64encode(value).decode().",
    "PosixPath": "Pass str(value).",
}
_ANNOTATED = {name: name for name in ("datetime", "date", "time", "Decimal", "UUID", "bytes")} | {"PosixPath": "Path"}
_ARGUMENTS = ("args", "kwargs")  # how the places of arguments begin; that of a result does not


def plain_value(value: Any, place: str) -> Any:
    """Turn a value of a subclass (an enum of text, a named tuple, an ordered dict) into what it extends.

    Raises InvalidArguments for a type that JSON cannot carry, with what to pass in its place.
    """
    if isinstance(value, str):
        return str.__str__(value)  # its own `__str__` may say something else, as that of an enum does
    for plain in (int, float):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    name = type(value).__name__
    is_structured = dataclasses.is_dataclass(value) or hasattr(type(value), "__pydantic_validator__")
    usual = f"Annotate the parameter with {name}." if is_structured else "Pass what identifies it, as text or number."
    advice = _ADVICE.get(name, "Pass .value." if isinstance(value, Enum) else usual)
    if place.startswith(_ARGUMENTS) and (name in _ANNOTATED or isinstance(value, Enum)):
        annotated = _ANNOTATED.get(name, name)
        advice += f" A parameter annotated with {annotated} gets it as {annotated}."
    article = "an" if name[:1].lower() in "aeiou" else "a"
    raise InvalidArguments.about(place, f"is {article} {name}, which JSON cannot carry", advice, given=value)


def check_key(key: Any, place: str) -> None:
    """Refuse a key of a dict that is not text. Raises InvalidArguments."""
    if not isinstance(key, str):
        trouble = f"has the key {shown_value(key)}, and JSON keys are text"
        raise InvalidArguments.about(place, trouble, f"Write {str(key)!r}.", given=key)


def check_finite(value: float, place: str) -> None:
    """Refuse NaN and the infinities. Raises InvalidArguments."""
    if not math.isfinite(value):
        trouble, remedy = f"is {value}, which JSON cannot carry", "Pass None or a text."
        raise InvalidArguments.about(place, trouble, remedy, given=value)


def integer_text(value: int, place: str) -> str:
    """Write an integer. Raises InvalidArguments where Python refuses to write that many digits."""
    try:
        return int.__repr__(value)
    except ValueError as error:
        trouble = "is an integer of more digits than can be written as text"
        raise InvalidArguments.about(place, trouble) from error


def at_key(place: str, key: str) -> str:
    """Name the place of a value in a dict: ``args["rows"]``."""
    return f"{place}[{key!r}]".replace("'", '"')


def shown_value(value: Any) -> str:
    """Show a value in a message, in at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=repr) if isinstance(value, (str, int, float)) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def significant_digits(text: str) -> tuple[str, int]:
    """Give the digits of a number as `repr` writes a float, and the place of the point: ``0.d1d2... times 10^point``.

    The sign is left out, and so are zeros at either end: ``-1500.0`` is ``("15", 4)``. Zero is ``"0"`` at any place.
    """
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return digits.rstrip("0") or "0", len(whole) - leading + int(exponent or 0)
