"""The verbs of `workkit.schedule` as coroutines: same names, same arguments, same Schedule.

Each runs in a thread of asyncio's default executor, so the network never blocks the event loop. `result` may wait for a
long time, so it has a thread of its own.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, overload

from workkit import schedule
from workkit.contract.inspector import Missed
from workkit.contract.producer import Tally
from workkit.jobs.call import ForwardOptions, ListenOptions, Times
from workkit.jobs.job import Job, JobState
from workkit.schedule import Schedule, create, meta
from workkit.verbs.control import Which
from workkit.worker.listener import Listener

__all__ = [
    "add", "add_many", "add_now", "cancel", "changes", "counts", "create", "dead", "discard", "drain", "forwarder",
    "history", "job", "jobs", "listener", "listeners", "log", "mark", "meta", "missed", "pause", "reschedule", "result",
    "resume", "retry", "run", "runs", "schedules", "skip", "snooze", "stats", "sync",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


def coroutine_of(verb: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls a verb in a thread of asyncio's default executor."""

    @functools.wraps(verb)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(verb, *args, **kwargs)

    return run


add = coroutine_of(schedule.add)
add_now = coroutine_of(schedule.add_now)
changes = coroutine_of(schedule.changes)
counts = coroutine_of(schedule.counts)
dead = coroutine_of(schedule.dead)
discard = coroutine_of(schedule.discard)
drain = coroutine_of(schedule.drain)
history = coroutine_of(schedule.history)
job = coroutine_of(schedule.job)
listeners = coroutine_of(schedule.listeners)
mark = coroutine_of(schedule.mark)
pause = coroutine_of(schedule.pause)
resume = coroutine_of(schedule.resume)
retry = coroutine_of(schedule.retry)
run = coroutine_of(schedule.run)
log = coroutine_of(schedule.log)
runs = coroutine_of(schedule.runs)
schedules = coroutine_of(schedule.schedules)
stats = coroutine_of(schedule.stats)
sync = coroutine_of(schedule.sync)


@overload
async def snooze(s: Schedule, which: Which, time: str | timedelta, *, by: str | None = None) -> Job: ...
@overload
async def snooze(
    s: Schedule, which: list[Any] | tuple[Which, ...], time: str | timedelta, *, by: str | None = None
) -> list[Job]: ...
@overload
async def snooze(s: Schedule, *, time: str | timedelta, tag: str, by: str | None = None) -> list[Job]: ...
async def snooze(
    s: Schedule, which: Any = None, time: Any = None, *, tag: str | None = None, by: str | None = None
) -> Any:
    """Put the next run of jobs off, as `schedule.snooze` does."""
    verb: Any = schedule.snooze
    return await asyncio.to_thread(verb, s, which, time, tag=tag, by=by)


@overload
async def skip(s: Schedule, which: Which, *, tag: str | None = None, by: str | None = None) -> Job: ...
@overload
async def skip(s: Schedule, *, tag: str, by: str | None = None) -> list[Job]: ...
async def skip(s: Schedule, which: Any = None, *, tag: str | None = None, by: str | None = None) -> Any:
    """Leave out the next run of recurring jobs, as `schedule.skip` does."""
    verb: Any = schedule.skip
    return await asyncio.to_thread(verb, s, which, tag=tag, by=by)


@overload
async def reschedule(
    s: Schedule, which: Which, *, tag: str | None = None, tz: Any = None, by: str | None = None, **time: Unpack[Times]
) -> Job: ...
@overload
async def reschedule(
    s: Schedule, *, tag: str, tz: Any = None, by: str | None = None, **time: Unpack[Times]
) -> list[Job]: ...
async def reschedule(s: Schedule, which: Any = None, **how: Any) -> Any:
    """Give jobs another time, as `schedule.reschedule` does."""
    verb: Any = schedule.reschedule
    return await asyncio.to_thread(verb, s, which, **how)


@overload
async def cancel(
    s: Schedule, which: Which, *, tag: str | None = None, missing_ok: Literal[False] = False, by: str | None = None
) -> Job: ...
@overload
async def cancel(
    s: Schedule, which: Which, *, tag: str | None = None, missing_ok: bool, by: str | None = None
) -> Job | None: ...
@overload
async def cancel(s: Schedule, *, tag: str, missing_ok: bool = False, by: str | None = None) -> list[Job]: ...
async def cancel(
    s: Schedule, which: Any = None, *, tag: str | None = None, missing_ok: bool = False, by: str | None = None
) -> Any:
    """Cancel jobs, as `schedule.cancel` does."""
    verb: Any = schedule.cancel
    return await asyncio.to_thread(verb, s, which, tag=tag, missing_ok=missing_ok, by=by)


async def result(s: Schedule, which: Which, *, wait: str | timedelta | None = "30s") -> Any:
    """Return the result of a job, as `schedule.result` does. Waiting calls do not block other verbs."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Any] = loop.create_future()

    def put(answer: Any, error: BaseException | None) -> None:
        if not found.done():
            found.set_result(answer) if error is None else found.set_exception(error)

    def serve() -> None:
        answer, raised = None, None
        try:
            answer = schedule.result(s, which, wait=wait)
        except BaseException as error:
            raised = error
        with suppress(RuntimeError):  # the event loop is closed: no coroutine waits any more
            loop.call_soon_threadsafe(put, answer, raised)

    threading.Thread(target=serve, name="workkit-result", daemon=True).start()
    return await found


async def add_many(s: Schedule, rows: Iterable[Mapping[str, object]]) -> Tally:
    """Add a job for each row, as `schedule.add_many` does. A thread reads `rows`."""
    return await asyncio.to_thread(schedule.add_many, s, rows)


async def jobs(
    s: Schedule,
    *,
    state: JobState | None = None,
    where: str | None = None,
    names: str | None = None,
    tag: str | None = None,
) -> AsyncIterator[Job]:
    """Read the jobs, as `schedule.jobs` does, by an asynchronous iterator."""
    found: Iterator[Job] = await asyncio.to_thread(schedule.jobs, s, state=state, where=where, names=names, tag=tag)
    while (one := await asyncio.to_thread(next, found, None)) is not None:
        yield one


async def missed(s: Schedule) -> AsyncIterator[Missed]:
    """Read the missed runs, as `schedule.missed` does, by an asynchronous iterator."""
    found: Iterator[Missed] = await asyncio.to_thread(schedule.missed, s)
    while (one := await asyncio.to_thread(next, found, None)) is not None:
        yield one


@asynccontextmanager
async def listener(
    s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Unpack[ListenOptions]
) -> AsyncIterator[Listener]:
    """Listen in threads of its own until the block is left: ``async with aio.listener(s):``."""
    async with _started(functools.partial(schedule.listener, s, **how)) as ours:
        yield ours


@asynccontextmanager
async def forwarder(s: Schedule, *, to: Schedule, **how: Unpack[ForwardOptions]) -> AsyncIterator[Listener]:
    """Forward in threads of its own until the block is left: ``async with aio.forwarder(s, to=other):``."""
    async with _started(functools.partial(schedule.forwarder, s, to=to, **how)) as ours:
        yield ours


@asynccontextmanager
async def _started(make: Callable[[], Listener]) -> AsyncIterator[Listener]:
    ours = await asyncio.to_thread(make)
    await asyncio.to_thread(ours.start)
    try:
        yield ours
    finally:
        await asyncio.to_thread(ours.stop)
