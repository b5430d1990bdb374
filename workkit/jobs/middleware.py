"""Middleware: generator functions with one `yield`, around the runs of a schedule or around its additions. Pure.

Around a run, the handler runs at the `yield`. The `yield` raises the handler's error, and the error that leaves the
generator is the result of the run. Around an addition, the generator gets the job and yields the job to add.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workkit.errors import InvalidFunction
from workkit.jobs.arguments import signature_of
from workkit.jobs.job import Job

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Around:
    """The middleware around the runs of one schedule, outermost first. Coroutines have both kinds, `plain` outside."""

    plain: tuple[Callable[[], Generator[Any, Any, Any]], ...] = ()
    coroutines: tuple[Callable[[], AsyncGenerator[Any, Any]], ...] = ()


EVERY = ""  # in place of the name of a schedule: every one of this process, outside of the others
AROUND: dict[str, Around] = {}  # by the name of the schedule
ORIGINS: dict[str, tuple[str, str, str]] = {}
"""By the name of the schedule: module and name of the function that registers its middleware again in a worker process
(if importing modules does not register it), and the text argument of that function.
"""
ENTERING: dict[str, tuple[Callable[[Job], Generator[Any, Any, Any]], ...]] = {}


def register(schedules: Iterable[str], fn: F, *, on: str) -> F:
    """Put a generator function with one `yield` around the runs of schedules, or around their additions, from now on,
    in this process. Returns the function itself.

    ``on="run"``: it takes no arguments, and the handler runs at the `yield`. The `yield` raises the handler's error.
    The error that leaves the generator decides: another error, Retry, Discard; none, and the run is a success.
    `current_job().context` carries values to the handler. An ``async def`` is around coroutines only, on their event
    loop. A plain one is around both kinds of handlers, in the thread of the run, and outside of the ``async def`` ones.
    The first one registered is the outermost.

    ``on="add"``: it takes the Job, and yields the one to add, with other `args`, `kwargs`, `options` or `meta`. An
    error refuses the job. The code after the `yield` runs before the job is sent.

    Raises InvalidFunction.
    """
    said = f"middleware {_function_name(fn)}"
    if on not in ("run", "add"):
        raise InvalidFunction(f'{said}: on={on!r} is not known. Accepted: "run", "add".', given=on)
    if not inspect.isgeneratorfunction(fn) and (on == "add" or not inspect.isasyncgenfunction(fn)):
        takes = "(job)" if on == "add" else "()"
        raise InvalidFunction(f"{said} is not a generator function. Write def name{takes}: with one yield.", given=fn)
    try:
        signature_of(fn).bind(*(["job"] if on == "add" else []))
    except TypeError as error:
        takes = "one argument, the job" if on == "add" else "no argument: current_job() tells of the run"
        raise InvalidFunction(f"{said} cannot be called: {error}. It takes {takes}.", given=fn) from None
    for schedule in schedules:
        if on == "add":
            ENTERING[schedule] = (*ENTERING.get(schedule, ()), fn)
            continue
        around = AROUND.get(schedule, Around())
        if inspect.isasyncgenfunction(fn):
            AROUND[schedule] = Around(around.plain, (*around.coroutines, fn))
        else:
            AROUND[schedule] = Around((*around.plain, fn), around.coroutines)
    return fn


def around_of(schedule: str) -> Around | None:
    """Return the middleware around the runs of a schedule; None if there is none. Middleware of every schedule is
    outermost.
    """
    every, own = AROUND.get(EVERY), AROUND.get(schedule)
    if every is None or own is None:
        return own if every is None else every
    return Around((*every.plain, *own.plain), (*every.coroutines, *own.coroutines))


def entered(schedule: str, job: Job) -> Job:
    """Pass a job through the middleware of its schedule; return the job to add. Raises InvalidFunction, and any error
    of the middleware.
    """
    for fn in ENTERING.get(schedule, ()):
        seen = fn(job)
        try:
            changed = next(seen)
        except StopIteration:
            raise _silent(fn) from None
        try:
            next(seen)
        except StopIteration:
            pass
        else:
            seen.close()
            raise _talkative(fn)
        if not isinstance(changed, Job):
            raise InvalidFunction(
                f"middleware {_function_name(fn)} yielded {changed!r}. Yield the job to add.", given=changed
            )
        job = changed
    return job


def within(made: Sequence[Callable[[], Generator[Any, Any, Any]]], run: Callable[[], None]) -> None:
    """Call `run` inside the generators, as in nested ``with`` blocks."""
    if not made:
        run()
        return
    begun = made[0]()
    try:
        next(begun)
    except StopIteration:
        raise _silent(made[0]) from None
    try:
        within(made[1:], run)
    except BaseException as error:
        at, left = error.__traceback__, _left(made[0], begun, error)
        if left is None:
            return
        if left is error:
            error.__traceback__ = at  # without the generator it went through
            raise
        raise left  # noqa: B904 (its cause and context are as the generator made them)
    try:
        next(begun)
    except StopIteration:
        return
    begun.close()
    raise _talkative(made[0])


async def within_async(made: Sequence[Callable[[], AsyncGenerator[Any, Any]]], run: Coroutine[Any, Any, Any]) -> Any:
    """Await `run` inside the asynchronous generators, and return its value; None if one of them caught its error."""
    if not made:
        return await run
    begun = made[0]()
    try:
        await anext(begun)
    except BaseException as error:
        run.close()
        if isinstance(error, StopAsyncIteration):
            raise _silent(made[0]) from None
        raise
    try:
        value = await within_async(made[1:], run)
    except BaseException as error:
        at, left = error.__traceback__, await _left_async(made[0], begun, error)
        if left is None:
            return None
        if left is error:
            error.__traceback__ = at
            raise
        raise left  # noqa: B904 (its cause and context are as the generator made them)
    try:
        await anext(begun)
    except StopAsyncIteration:
        return value
    await begun.aclose()
    raise _talkative(made[0])


def _left(fn: Any, begun: Generator[Any, Any, Any], error: BaseException) -> BaseException | None:
    """Raise the error at the yield of a generator, and return the error that leaves it, or None."""
    try:
        begun.throw(error)
    except StopIteration:
        return None
    except BaseException as raised:
        return _same(raised, error)
    begun.close()
    return _talkative(fn)


async def _left_async(fn: Any, begun: AsyncGenerator[Any, Any], error: BaseException) -> BaseException | None:
    try:
        await begun.athrow(error)
    except StopAsyncIteration:
        return None
    except BaseException as raised:
        return _same(raised, error)
    await begun.aclose()
    return _talkative(fn)


def _same(raised: BaseException, error: BaseException) -> BaseException:
    """Return the error itself if the generator let it pass: Python wraps StopIteration into a RuntimeError."""
    is_wrapped = isinstance(error, StopIteration | StopAsyncIteration) and raised.__cause__ is error
    return error if is_wrapped else raised


def _silent(fn: Any) -> InvalidFunction:
    return InvalidFunction(f"middleware {_function_name(fn)} ended without a yield. It has exactly one.", given=fn)


def _talkative(fn: Any) -> InvalidFunction:
    return InvalidFunction(f"middleware {_function_name(fn)} yielded twice. It has exactly one yield.", given=fn)


def _function_name(fn: Any) -> str:
    return f"{getattr(fn, '__module__', '?')}.{getattr(fn, '__qualname__', repr(fn))}"
