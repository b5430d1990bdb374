"""Checks of a call before it is made: the number of arguments, annotated types as far as JSON carries them, and values
that a listener in another language reads differently. For a function that only listeners know, the checks use the
parameters that the listeners publish. Pure.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from workkit.errors import InvalidArguments
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr

EXACT = 2**53  # every language reads an integer exactly up to this magnitude
_PLAIN = (str, int, float, bool, list, dict, type(None))
_BESIDES = {int: (bool,), float: (int, bool), list: (tuple,)}  # further types that a type checker accepts for a type
Check = Callable[[Sequence[Any], Mapping[str, Any] | None], None]


def check_list(args: Any) -> None:
    """Refuse arguments that are not a list. Raises InvalidArguments."""
    is_text = isinstance(args, (str, bytes))
    if is_text or isinstance(args, Mapping) or not isinstance(args, Sequence):
        shown = f'"{args}"' if isinstance(args, str) else repr(args)
        trouble = f"is {'one text' if is_text else _a(type(args).__name__)}, not a list"
        raise InvalidArguments.about(f"args={shown}", trouble, f"Write args=[{shown}].", where="args", given=args)


def as_called(
    fn: Callable[..., Any] | inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
    """Return the arguments with which a handler is called. A handler with one parameter, which is positional only, as
    in ``def send_email(args, /)``, gets all keyword arguments of its job as one dict. `kwargs` None: the job has none.
    """
    if kwargs is None or args:
        return args, kwargs
    is_whole = _is_whole(fn) if isinstance(fn, inspect.Signature) else takes_whole(fn)
    return ((dict(kwargs),), None) if is_whole else (args, kwargs)


@lru_cache(maxsize=10_000)
def takes_whole(fn: Callable[..., Any]) -> bool:
    """Return whether a handler gets keyword arguments as one dict: see `as_called`."""
    try:
        return _is_whole(signature_of(fn))
    except (ValueError, TypeError):
        return False


def _is_whole(signature: inspect.Signature) -> bool:
    return [parameter.kind for parameter in signature.parameters.values()] == [inspect.Parameter.POSITIONAL_ONLY]


def check_call(fn: Callable[..., Any], *, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Refuse arguments that `fn` does not take, or that certainly do not fit their annotations. Raises
    InvalidArguments.

    Checks plain types, unions and `Literal`, lists and dicts one level deep. Does not check annotations that JSON
    cannot carry, such as an enum or a user's class.
    """
    try:
        signature = signature_of(fn)
    except (ValueError, TypeError):
        return
    args, kwargs = as_called(fn, args, kwargs)
    kwargs = kwargs or {}
    called = f"{fn.__qualname__}{parameters_text(signature)}"
    if trouble := misfit(signature, args=args, kwargs=kwargs, said=f"args has {len(args)}"):
        raise InvalidArguments.about(called, trouble, where="args", given=list(args))
    bound = signature.bind(*args, **kwargs)
    kinds = _kinds(fn, signature)
    for name, value in bound.arguments.items():
        if name in kinds and (found := kinds[name].misfit(value, name)):
            place, wrong = found
            what = "" if kinds[name].literals else f" is {_a(type(wrong).__name__)}"
            trouble = f"{place}={wrong!r}{what}, and {name} is annotated {kinds[name]}"
            raise InvalidArguments.about(f"{called}:", trouble, where=name, given=wrong)


