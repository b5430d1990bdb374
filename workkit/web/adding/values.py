"""Arguments as texts of a form, and back. A value that is hidden stands there as its mask, and is kept as it is unless
somebody writes another. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workkit.errors import InvalidArguments
from workkit.jobs.job import argument_text
from workkit.jobs.known import Known, Parameter
from workkit.web.masked_text import MASK

MOST_BOXES: Final = 20
LONGEST: Final = 60_000  # characters of arguments in a form
_TEXTS: Final = ("str", "datetime", "date", "time", "Decimal", "UUID", "bytes", "Path")  # JSON has text for them
_MISSING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The box of one parameter: its field in the form, and the text in it."""

    field: str
    parameter: Parameter
    text: str = ""


def read(text: str, name: str) -> Any:
    """Read JSON. Raises InvalidArguments."""
    try:
        if len(text) > LONGEST:
            raise ValueError(f"it has {len(text):,} characters")
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        position = getattr(error, "pos", None)
        where = "" if position is None else f" (column {position + 1})"
        remedy = 'Write for example ["finance", 20].' if name == "args" else 'Write for example {"top": 20}.'
        raise InvalidArguments.about(
            name, f"is not JSON{where}: {getattr(error, 'msg', error)}", remedy, given=text[:200], position=position
        ) from None


def read_call(args: str, kwargs: str) -> tuple[list[Any], dict[str, Any]]:
    """Read the arguments of a call: a JSON list and a JSON object, each may be empty. Raises InvalidArguments."""
    listed = read(args, "args") if args.strip() else []
    named = read(kwargs, "kwargs") if kwargs.strip() else {}
    if not isinstance(listed, list):
        raise InvalidArguments.about("args", "is not a list", 'Write for example ["finance", 20].', given=args[:200])
    if not isinstance(named, dict):
        raise InvalidArguments.about("kwargs", "is not an object", 'Write for example {"top": 20}.', given=kwargs[:200])
    return listed, named


def boxes(known: Known | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Box, ...] | None:
    """Lay out a call in boxes, one for each parameter; None where they cannot say it."""
    if known is None or not known.parameters or len(known.parameters) > MOST_BOXES:
        return None
    if any(one.kind not in ("positional", "keyword") for one in known.parameters):
        return None
    positional = [one for one in known.parameters if one.kind == "positional"]
    if len(args) > len(positional) or not set(kwargs) <= {one.name for one in known.parameters}:
        return None
    given = dict(zip((one.name for one in positional), args, strict=False))
    if given.keys() & kwargs.keys():
        return None
    given |= kwargs
    found = []
    for number, parameter in enumerate(known.parameters):
        value = given.get(parameter.name, _MISSING)
        text = "" if value is _MISSING else _text(value, parameter)
        if value is not _MISSING and (not text or _value(text, parameter) != value):
            return None
        found.append(Box(field=f"p{number}", parameter=parameter, text=text))
    return tuple(found)


def from_boxes(
    filled: Sequence[tuple[Parameter, str]], *, by_name: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Read a call from boxes: in order as far as there is no gap, then by name; those of `by_name` by name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    has_gap = False
    for parameter, text in filled:
        if not text:
            has_gap = True
            continue
        value = _value(text, parameter)
        if has_gap or parameter.kind == "keyword" or parameter.name in by_name:
            has_gap = True
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


def kept(given: Any, seen: Any, stored: Any) -> Any:
    """Put hidden values back: what stands in `given` as it was `seen` is as it is `stored`. Raises InvalidArguments for
    a mask that stands for nothing.
    """
    if given == seen and type(given) is type(seen):
        return stored
    if isinstance(given, dict):
        below, above = (one if isinstance(one, Mapping) else {} for one in (seen, stored))
        return {key: kept(value, below.get(key, _MISSING), above.get(key)) for key, value in given.items()}
    if isinstance(given, list):
        first, second = (list(one) if isinstance(one, list | tuple) else [] for one in (seen, stored))
        return [
            kept(value, first[k] if k < len(first) else _MISSING, second[k] if k < len(second) else None)
            for k, value in enumerate(given)
        ]
    if isinstance(given, str) and MASK in given:
        trouble = "stands for a value that is hidden, and cannot be kept here"
        raise InvalidArguments.about(f'"{MASK}"', trouble, "Write the value.", given=MASK)
    return given


def _text(value: Any, parameter: Parameter) -> str:
    if isinstance(value, str) and (value == MASK or _value(value, parameter) == value):
        return value
    return argument_text(value)


def _value(text: str, parameter: Parameter) -> Any:
    if parameter.annotation in _TEXTS or text == MASK:
        return text
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
