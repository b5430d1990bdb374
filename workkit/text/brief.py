"""The `repr` of our values: one line, short, without what was not set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from datetime import datetime, timedelta
from reprlib import Repr
from typing import Any

LONGEST = 80  # characters of one text
_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = LONGEST
_short.maxtuple = _short.maxlist = _short.maxdict = 8
_short.maxlevel = 4


def brief_repr(value: Any) -> str:
    """Write a dataclass as a call with the fields that differ from their defaults: ``Job(id='5411...', state='due')``.

    In the class it stands as ``__repr__ = brief_repr``. A field with ``repr=False`` is left out; in the place of one
    with ``metadata={"inline": True}`` are the fields of its value.
    """
    return f"{type(value).__name__}({', '.join(_set_fields(value))})"


def _set_fields(value: Any) -> Iterator[str]:
    for field in fields(value):
        if field.repr and not _is_default(field, held := getattr(value, field.name)):
            if field.metadata.get("inline"):
                yield from _set_fields(held)
            else:
                yield f"{field.name}={one_line(held)}"


def one_line(value: object) -> str:
    """Write one value in one line of 160 characters at most."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    text = " ".join(_short.repr(value).split())
    return text if len(text) <= 2 * LONGEST else text[: 2 * LONGEST - 3] + "..."


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default is not MISSING:
        return value is field.default or (type(value) is type(field.default) and value == field.default)
    return field.default_factory is not MISSING and value == field.default_factory()
