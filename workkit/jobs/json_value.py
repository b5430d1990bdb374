"""Python values as JSON, for every layout: how subclasses travel, which types are refused, and structured values.

A `place` is the position of a value in the arguments, as Python would index it: ``args["rows"][3]``. Structured values
are objects of dataclasses, models of pydantic, and values that travel as text. Models follow pydantic's own rules.
This module imports no pydantic before a user's program has defined a model.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from pathlib import Path, PosixPath, PurePath, PurePosixPath
from types import NoneType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from workkit.errors import InvalidArguments, described

if TYPE_CHECKING:
    from pydantic import ValidationError

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
_ARGUMENTS = ("args", "kwargs")  # the places of arguments begin with these; the place of a result does not


def plain_value(value: Any, place: str) -> Any:
    """Turn a value of a subclass (an enum of text, a named tuple, an ordered dict) into a value of its base type.

    Raises InvalidArguments for a type that JSON cannot carry, with the type to pass instead.
    """
    if isinstance(value, str):
        return str.__str__(value)  # its own `__str__` may return another text, as an enum's does
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
    """Write an integer. Raises InvalidArguments if Python refuses to write that many digits."""
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
    """Return the digits of a number as `repr` writes a float, and the place of the point: ``0.d1d2... times 10^point``.

    Leaves out the sign, and zeros at either end: ``-1500.0`` is ``("15", 4)``. Zero is ``"0"`` at any place.
    """
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return digits.rstrip("0") or "0", len(whole) - leading + int(exponent or 0)


def refused(place: str, value: Any, trouble: str, remedy: str | None = None) -> InvalidArguments:
    """Make the error about a value that does not fit: ``args[0].quantity: "three" is no whole number.``"""
    return InvalidArguments.about(f"{place}: {shown_value(value)}", trouble, remedy, where=place, given=value)


def missing(place: str) -> InvalidArguments:
    """Make the error about a missing field that has no default."""
    return InvalidArguments.about(place, "is missing", where=place)


Reader = Callable[[Any, str], Any]  # a JSON value and its place -> what the handler gets; raises InvalidArguments


@dataclass(frozen=True, slots=True)
class _Text:
    """A type with values that travel as text. `named` describes such a text; `numbers`: an integer may replace it."""

    named: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    trouble: str
    remedy: str | None = None
    numbers: bool = False

    def __call__(self, value: Any, place: str) -> Any:
        """Read a value of JSON. Raises InvalidArguments."""
        text = str(value) if self.numbers and type(value) is int else value
        try:
            if isinstance(text, str):
                return self.read(text)
        except (ValueError, InvalidOperation):
            pass
        raise refused(place, value, self.trouble, self.remedy)


_PLAIN: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {  # the types that a type checker accepts for a type
    str: ((str,), "is no text"),
    int: ((int,), "is no whole number"),
    float: ((float, int), "is no number"),
    bool: ((bool,), "is neither true nor false"),
    NoneType: ((NoneType,), "is not null"),
    list: ((list, tuple), "is no list"),
    dict: ((dict,), "is no dict"),
}
_PATH: Final = partial(_Text, "a path as text", write=str, trouble="is no path")
_TEXTS: Final[Mapping[Any, _Text]] = {
    datetime: _Text(
        "a datetime as ISO text",
        datetime.fromisoformat,
        datetime.isoformat,
        "is no date and time",
        'Write "2026-11-23T09:00:00+00:00".',
    ),
    date: _Text("a date as ISO text", date.fromisoformat, date.isoformat, "is no date", 'Write "2026-11-23".'),
    time: _Text("a time as ISO text", time.fromisoformat, time.isoformat, "is no time of day", 'Write "09:00:00".'),
    UUID: _Text("a UUID as text", UUID, str, "is no UUID"),
    Decimal: _Text(
        "a decimal number as text", Decimal, str, "is no decimal number", 'Write it as text: "12.50".', numbers=True
    ),
    bytes: _Text(
        "bytes as Base64 text",
        partial(base64.b64decode, validate=True),
        lambda value: base64.b64encode(value).decode(),
        "is no Base64 text",
        "Write base64.b64encode(value).decode().",
    ),
    **{kind: _PATH(read=kind) for kind in (Path, PosixPath, PurePath, PurePosixPath)},
}


def built_name(hint: Any) -> str | None:
    """Name the JSON form of a type without fields that a handler gets in another form, such as "a date as ISO text".
    None for any other type.
    """
    if not isinstance(hint, type):
        return None
    if hint in _TEXTS:
        return _TEXTS[hint].named
    return f"one of {_values_of(hint)}" if issubclass(hint, Enum) else None


def leaf(hint: Any) -> Reader | None:
    """Return the reader of a type without fields; None for any other type."""
    if hint in _PLAIN:
        return _plain(*_PLAIN[hint])
    if hint in _TEXTS:
        return _TEXTS[hint]
    return _member_of(hint) if isinstance(hint, type) and issubclass(hint, Enum) else None


def _leaf_text(value: Any) -> str | None:
    """Write a value of a type that travels as text, or of a subclass; None for any other type."""
    text = next((_TEXTS[kind] for kind in type(value).__mro__ if kind in _TEXTS), None)
    return None if text is None else text.write(value)


def one_of(values: tuple[Any, ...]) -> Reader:
    """Return the reader of a `Literal`."""
    accepted = ", ".join(map(shown_value, values))

    def read(value: Any, place: str) -> Any:
        if any(type(value) is type(one) and value == one for one in values):
            return value
        raise refused(place, value, f"is none of {accepted}")

    return read


def _plain(types: tuple[type, ...], trouble: str) -> Reader:
    def read(value: Any, place: str) -> Any:
        if isinstance(value, types):
            return value
        raise refused(place, value, trouble)

    return read


def _member_of(kind: type[Enum]) -> Reader:
    def read(value: Any, place: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise refused(place, value, f"is none of {_values_of(kind)}") from None

    return read


def _values_of(kind: type[Enum]) -> str:
    return ", ".join(shown_value(member.value) for member in kind)


_WORDS: Final[Mapping[str, str]] = {  # the error types of pydantic, in the words of the plain rules
    "int_type": "is no whole number",
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "float_type": "is no number",
    "float_parsing": "is no number",
    "string_type": "is no text",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "list_type": "is no list",
    "dict_type": "is no dict",
    "uuid_type": "is no UUID",
    "uuid_parsing": "is no UUID",
}
_SECRETS = ("SecretStr", "SecretBytes")


def is_model(hint: Any) -> bool:
    """Return whether this is a class of pydantic: a model, or one of its dataclasses."""
    return isinstance(hint, type) and hasattr(hint, "__pydantic_validator__")


def model_reader(hint: Any) -> Reader:
    """Return the reader that builds the values of an annotation with a model in it. Pydantic reads JSON: a strict model
    takes a date as text.
    """
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
    except (PydanticUserError, NameError) as error:
        why = described(error)

        def refuse(value: Any, place: str) -> Any:
            raise refused(place, value, f"is for an annotation that pydantic does not read: {why}")

        return refuse

    def read(value: Any, place: str) -> Any:
        try:
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise _translated(error, value, place) from None

    return read


def _model_json(value: Any, place: str) -> Any:
    """Write an object of a class of pydantic as JSON. Raises InvalidArguments."""
    from pydantic import TypeAdapter
    from pydantic_core import PydanticSerializationError

    if secret := _secret(value, place):
        trouble = "is a secret of pydantic, which would travel as asterisks"
        raise InvalidArguments.about(secret, trouble, "Pass what identifies it, and look it up in the function.")
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    try:
        return adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)
    except PydanticSerializationError as error:
        raise InvalidArguments.about(place, f"cannot be written as JSON: {described(error)}", given=value) from error


def _secret(value: Any, place: str) -> str | None:
    """Return the place of a secret in the value; None if there is none."""
    if type(value).__name__ in _SECRETS:
        return place
    inner: Sequence[tuple[Any, str]] = ()
    if is_model(type(value)):
        inner = [(one, f"{place}.{name}") for name, one in vars(value).items()]
    elif isinstance(value, dict):
        inner = [(one, at_key(place, str(key))) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(one, f"{place}[{number}]") for number, one in enumerate(value)]
    return next((found for one, where in inner if (found := _secret(one, where))), None)


def _translated(error: ValidationError, value: Any, place: str) -> InvalidArguments:
    """Make the error about the first fault, with its place in the value."""
    first = error.errors(include_url=False)[0]
    where, kind = _place(first["loc"], value, place), first["type"]
    if kind == "missing":
        return missing(where)
    if kind == "extra_forbidden":
        return InvalidArguments.about(where, "is not a field of its model", given=first["input"])
    message = first["msg"].rstrip(".")
    return refused(where, first["input"], _WORDS.get(kind) or f"is refused: {message[:1].lower()}{message[1:]}")


def _place(steps: Sequence[int | str], value: Any, place: str) -> str:
    """Return the place that the steps lead to in the value. A step that names a member of a union leads nowhere."""
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        if isinstance(value, dict) and isinstance(step, str) and (step in value or is_last):
            place = f"{place}.{step}" if step.isidentifier() else at_key(place, step)
            value = value.get(step)
        elif isinstance(value, (list, tuple)) and isinstance(step, int) and 0 <= step < len(value):
            place, value = f"{place}[{step}]", value[step]
    return place


SIMPLE = frozenset((str, int, float, bool, type(None)))


def is_structured(value: Any) -> bool:
    """Return whether this is an object of a dataclass or a model, or a list or dict of such objects."""
    if type(value) in SIMPLE:
        return False
    if isinstance(value, (list, tuple)):
        return any(map(_is_object, value))
    return any(map(_is_object, value.values())) if isinstance(value, dict) else _is_object(value)


def as_json(value: Any, place: str) -> Any:
    """Write a value and its content as JSON: objects as dicts of their fields, members of an Enum as their values,
    dates, UUIDs, decimal numbers, bytes and paths as text, sets as lists. Raises InvalidArguments.
    """
    kind = type(value)
    if kind in SIMPLE:
        return value
    if is_model(kind):
        return _model_json(value, place)
    if _is_object(value):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: as_json(getattr(value, name), f"{place}.{name}") for name in fields}
    if isinstance(value, Enum):
        return as_json(value.value, place)
    if (text := _leaf_text(value)) is not None:
        return text
    if isinstance(value, (set, frozenset)):
        return sorted((as_json(inner, place) for inner in value), key=json.dumps)
    plain = plain_value(value, place)
    if isinstance(plain, list):
        return [as_json(inner, f"{place}[{number}]") for number, inner in enumerate(plain)]
    if isinstance(plain, dict):
        for key in plain:
            check_key(key, place)
        return {key: as_json(inner, at_key(place, key)) for key, inner in plain.items()}
    return plain


def _is_object(value: Any) -> bool:
    kind = type(value)
    return kind not in SIMPLE and (dataclasses.is_dataclass(kind) or is_model(kind))