@lru_cache(maxsize=10_000)
def compiled_check(fn: Callable[..., Any]) -> Check | None:
    """Return a check of the types alone, for many calls of one function; Python itself counts the arguments. None if
    there is nothing to check.
    """
    try:
        signature = signature_of(fn)
    except (ValueError, TypeError):
        return None
    kinds = _kinds(fn, signature)
    if not kinds:
        return None
    looked_at = _by_place(signature, kinds)

    def check(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
        for n, allowed, kind in looked_at:
            if n >= len(args):
                break
            if type(args[n]) not in allowed and kind.misfit(args[n], ""):
                check_call(fn, args=args, kwargs=kwargs)
        if kwargs:
            for name, value in kwargs.items():
                if name in kinds and kinds[name].misfit(value, ""):
                    check_call(fn, args=args, kwargs=kwargs)

    return check


@dataclass(frozen=True, slots=True)
class _ArgumentPlaces:
    """The usual case of `check_call`: a function takes arguments by position if there are `least` to `most` of them,
    and if each argument at a place in `types` has one of the types there.
    """

    least: int
    most: int
    types: tuple[tuple[int, frozenset[type]], ...]


def places_of(fn: Callable[..., Any]) -> _ArgumentPlaces:
    """Read the arguments that a function certainly takes by position. A function without a signature takes any."""
    try:
        signature = signature_of(fn)
    except (ValueError, TypeError):
        return _ArgumentPlaces(0, sys.maxsize, ())
    parameters = signature.parameters.values()
    least = sum([p.kind in _POSITIONAL and p.default is p.empty for p in parameters])
    most = sum([p.kind in _POSITIONAL for p in parameters])
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        most = sys.maxsize
    if any(p.kind == p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        most = -1
    return _ArgumentPlaces(
        least, most, tuple((n, allowed) for n, allowed, _ in _by_place(signature, _kinds(fn, signature)))
    )


def _by_place(signature: inspect.Signature, kinds: Mapping[str, _Kind]) -> list[tuple[int, frozenset[type], _Kind]]:
    """List the types that the positional parameters allow, with their places."""
    positional = [p.name for p in signature.parameters.values() if p.kind in _POSITIONAL]
    return [(n, kinds[name].types, kinds[name]) for n, name in enumerate(positional) if name in kinds]


def inexact(value: Any, place: str) -> Iterator[str]:
    """Name the integers beyond 2^53 in a JSON value, by their place as Python would index it."""
    if type(value) is int:
        if not -EXACT <= value <= EXACT:
            yield place
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from inexact(inner, f'{place}["{key}"]')
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from inexact(inner, f"{place}[{number}]")


def foreign_remarks(args: Sequence[Any]) -> Iterator[str]:
    """Yield remarks for a user who adds a job with these arguments for a listener in another language.

    A remark leaves out the value, so that a bulk of such jobs causes one warning.
    """
    for place in inexact(args, "args"):
        yield (
            f"{place} is an integer beyond 2^53, which not every language reads as it stands: JavaScript rounds it, "
            f"and beyond 64 bits Clojure makes a BigInt of it. Pass it as text."
        )


def misfit(signature: inspect.Signature, *, args: Sequence[Any], kwargs: Mapping[str, Any], said: str) -> str | None:
    """Return why a function of this signature cannot be called so; None if it can. The caller words the number of
    arguments.
    """
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        positional = [p for p in signature.parameters.values() if p.kind in _POSITIONAL]
        least, most = sum(p.default is p.empty for p in positional), len(positional)
        is_open = any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())
        if kwargs or is_open or least <= len(args) <= most:
            return f"cannot be called so: {error}"
        takes = f"{least} to {most}" if least != most else str(most)
        return f"takes {takes} argument{'' if takes == '1' else 's'}; {said}"
    return None


def name_parameter(error: InvalidArguments, fn: Callable[..., Any]) -> InvalidArguments:
    """Put the name of a parameter of `fn` into an error about ``args[0]`` or ``kwargs["day"]``, because the caller
    wrote a plain call. Returns the error.
    """
    found = _PLACE.search(error.where or "")
    if found is None:
        return error
    name = found["name"]
    if name is None:
        parameters = signature_of(fn).parameters.values()
        place, names = int(found["place"]), [p.name for p in parameters if p.kind in _POSITIONAL]
        rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "args")
        name = names[place] if place < len(names) else f"{rest}[{place - len(names)}]"
    error.args = (str(error).replace(found[0], name, 1),)
    error.where = str(error.where).replace(found[0], name, 1)
    return error


_PLACE = re.compile(r'args\[(?P<place>\d+)\]|kwargs(?:\["|\.)(?P<name>\w+)(?:"\])?')


