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
from datetime import datetime, timedelta
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, overload
from zoneinfo import ZoneInfo

from workkit import schedule
from workkit.contract.groups import Ending
from workkit.contract.inspector import Missed
from workkit.contract.producer import CALLER, Tally, calling_line
from workkit.errors import InvalidOptions
from workkit.jobs.call import AddOptions, ForwardOptions, FunctionCall, ListenOptions, TimeOptions
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import Fn
from workkit.schedule import BatchState, Schedule, create, meta
from workkit.verbs.control import Which
from workkit.verbs.serving import listener_on
from workkit.worker.listener import Listener

__all__ = [
    "Batch", "BatchState", "add", "add_many", "add_now", "batch", "cancel", "chain", "changes", "counts", "create",
    "dead", "discard", "drain", "forwarder", "history", "job", "jobs", "listener", "listeners", "log", "map", "mark",
    "meta", "missed", "pause", "reschedule", "result", "resume", "retry", "run", "runs", "schedules", "skip",
    "snooze", "stats", "sync",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


def coroutine_of(verb: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that calls a verb in a thread of asyncio's default executor."""

    @functools.wraps(verb)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        token = CALLER.set(calling_line())
        try:
            return await asyncio.to_thread(verb, *args, **kwargs)
        finally:
            CALLER.reset(token)

    return run


add = coroutine_of(schedule.add)
add_now = coroutine_of(schedule.add_now)
chain = coroutine_of(schedule.chain)
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
    s: Schedule,
    which: Which,
    *,
    tag: str | None = None,
    tz: str | ZoneInfo | None = None,
    by: str | None = None,
    **time: Unpack[TimeOptions],
) -> Job: ...
@overload
async def reschedule(
    s: Schedule, *, tag: str, tz: str | ZoneInfo | None = None, by: str | None = None, **time: Unpack[TimeOptions]
) -> list[Job]: ...
async def reschedule(s: Schedule, which: Any = None, **how: Any) -> Any:
    """Give jobs another time, as `schedule.reschedule` does."""
    verb: Any = schedule.reschedule
    return await coroutine_of(verb)(s, which, **how)


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


class Batch:
    """A batch as `schedule.batch` returns it, with coroutines: ``async with aio.batch(s, "import") as batch:``, and
    ``await batch.add(load, ...)`` in the block.
    """

    def __init__(self, of: schedule.Batch) -> None:
        self.id, self.name, self.before, self._of = of.id, of.name, of.before, of
        self._turn = asyncio.Lock()  # the order of the rows is the order of the calls

    async def add(
        self,
        fn: Fn | None = None,
        *,
        call: FunctionCall | None = None,
        when: str | None = None,
        at: str | datetime | None = None,
        in_: str | timedelta | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Job[Any]:
        """Add a job to the batch, as `Batch.add` does."""
        given: dict[str, Any] = {"call": call, "when": when, "at": at, "in_": in_, "args": args, "kwargs": kwargs}
        async with self._turn:
            return await coroutine_of(self._of.add)(fn, **given, **options)

    async def state(self) -> BatchState:
        """Read the batch. Raises NotFound."""
        return await asyncio.to_thread(self._of.state)

    async def ids(self, ending: Ending | None = None) -> AsyncIterator[str]:
        """Read the ids of its jobs by an asynchronous iterator."""
        found = await asyncio.to_thread(self._of.ids, ending)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def cancel(self, *, by: str | None = None) -> BatchState:
        """Cancel what has not ended, as `Batch.cancel` does. Raises NotFound."""
        return await asyncio.to_thread(self._of.cancel, by=by)

    async def __aenter__(self) -> Batch:
        await asyncio.to_thread(self._of.__enter__)
        return self

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self._of.__exit__, *error)


def _of_batch(verb: Callable[P, schedule.Batch]) -> Callable[P, Batch]:
    @functools.wraps(verb)
    def made(*args: P.args, **kwargs: P.kwargs) -> Batch:
        return Batch(verb(*args, **kwargs))

    return made


batch = _of_batch(schedule.batch)
map = coroutine_of(_of_batch(schedule.map))


async def add_many(s: Schedule, rows: Iterable[Mapping[str, object]]) -> Tally:
    """Add a job for each row, as `schedule.add_many` does. A thread reads `rows`."""
    return await coroutine_of(schedule.add_many)(s, rows)


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
    s: Schedule | Sequence[Schedule] | Mapping[Schedule, int],
    *,
    loop: Literal["own"] | None = None,
    **how: Unpack[ListenOptions],
) -> AsyncIterator[Listener]:
    """Listen in threads of its own until the block is left: ``async with aio.listener(s):``.

    ``loop="own"`` runs coroutine jobs on the event loop of the caller, so that they may use its pools and clients; the
    default is an event loop of the listener. Raises InvalidOptions for another `loop`.
    """
    check_loop(loop)
    here = asyncio.get_running_loop() if loop == "own" else None
    async with _started(functools.partial(listener_on, here, s, how)) as ours:
        yield ours


def check_loop(loop: object) -> None:
    """Raises InvalidOptions for a choice of the event loop that is not known."""
    if loop not in (None, "own"):
        remedy = 'Write loop="own" for coroutine jobs on the event loop of this program, or leave it out.'
        raise InvalidOptions.about(f"loop={loop!r}", "is not known", remedy, where="loop", given=loop)


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
