"""The call of a handler: its arguments are checked, its forks are contained, and what it returns is kept as JSON."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeGuard

from workkit import wire
from workkit.errors import InvalidArguments, described
from workkit.jobs.arguments import as_called, check_call, compiled_check, takes_whole
from workkit.jobs.marks import Handler
from workkit.jobs.outcome import Failure, Kept
from workkit.jobs.run_options import RunOptions
from workkit.jobs.structured import needs_fitting, structured
from workkit.worker.run import forks

MOST_BYTES = 1_000_000  # of a result, where `keep_most` is not given
_INSTEAD = {"Pass": "Return", "in the function": "where you read it"}  # the writer's advice is about arguments


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """Call a handler with arguments that fit its annotations; structured ones are built. Return what it returns; a
    coroutine is for the caller to await: see `is_coroutine`.

    In a child process that the handler forks, this call does not return. Raises InvalidArguments, marked as unfit, for
    arguments that the handler does not take; and what the handler raises.
    """
    born, placed, named = forks.count, args, kwargs
    if kwargs is not None or needs_fitting(handler):
        placed, named = _fitted(handler, args, kwargs)
    try:
        result = handler(*placed, **named) if named else handler(*placed)
    except BaseException as raised:
        if forks.count != born:
            forks.leave(raised)
        if isinstance(raised, TypeError) and raised.__traceback__ and raised.__traceback__.tb_next is None:
            name_misfit(handler, args, kwargs)  # no frame of the handler: the call itself failed
        raise
    if forks.count != born:
        forks.leave()
    return result


def _fitted(
    handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
    is_whole = kwargs is not None and not args and takes_whole(handler)
    if is_whole:
        args, kwargs = as_called(handler, args, kwargs)
    try:
        if (check := compiled_check(handler)) is not None:
            check(args, kwargs)
        if (found := structured(handler)) is not None:
            args, kwargs = found.built(args, kwargs, whole=is_whole)
    except InvalidArguments as error:
        error.unfit = True
        raise
    return args, kwargs


def name_misfit(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Raise the error that names the parameter, in place of a TypeError of the call."""
    try:
        check_call(handler, args=args, kwargs=kwargs)
    except InvalidArguments as error:
        error.unfit = True
        raise error from None


def is_coroutine(result: Any) -> TypeGuard[Coroutine[Any, Any, Any]]:
    """Say whether a handler returned a coroutine."""
    return inspect.iscoroutine(result)


def kept_value(value: Any, options: RunOptions) -> Kept | None:
    """Make what is kept of a run that returned a value; None where its job keeps no result. Never raises."""
    if options.keep_ms is None:
        return None
    most = MOST_BYTES if options.keep_most is None else options.keep_most
    try:
        text = wire.value_text(value, "result")
    except InvalidArguments as error:
        return _unkept(options.keep_ms, _refused(error))
    except RecursionError:
        return _unkept(options.keep_ms, "result is nested too deeply for JSON, or contains itself")
    except BaseException as error:  # a value may be of any class, whose methods may raise anything
        return _unkept(options.keep_ms, f"result cannot be written as JSON: {described(error)}")
    if len(text) > most:
        trouble = f"result has {len(text):,} bytes as JSON, and this job keeps {most:,} at most"
        return _unkept(options.keep_ms, f"{trouble}. Return less, or give keep_most=")
    return Kept(ms=options.keep_ms, kind="value", text=text)


def _unkept(ms: int, message: str) -> Kept:
    return Kept(ms=ms, kind="unkept", failure=Failure(type="NoResult", message=message))


def _refused(error: InvalidArguments) -> str:
    remedy = error.remedy or ""
    for said, instead in _INSTEAD.items():
        remedy = remedy.replace(said, instead)
    return f"{error.where} {error.trouble}. {remedy}".rstrip(". ")
