"""The structured parameters of a handler: `add` writes their arguments as JSON, and a run builds them from JSON.

A structured parameter is annotated with a dataclass, a model of pydantic, or a type that JSON has in another form
(spec/features.md). Pure.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from types import NoneType
from typing import Any

from workkit.errors import InvalidArguments, described
from workkit.jobs.arguments import compiled_check, signature_of, takes_whole
from workkit.jobs.json_value import (
    SIMPLE,
    Reader,
    as_json,
    at_key,
    built_name,
    is_model,
    is_structured,
    leaf,
    missing,
    model_reader,
    one_of,
    refused,
    shown_value,
)
from workkit.text.nearest import nearest_word

_UNIONS = (typing.Union, types.UnionType)
LISTS = (list, Sequence, Collection, Iterable)
_MAPS = (dict, Mapping)
_SAYABLE = (
    "Use text, a number, a list, a dict, datetime, UUID, Decimal, bytes, Path, an Enum or a dataclass there, or a "
    "pydantic model."
)


def is_dataclass(hint: Any) -> bool:
    """Return whether this is a dataclass itself, not one of its objects."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def bare(hint: Any) -> Any:
    """Return the type behind an annotation: without NewType, `type X = ...` and Annotated."""
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
    """Return the reader of an annotation. If JSON cannot carry the type, it refuses each value, with the reason."""
    hint = bare(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object):
        return lambda value, _: value
    if origin in _UNIONS:
        return partial(_read_any_of, [(_hint_name(part), reader(part)) for part in parts])
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
    if origin in _MAPS and parts[:1] == (str,):
        return partial(_read_dict, reader(parts[1]))
    if typing.is_typeddict(hint):
        hint = dict
    return leaf(None.__class__ if hint is None else hint) or partial(_refuse, _hint_name(hint))


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
    """Return the fields that make a dataclass: the reader of each, and whether it is required."""
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
    """An annotation that cannot be read."""

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
    deeper = [error for error in errors if error.where != place]  # this is the right member, with a fault inside
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
    raise refused(place, value, f"is for {name}, which cannot be built from JSON", _SAYABLE)


def _hint_name(hint: Any) -> str:
    if hint is type(None):
        return "None"
    plain = isinstance(hint, type) and not typing.get_args(hint)
    return hint.__name__ if plain or isinstance(hint, _Unread) else str(hint)