def parameters_text(signature: inspect.Signature) -> str:
    """Write the names of parameters in brackets: ``(name, *rest)``."""
    return (
        "(" + ", ".join(str(p).partition(":")[0].partition("=")[0].strip() for p in signature.parameters.values()) + ")"
    )


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The values that an annotation allows: values of `types`, one of `literals`, lists and dicts of such values."""

    text: str
    types: frozenset[type] = frozenset()
    literals: tuple[Any, ...] = ()
    holding: tuple[tuple[type, _Kind], ...] = ()

    def __str__(self) -> str:
        return self.text

    def misfit(self, value: Any, place: str) -> tuple[str, Any] | None:
        """Return the innermost value that certainly does not fit, with its place; None if all values fit."""
        if self.types and isinstance(value, tuple(self.types)):
            return None
        if self.literals and any(value == one and type(value) is type(one) for one in self.literals):
            return None
        found = place, value
        for holder, inner in self.holding:
            if not isinstance(value, (holder, *_BESIDES.get(holder, ()))):
                continue
            within = inner.first_misfit(value, place)
            if within is None:
                return None
            found = within
        return found

    def first_misfit(self, values: Any, place: str) -> tuple[str, Any] | None:
        """Return the first value in a list or dict that does not fit."""
        is_dict = isinstance(values, dict)
        if {*map(type, values.values() if is_dict else values)} <= self.types:
            return None
        pairs: Iterable[tuple[Any, Any]] = values.items() if is_dict else enumerate(values)
        for key, value in pairs:
            if found := self.misfit(value, f'{place}["{key}"]' if is_dict else f"{place}[{key}]"):
                return found
        return None


def _kinds(fn: Callable[..., Any], signature: inspect.Signature) -> dict[str, _Kind]:
    """Return the kinds that the parameters of `fn` allow, without parameters that JSON cannot check."""
    try:
        hints = typing.get_type_hints(fn)
    except Exception:  # annotations may name what exists only for a type checker
        return {}
    kinds = {}
    for name, parameter in signature.parameters.items():
        if name in hints and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            hint = typing.Optional[hints[name]] if parameter.default is None else hints[name]  # noqa: UP045
            if kind := _kind(hint):
                kinds[name] = kind
    return kinds


def _kind(hint: Any, *, deep: bool = True) -> _Kind | None:
    """Return the kind that a hint allows; None if JSON cannot check it."""
    origin, parameters = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_kind(part, deep=deep) for part in parameters]
        return _either([part for part in parts if part]) if all(parts) else None
    if origin is typing.Literal:
        known = all(type(value) in (str, int, bool, type(None)) for value in parameters)
        return _Kind(f"Literal{list(parameters)}", literals=parameters) if known else None
    plain = origin or hint
    if plain not in _PLAIN:
        return None
    inner = _kind(parameters[-1], deep=False) if parameters and deep else None
    if inner is None:
        return _Kind(plain.__name__, types=frozenset((plain, *_BESIDES.get(plain, ()))))
    return _Kind(str(hint), holding=((plain, inner),))


def _either(kinds: Sequence[_Kind]) -> _Kind:
    return _Kind(
        " or ".join(map(str, kinds)),
        types=frozenset().union(*(kind.types for kind in kinds)),
        literals=tuple(value for kind in kinds for value in kind.literals),
        holding=tuple(pair for kind in kinds for pair in kind.holding),
    )


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """Read the signature of a function. Its annotations may use names that exist only for a type checker. Raises
    ValueError or TypeError for an object without a signature.

    Python 3.14 and later evaluate an annotation when code reads it (PEP 649); such a name would raise NameError.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(fn, annotation_format=Format.FORWARDREF)
    return inspect.signature(fn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function. `annotation` and `default` are texts; `default` None: a value is required. `kind`:
    "positional", "keyword", "rest" (``*args``) or "options" (``**kwargs``).
    """

    name: str
    kind: str = "positional"
    annotation: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFunction:
    """A function that listeners know. `fn`: its name as jobs store it; `doc`: the first line of its docstring;
    `limits`: its options of `@job` that limit concurrent runs; `listeners`: the number of listeners that know it.
    """

    fn: str
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""
    limits: Mapping[str, int | float | Mapping[str, float]] = field(default_factory=dict)
    listeners: int = 1

    __repr__ = brief_repr


_KINDS: Final = {
    "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
    "rest": inspect.Parameter.VAR_POSITIONAL,
    "options": inspect.Parameter.VAR_KEYWORD,
}


def check_known(known: KnownFunction | None, *, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Refuse arguments that a function does not take, by the parameters that listeners publish. Raises
    InvalidArguments.

    A published function without parameters is not checked: it may have unpublished ones. A single positional
    parameter may take all keyword arguments as one dict (`as_called`).
    """
    if known is None or not known.parameters or (len(known.parameters) == 1 and not args):
        return
    try:
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    one.name, _KINDS[one.kind], default=inspect.Parameter.empty if one.default is None else one.default
                )
                for one in known.parameters
            ]
        )
    except (ValueError, KeyError):  # written by another program
        return
    if trouble := misfit(signature, args=args, kwargs=kwargs or {}, said=f"args has {len(args)}"):
        called = f"{shown(known.fn)}{parameters_text(signature)}"
        raise InvalidArguments.about(called, trouble, where="args", given=list(args))
