"""The plain rules: from an annotation with dataclasses in it to what builds its values from JSON."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from workkit.errors import InvalidArguments, described
from workkit.jobs.json_value import at_key
from workkit.jobs.structured.leaves import Reader, leaf, one_of
from workkit.jobs.structured.refusal import missing, refused
from workkit.text.nearest import nearest_word

UNIONS = (typing.Union, types.UnionType)
LISTS = (list, Sequence, Collection, Iterable)
MAPS = (dict, Mapping)
SAYABLE = (
    "Use text, a number, a list, a dict, datetime, UUID, Decimal, bytes, Path, an Enum or a dataclass there, or a "
    "pydantic model."
)


def is_dataclass(hint: Any) -> bool:
    """Whether this is a dataclass itself, not one of its objects."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def bare(hint: Any) -> Any:
    """An annotation without the name or the remarks it has: those of NewType, `type X = ...` and Annotated."""
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # from Python 3.12 on
            hint = hint.__value__
        else:
            return hint


def reader(hint: Any) -> Reader:
    """Find what builds the values of an annotation; one that JSON does not say refuses each value, with the reason."""
    hint = bare(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object):
        return lambda value, _: value
    if origin in UNIONS:
        return partial(_read_any_of, [(_named(part), reader(part)) for part in parts])
    if origin is typing.Literal:
        return one_of(parts)
    if is_dataclass(hint):
        return partial(_read_dataclass, hint)  # its fields are looked at later: it may hold itself
    if origin in LISTS and parts:
        return partial(_read_list, list, reader(parts[0]))
    if origin in (set, frozenset) and parts:
        return partial(_read_list, origin, reader(parts[0]))
    if origin is tuple and parts[1:] == (...,):
        return partial(_read_list, tuple, reader(parts[0]))
    if origin is tuple and parts:
        return partial(_read_tuple, [reader(part) for part in parts])
    if origin in MAPS and parts[:1] == (str,):
        return partial(_read_dict, reader(parts[1]))
    if typing.is_typeddict(hint):
        hint = dict
    return leaf(None.__class__ if hint is None else hint) or partial(_refuse, _named(hint))


def _read_dataclass(kind: type, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise refused(place, value, f"is no dict of the fields of {kind.__name__}")
    known = _fields(kind)
    for name in value:
        if name not in known:
            near = nearest_word(name, known)
            remedy = f"Did you mean {near}?" if near else f"Accepted: {', '.join(known) or 'none'}."
            where = f"{place}.{name}" if str(name).isidentifier() else at_key(place, name)
            raise InvalidArguments.about(where, f"is not a field of {kind.__name__}", remedy, given=name)
    built = {}
    for name, (read, is_required) in known.items():
        if name in value:
            built[name] = read(value[name], f"{place}.{name}")
        elif is_required:
            raise missing(f"{place}.{name}")
    try:
        return kind(**built)
    except (ValueError, TypeError, AssertionError) as error:
        if isinstance(error, InvalidArguments):
            raise
        raise refused(place, value, f"is refused by {kind.__name__}: {described(error)}") from error


@lru_cache(maxsize=10_000)
def _fields(kind: Any) -> Mapping[str, tuple[Reader, bool]]:
    """The fields with which a dataclass is made: what reads each, and whether it is required."""
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:  # annotations may name what exists only for a type checker
        why = f"{kind.__name__}, whose annotations cannot be read ({described(error)})"
        hints = {field.name: _Unread(why) for field in dataclasses.fields(kind)}
    absent = dataclasses.MISSING
    return {
        field.name: (reader(hints[field.name]), field.default is absent and field.default_factory is absent)
        for field in dataclasses.fields(kind)
        if field.init
    }


class _Unread:
    """Stands for an annotation that cannot be read."""

    def __init__(self, why: str) -> None:
        self.__name__ = why


def _read_any_of(options: Sequence[tuple[str, Reader]], value: Any, place: str) -> Any:
    errors = []
    for name, read in options:
        try:
            return read(value, place)
        except InvalidArguments as error:
            if name != "None":
                errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    deeper = [error for error in errors if error.where != place]  # it is the right one, with a mistake within
    if len(deeper) == 1:
        raise deeper[0]
    raise refused(place, value, f"is none of {', '.join(name for name, _ in options)}")


def _read_list(kind: Callable[[list[Any]], Any], read: Reader, value: Any, place: str) -> Any:
    if not isinstance(value, (list, tuple)):
        raise refused(place, value, "is no list")
    return kind([read(inner, f"{place}[{number}]") for number, inner in enumerate(value)])


def _read_tuple(readers: Sequence[Reader], value: Any, place: str) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != len(readers):
        raise refused(place, value, f"is no list of {len(readers)}")
    return tuple(
        read(inner, f"{place}[{number}]") for number, (read, inner) in enumerate(zip(readers, value, strict=True))
    )


def _read_dict(read: Reader, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise refused(place, value, "is no dict")
    return {key: read(inner, at_key(place, key)) for key, inner in value.items()}


def _refuse(name: str, value: Any, place: str) -> Any:
    raise refused(place, value, f"is for {name}, which cannot be built from JSON", SAYABLE)


def _named(hint: Any) -> str:
    if hint is type(None):
        return "None"
    plain = isinstance(hint, type) and not typing.get_args(hint)
    return hint.__name__ if plain or isinstance(hint, _Unread) else str(hint)
