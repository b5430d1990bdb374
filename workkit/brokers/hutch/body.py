"""The body of a message: the argument of its function as JSON, and nothing else. Pure.

Normative: spec/layouts/hutch.md, section 3.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from workkit.brokers.hutch.names import Dialect
from workkit.errors import CorruptRecord, InvalidArguments
from workkit.jobs.json_value import at_key, check_finite, check_key, integer_text, plain_value, shown_value

_KINDS = {
    list: "an array",
    str: "a text",
    bool: "true or false",
    type(None): "null",
    int: "a number",
    float: "a number",
}
_PLACE = "args[0]"


def write(value: Any, *, needs_object: bool) -> bytes:
    """Write a value as UTF-8 JSON without blanks; the keys of an object keep their order.

    Raises InvalidArguments for what JSON or UTF-8 cannot carry, with its place, and for a value that is no object where
    the reader needs one.
    """
    try:
        checked = _checked(value, _PLACE)
    except RecursionError:
        trouble = "holds itself, or is nested too deeply for JSON"
        raise InvalidArguments.about(_PLACE, trouble, "Pass a flat value.", given=value) from None
    if needs_object and not isinstance(checked, dict):
        trouble = f"is {_KINDS[type(checked)]}, and its readers need an object"
        remedy = f'Write args=[{{...}}], for example args=[{{"value": {shown_value(value)}}}].'
        raise InvalidArguments.about(_PLACE, trouble, remedy, given=value)
    text = _ENCODER.encode(checked)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        trouble = f"holds a lone surrogate, {text[error.start]!r}, which UTF-8 cannot carry"
        raise InvalidArguments.about(_PLACE, trouble, "Pass whole characters.", given=value) from None


def read(body: bytes, dialect: Dialect) -> Any:
    """Read the body of a message; hutch reads objects only. Raises CorruptRecord with the reason."""
    if not body:
        raise CorruptRecord("its body is empty", given=body)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise CorruptRecord(f"its body is not UTF-8 (byte {error.start})", given=body, position=error.start) from None
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("it begins with a BOM", text, 0)
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = f"its body is not JSON: {error.msg} (character {error.pos})"
        raise CorruptRecord(reason, given=body, position=error.pos) from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CorruptRecord(f"its body is not JSON that can be read: {why}", given=body) from None
    if dialect == "hutch" and not isinstance(value, dict):
        raise CorruptRecord(f"its body is {_KINDS[type(value)]}, and hutch reads objects only", given=body)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _checked(value: Any, place: str) -> Any:
    """Turn a value into one of plain types. Raises InvalidArguments."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case float():
            check_finite(value, place)
            return float(value)
        case int():
            integer_text(value, place)
            return int(value)
        case dict():
            for key in value:
                check_key(key, place)
            return {str.__str__(key): _checked(inner, at_key(place, key)) for key, inner in value.items()}
        case list() | tuple():
            return [_checked(inner, f"{place}[{n}]") for n, inner in enumerate(value)]
        case _:
            return _checked(plain_value(value, place), place)
