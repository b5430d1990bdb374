"""The call of a handler and its ending: the outcome of its job, and its error as text.

This module checks the arguments of a call, contains its forks, and keeps its result as JSON. The text of an error
leaves out the frames through which workkit called the handler.
"""

from __future__ import annotations

import inspect
import random
import sysconfig
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from workkit import wire
from workkit.errors import InvalidArguments, described, text_of, type_name
from workkit.jobs import arguments, json_value, middleware
from workkit.jobs import structured as structured_parameters
from workkit.jobs.arguments import as_called, check_call, compiled_check, takes_whole
from workkit.jobs.marks import Handler
from workkit.jobs.outcome import DONE, Dead, Failure, Kept, Outcome, decide, with_result
from workkit.jobs.run_options import RunOptions
from workkit.jobs.structured import needs_fitting, result_reader, structured
from workkit.worker.run import interruption
from workkit.worker.run.run import Run

MOST_BYTES = 1_000_000  # of a result, if `keep_most` is not set
_INSTEAD = {  # the writer's advice is about arguments
    "Pass": "Return",
    "in the function": "where you read it",
    "the parameter": "the result",
}


def lift(run: Run, handler: Handler, options: RunOptions) -> None:
    """Give a run the arguments of today, if those of its job are of an earlier version that `accepts` of its function
    lifts. Raises InvalidArguments, marked as unfit, where that fails.
    """
    if options.accepts:
        from workkit.jobs.lifting import lifted  # most listeners need none of it

        try:
            run.lifted = lifted(handler, options.accepts, (run.claim.args, run.claim.kwargs))
        except InvalidArguments as error:
            error.unfit = True
            raise
        run.job = None if run.lifted else run.job  # a lifter may have asked for it


def invoke_of(run: Run, handler: Handler) -> Any:
    """Call the handler of a run with its arguments: see `invoke`."""
    return invoke(handler, *(run.lifted or (run.claim.args, run.claim.kwargs)))


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """Call a handler with arguments that fit its annotations, and build structured ones. Return its result; the caller
    awaits a coroutine: see `is_coroutine`.

    In a child process that the handler forks, this call does not return. Raises InvalidArguments, marked as unfit, for
    arguments that the handler does not take, and every error of the handler.
    """
    born, placed, named = interruption.forks, args, kwargs
    if kwargs is not None or needs_fitting(handler):
        placed, named = _fitted(handler, args, kwargs)
    try:
        result = handler(*placed, **named) if named else handler(*placed)
    except BaseException as raised:
        if interruption.forks != born:
            interruption.end_fork(raised)
        if isinstance(raised, TypeError) and raised.__traceback__ and raised.__traceback__.tb_next is None:
            name_misfit(handler, args, kwargs)  # no frame of the handler: the call itself failed
        raise
    if interruption.forks != born:
        interruption.end_fork()
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
    """Return whether a handler returned a coroutine."""
    return inspect.iscoroutine(result)


def kept_value(value: Any, options: RunOptions, handler: Handler) -> Kept | None:
    """Make the kept result of a run that returned a value; None if its job keeps no result. A result with a structured
    annotation is written as a structured argument. Never raises.
    """
    if options.keep_ms is None:
        return None
    most = MOST_BYTES if options.keep_most is None else options.keep_most
    try:
        plain = value if result_reader(handler) is None else json_value.as_json(value, "result")
        text = wire.value_text(plain, "result")
    except InvalidArguments as error:
        return _unkept(options.keep_ms, _refused(error))
    except RecursionError:
        return _unkept(options.keep_ms, "result is nested too deeply for JSON, or contains itself")
    except BaseException as error:  # a value may be of any class, with methods that raise anything
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


TRACEBACK_BYTES = 8192
_WORKKIT = Path(__file__).parents[2]
_OWN = (
    str(_WORKKIT / "worker"),
    str(_WORKKIT / "django"),
    middleware.__file__,
    arguments.__file__,
    structured_parameters.__file__,
    str(_WORKKIT / "jobs" / "lifting.py"),
    json_value.__file__,
)
_LIBRARIES = tuple({sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")})


def outcome_of(run: Run) -> Outcome:
    """Return the outcome of a run that has ended. Never raises."""
    if run.error is None:
        return DONE if run.kept is None else with_result(DONE, run.options, run.kept)
    claim = run.claim
    try:
        outcome = decide(
            run.error,
            run.failure,
            attempt=claim.attempt,
            waits=claim.attempt - claim.failures,
            options=run.options,
            cancelled=run.cancelled,
            chance=random.random(),
        )
    except BaseException as broken:  # the class of an error, or of a Retry's argument, is code of the handler
        outcome = Dead(failure=run.failure or failure_of(broken))
    return with_result(outcome, run.options)


def failure_of(error: BaseException) -> Failure:
    """Describe an exception, with the handler's frames only. Never raises, even if the class of the exception does."""
    try:
        where, text = _traced(error)
    except BaseException as broken:  # its class, its cause or its notes are code of the handler
        where, text = None, f"(no traceback: writing it raised {type_name(broken)})"
    return Failure(type=type_name(error), message=text_of(error), where=where, traceback=text)


def line_of(error: BaseException) -> str | None:
    """Name the innermost line outside of workkit and of libraries where an error was raised: ``jobs.py:12``."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_library = frame.filename.startswith((str(_WORKKIT), *_LIBRARIES))
        if not is_library and not {"site-packages", "dist-packages"} & {*Path(frame.filename).parts}:
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return None


def _traced(error: BaseException) -> tuple[str | None, str]:
    """Return the place where an error was raised, and its traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OWN)]
    own = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    at = (own or frames)[-1:]
    text = "".join(_without_our_frames(traceback.TracebackException(type(error), error, error.__traceback__)).format())
    where = f"{Path(at[0].filename).name}:{at[0].lineno}" if at else None
    return where, text if len(text) <= TRACEBACK_BYTES else "...\n" + text[-TRACEBACK_BYTES:]


def _without_our_frames(whole: traceback.TracebackException) -> traceback.TracebackException:
    """Remove the frames through which handlers and middleware were called, also from its causes."""
    link: traceback.TracebackException | None = whole
    while link is not None:
        link.stack[:] = [frame for frame in link.stack if not frame.filename.startswith(_OWN)]
        link = link.__cause__ or link.__context__
    return whole


def without_ours(at: TracebackType | None) -> TracebackType | None:
    """Drop the outermost frames of a traceback, through which a handler was called."""
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OWN):
        at = at.tb_next
    return at
