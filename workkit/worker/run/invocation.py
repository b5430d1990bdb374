"""The call of a handler, with its arguments checked and its forks contained."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeGuard

from workkit.jobs.arguments import as_called, compiled_check, takes_whole
from workkit.jobs.functions.marks import Handler
from workkit.jobs.structured.parameters import structured
from workkit.worker.run import forks


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """Call a handler with arguments that fit its annotations; structured ones are built. Return what it returns; a
    coroutine is for the caller to await: see `is_coroutine`.

    In a child process that the handler forks, this call does not return. Raises InvalidArguments, and what the handler
    raises.
    """
    is_whole = kwargs is not None and not args and takes_whole(handler)
    if is_whole:
        args, kwargs = as_called(handler, args, kwargs)
    if (check := compiled_check(handler)) is not None:
        check(args, kwargs)
    if (found := structured(handler)) is not None:
        args, kwargs = found.built(args, kwargs, whole=is_whole)
    born = forks.count
    try:
        result = handler(*args, **kwargs) if kwargs else handler(*args)
    except BaseException as raised:
        if forks.count != born:
            forks.leave(raised)
        raise
    if forks.count != born:
        forks.leave()
    return result


def is_coroutine(result: Any) -> TypeGuard[Coroutine[Any, Any, Any]]:
    """Say whether a handler returned a coroutine."""
    return inspect.iscoroutine(result)
