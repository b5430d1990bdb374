"""A function with its arguments, as one value that a type checker compares with the function's signature. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, overload

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What a job calls: `fn` with `args` and `kwargs`. Made by `call`; `add` checks it."""

    fn: Callable[..., Any] | str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@overload
def call(fn: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> FunctionCall: ...
@overload
def call(fn: str, /, *args: Any, **kwargs: Any) -> FunctionCall: ...
def call(fn: Callable[..., Any] | str, /, *args: Any, **kwargs: Any) -> FunctionCall:
    """Name a function and its arguments as in a call: ``schedule.add_now(s, call=call(users.activate, "a@b.c"))``.

    The function is not run. A type checker refuses arguments that it does not take; `add` checks them too.
    """
    return FunctionCall(fn, args, kwargs)
