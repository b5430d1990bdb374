"""Whether a call fits, told before it is made: number of arguments, plain annotated types, and what a listener in
another language would read otherwise. Pure.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workkit.errors import InvalidArguments

EXACT = 2**53  # the greatest integer, in magnitude, up to which every language reads each one as it stands
_PLAIN = (str, int, float, bool, list, dict, type(None))


def check_call(fn: Callable[..., Any], *, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that `fn` does not take, or whose plain type (text, number, list, ...) is not the annotated one.

    Raises InvalidArguments. Annotations beyond what JSON carries are not looked at.
    """
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):
        return
    called = f"{fn.__qualname__}{_parameters(signature)}"
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise InvalidArguments(f"{called} {_counted(signature, args, kwargs, error)}", given=list(args)) from None
    hints = _hints(fn)
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if name in hints and kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            accepted = _accepted(hints[name])
            if accepted and not _fits(value, accepted):
                wanted = " or ".join(t.__name__ for t in accepted)
                raise InvalidArguments(
                    f"{called}: {name}={value!r} is {_a(type(value).__name__)}, and {name} is annotated {wanted}.",
                    given=value,
                )


def inexact(value: Any, place: str) -> Iterator[str]:
    """Name the integers beyond 2^53 in what JSON carries, by their place as Python would index it."""
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
    """What to tell who adds a job with these arguments for a listener in another language.

    The value is left out, so that a bulk of such jobs is warned of once.
    """
    for place in inexact(args, "args"):
        yield (
            f"{place} is an integer beyond 2^53, which not every language reads as it stands: JavaScript rounds it, "
            f"and beyond 64 bits Clojure makes a BigInt of it. Pass it as text."
        )


def _counted(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], error: TypeError) -> str:
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if kwargs or any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values()):
        return f"cannot be called so: {error}."
    least, most = sum(p.default is p.empty for p in positional), len(positional)
    takes = f"{least} to {most}" if least != most else str(most)
    return f"takes {takes} argument{'' if takes == '1' else 's'}; args has {len(args)}."


def _parameters(signature: inspect.Signature) -> str:
    return (
        "(" + ", ".join(str(p).partition(":")[0].partition("=")[0].strip() for p in signature.parameters.values()) + ")"
    )


def _hints(fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn)
    except Exception:  # annotations may name what exists only for a type checker
        return {}


def _accepted(hint: Any) -> tuple[type, ...]:
    """The plain types a hint allows, or none where it says more than JSON can tell."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_accepted(part) for part in typing.get_args(hint)]
        return tuple(t for part in parts for t in part) if all(parts) else ()
    plain = typing.get_origin(hint) or hint
    return (plain,) if plain in _PLAIN else ()


def _fits(value: Any, accepted: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in accepted or int in accepted
    if isinstance(value, tuple):
        return list in accepted
    return isinstance(value, accepted) or (float in accepted and isinstance(value, int))


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