Arguments = tuple[Sequence[Any], Mapping[str, Any] | None]
_HOLDERS = (*_UNIONS, *LISTS, *_MAPS, tuple, set, frozenset)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Structured:
    """The readers of the structured parameters of one handler: by position, of further positional ones, and by name."""

    positional: tuple[Reader | None, ...]
    rest: Reader | None
    named: Mapping[str, Reader]
    others: Reader | None
    is_whole: bool  # the handler gets keyword arguments as one dict: see `takes_whole`

    def built(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None, *, whole: bool = False) -> Arguments:
        """Build the arguments of a call from JSON. `whole`: its only argument is the keyword arguments of its job.

        Raises InvalidArguments.
        """
        built = [
            value if read is None else read(value, "kwargs" if whole else f"args[{number}]")
            for number, value in enumerate(args)
            for read in (self._at(number),)
        ]
        if not kwargs:
            return built, kwargs
        return built, {
            name: value if read is None else read(value, f'kwargs["{name}"]')
            for name, value in kwargs.items()
            for read in (self.named.get(name, self.others),)
        }

    def written(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Arguments:
        """Write the arguments as JSON, and check that they can be built from it. Raises InvalidArguments."""
        if self.is_whole and not args and kwargs is not None:
            whole = {name: as_json(value, f"kwargs.{name}") for name, value in kwargs.items()}
            self.built([whole], None, whole=True)
            return args, whole
        plain = [_plain(value, f"args[{number}]", self._at(number)) for number, value in enumerate(args)]
        named = kwargs and {
            name: _plain(value, f'kwargs["{name}"]', self.named.get(name, self.others))
            for name, value in kwargs.items()
        }
        self.built(plain, named)
        return plain, named

    def _at(self, number: int) -> Reader | None:
        return self.positional[number] if number < len(self.positional) else self.rest


def _plain(value: Any, place: str, read: Reader | None) -> Any:
    """Write an argument as JSON if its parameter is structured. Raises InvalidArguments."""
    if read is None:
        return value
    try:
        return as_json(value, place)
    except InvalidArguments:
        if isinstance(read, _Named):
            raise read.refusal(value, place) from None
        raise


def written(fn: object, *, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Arguments:
    """Write the structured arguments of a new job as JSON. A function object checks them by its annotations. For a
    function that is only named, objects of dataclasses and models are written by their own fields. Raises
    InvalidArguments.
    """
    if callable(fn):
        found = structured(fn)
        return (args, kwargs) if found is None else found.written(args, kwargs)
    if not SIMPLE.issuperset(map(type, args)) and any(map(is_structured, args)):
        args = [as_json(value, f"args[{n}]") if is_structured(value) else value for n, value in enumerate(args)]
    if kwargs and any(map(is_structured, kwargs.values())):
        kwargs = {
            name: as_json(value, f'kwargs["{name}"]') if is_structured(value) else value
            for name, value in kwargs.items()
        }
    return args, kwargs


@lru_cache(maxsize=10_000)
def structured(fn: Callable[..., Any]) -> Structured | None:
    """Return the structured parameters of a function; None if it has none. Skips annotations that cannot be read."""
    try:
        parameters = signature_of(fn).parameters
    except (ValueError, TypeError):
        return None
    hints = _hints(fn)
    readers = {
        name: _reader(name, hint, is_optional=parameters[name].default is None)
        for name, hint in hints.items()
        if name in parameters and _is_structure(hint)
    }
    if not readers:
        return None
    of_kind: dict[Any, list[str]] = {}
    for parameter in parameters.values():
        of_kind.setdefault(parameter.kind, []).append(parameter.name)
    either = of_kind.get(inspect.Parameter.POSITIONAL_OR_KEYWORD, [])
    by_name = [*either, *of_kind.get(inspect.Parameter.KEYWORD_ONLY, [])]
    by_place = [*of_kind.get(inspect.Parameter.POSITIONAL_ONLY, []), *either]
    (rest,) = of_kind.get(inspect.Parameter.VAR_POSITIONAL, [""])
    (others,) = of_kind.get(inspect.Parameter.VAR_KEYWORD, [""])
    return Structured(
        positional=tuple(readers.get(name) for name in by_place),
        rest=readers.get(rest),
        named={name: readers[name] for name in by_name if name in readers},
        others=readers.get(others),
        is_whole=takes_whole(fn),
    )


@lru_cache(maxsize=10_000)
def needs_fitting(fn: Callable[..., Any]) -> bool:
    """Return whether arguments by position need a check before a call: some are annotated, or built."""
    return compiled_check(fn) is not None or structured(fn) is not None


@lru_cache(maxsize=10_000)
def result_reader(fn: Callable[..., Any]) -> Reader | None:
    """Return the reader of the result of a function if its annotation is a type that JSON lacks; None for any other."""
    hint = _hints(fn, result=True).get("return")
    if not _is_structure(hint) and typing.get_origin(bare(hint)) not in (tuple, set, frozenset):
        return None
    return model_reader(hint) if _needs_pydantic(hint, set()) else reader(hint)


def _hints(fn: Callable[..., Any], *, result: bool = False) -> dict[str, Any]:
    """Return the annotations of parameters, or of the `result`, read one by one: one may name a type that only type
    checkers see.
    """
    found: dict[str, Any] = {}
    unwrapped = inspect.unwrap(fn)
    try:
        said = dict(getattr(unwrapped, "__annotations__", {}))
    except Exception:  # from Python 3.14 on annotations are evaluated when they are asked for
        return {}
    for name, hint in said.items():
        if (name == "return") is not result:
            continue
        holder: Any = types.SimpleNamespace(__annotations__={name: hint})
        try:
            found |= typing.get_type_hints(
                holder, globalns=getattr(unwrapped, "__globals__", None), include_extras=True
            )
        except Exception:
            continue
    return found


def _is_structure(hint: Any) -> bool:
    """Return whether an annotation is a dataclass, a model, or a type that JSON has in another form; or holds one in
    lists, dicts and unions.
    """
    hint = bare(hint)
    if is_dataclass(hint) or is_model(hint) or built_name(hint) is not None:
        return True
    return typing.get_origin(hint) in _HOLDERS and any(map(_is_structure, typing.get_args(hint)))


def _reader(name: str, hint: Any, *, is_optional: bool) -> Reader:
    """Return the reader of a parameter. `is_optional`: its default is None, whatever its annotation is."""
    if is_optional:
        hint = typing.Optional[hint]  # noqa: UP045
    if _needs_pydantic(hint, set()):
        return model_reader(hint)
    named = bare(hint)
    parts = [part for part in typing.get_args(named) if part is not NoneType]
    if typing.get_origin(named) in _UNIONS and len(parts) == 1:  # `Optional`
        named = bare(parts[0])
    built = built_name(named)
    return reader(hint) if built is None else _Named(name, built, reader(hint))


@dataclasses.dataclass(frozen=True, slots=True)
class _Named:
    """The reader of a parameter without fields. Its error names the parameter and its JSON form."""

    name: str
    built: str
    read: Reader

    def __call__(self, value: Any, place: str) -> Any:
        try:
            return self.read(value, place)
        except InvalidArguments as error:
            raise self.refusal(value, place, error.remedy) from None

    def refusal(self, value: Any, place: str, remedy: str | None = None) -> InvalidArguments:
        trouble = f"must be {self.built}, and is {shown_value(value)}"
        return InvalidArguments.about(f"{place}: {self.name}", trouble, remedy, where=place, given=value)


def _needs_pydantic(hint: Any, seen: set[Any]) -> bool:
    """Return whether an annotation contains a model, also in fields of dataclasses; pydantic then builds all of it."""
    hint = bare(hint)
    if is_model(hint):
        return True
    if is_dataclass(hint):
        if hint in seen:
            return False
        seen.add(hint)
        try:
            inner = typing.get_type_hints(hint).values()
        except Exception:  # refused where its fields are read
            return False
        return any(_needs_pydantic(one, seen) for one in inner)
    return typing.get_origin(hint) in _HOLDERS and any(_needs_pydantic(one, seen) for one in typing.get_args(hint))
