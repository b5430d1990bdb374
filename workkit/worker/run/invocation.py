"""The call of a handler, with its arguments checked and its forks contained."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeGuard

from workkit.errors import InvalidArguments
from workkit.jobs.arguments import as_called, check_call, compiled_check, takes_whole
from workkit.jobs.functions.marks import Handler
from workkit.jobs.structured.parameters import structured
from workkit.worker.run import forks


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """Call a handler with arguments that fit its annotations; structured ones are built. Return what it returns; a
    coroutine is for the caller to await: see `is_coroutine`.

    In a child process that the handler forks, this call does not return. Raises InvalidArguments, marked as unfit, for
    arguments that the handler does not take; and what the handler raises.
    """
    is_whole = kwargs is not None and not args and takes_whole(handler)
    if is_whole:
        args, kwargs = as_called(handler, args, kwargs)
    given, born = (args, kwargs), forks.count
    try:
        if (check := compiled_check(handler)) is not None:
            check(args, kwargs)
        if (found := structured(handler)) is not None:
            args, kwargs = found.built(args, kwargs, whole=is_whole)
    except InvalidArguments as error:
        error.unfit = True
        raise
    try:
        result = handler(*args, **kwargs) if kwargs else handler(*args)
    except BaseException as raised:
        if forks.count != born:
            forks.leave(raised)
        if isinstance(raised, TypeError) and raised.__traceback__ and raised.__traceback__.tb_next is None:
            _name_misfit(handler, *given)  # no frame of the handler: the call itself failed
        raise
    if forks.count != born:
        forks.leave()
    return result


def _name_misfit(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Raise the error that names the parameter, in place of a TypeError of the call."""
    try:
        check_call(handler, args=args, kwargs=kwargs)
    except InvalidArguments as error:
        error.unfit = True
        raise error from None


def is_coroutine(result: Any) -> TypeGuard[Coroutine[Any, Any, Any]]:
    """Say whether a handler returned a coroutine."""
    return inspect.iscoroutine(result)
