"""Values without fields, as JSON has them and as a handler gets them: the plain ones, and those that travel as text."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from pathlib import Path, PosixPath, PurePath, PurePosixPath
from types import NoneType
from typing import Any, Final
from uuid import UUID

from workkit.jobs.json_value import shown_value
from workkit.jobs.structured.refusal import refused

Reader = Callable[[Any, str], Any]  # a JSON value and its place -> what the handler gets; raises InvalidArguments


@dataclass(frozen=True, slots=True)
class _Text:
    """A type whose values travel as text. `named` is what such a text is; `numbers`: an integer passes for its text."""

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


_PLAIN: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {  # what passes for a type, as a type checker has it
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
    """Name what JSON has for a type without fields that a handler gets in another form, such as "a date as ISO text";
    None for any other type.
    """
    if not isinstance(hint, type):
        return None
    if hint in _TEXTS:
        return _TEXTS[hint].named
    return f"one of {_values_of(hint)}" if issubclass(hint, Enum) else None


def leaf(hint: Any) -> Reader | None:
    """The reader of a type without fields; None for any other."""
    if hint in _PLAIN:
        return _plain(*_PLAIN[hint])
    if hint in _TEXTS:
        return _TEXTS[hint]
    return _member_of(hint) if isinstance(hint, type) and issubclass(hint, Enum) else None


def leaf_text(value: Any) -> str | None:
    """Write a value of a type that travels as text, or of a subclass; None for any other type."""
    text = next((_TEXTS[kind] for kind in type(value).__mro__ if kind in _TEXTS), None)
    return None if text is None else text.write(value)


def one_of(values: tuple[Any, ...]) -> Reader:
    """The reader of a `Literal`."""
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
