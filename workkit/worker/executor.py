"""One run of one job, as a straight line: resolve, call, name the ending. Never raises."""

from __future__ import annotations

import asyncio
import inspect
import random
import sysconfig
import threading
import time
import traceback
from collections.abc import Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from workkit.errors import CannotRun, InvalidArguments, JobTimeout
from workkit.jobs.arguments import check_call
from workkit.jobs.outcome import DONE, Failure, Outcome, decide
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.worker.running import Run, current
from workkit.worker.timeouts import Clock, Timeouts

TRACEBACK_BYTES = 8192
_OWN = str(Path(__file__).parent)
_LIBRARIES = tuple({sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(slots=True, eq=False)
class Attempt:
    """How a run ended: `error` None means it returned. `took_ms` is the time in the handler."""

    run: Run
    error: BaseException | None = None
    failure: Failure | None = None
    took_ms: float = 0.0
    options: RunOptions = UNSAID

    def decide(self) -> Outcome:
        """What becomes of the job now."""
        if self.error is None:
            return DONE
        attempt = self.run.claim.attempt
        return decide(self.error, self.failure, attempt=attempt, options=self.options, chance=random.random())


class Executor:
    """Runs claims for one listener: its registry, and one event loop for all its async handlers."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._loop = _EventLoop()
        self._timeouts = Timeouts()

    def run(self, run: Run) -> Attempt:
        """Run the handler to its end, in this thread; async ones on the listener's event loop, waited for here."""
        token = current.set(run)
        claim = run.claim
        run.started = start = time.monotonic()
        error: BaseException | None = None
        options = UNSAID
        try:
            handler, options = self.registry.handler(claim.fn)
            if claim.options is not UNSAID:
                options = claim.options.over(options)
            if options.timeout_ms is not None:
                run.clock = Clock(options.timeout_ms)
                self._timeouts.watch(run.clock)
            try:
                result = handler(*claim.args, **claim.kwargs) if claim.kwargs else handler(*claim.args)
                if result is not None and inspect.iscoroutine(result):
                    self._loop.run(result, context=copy_context(), clock=run.clock)
            finally:
                if run.clock is not None:
                    run.clock.stop()
        except CannotRun as cannot:
            error = cannot
        except BaseException as raised:  # a handler may raise anything, SystemExit included
            error = raised
        if run.clock is not None:
            run.clock.stop()
            self._timeouts.forget(run.clock)
        current.reset(token)
        took_ms = (time.monotonic() - start) * 1000
        if error is None or isinstance(error, CannotRun):
            return Attempt(run, error, None, took_ms, options)
        error = self._explained(error, run, options)
        return Attempt(run, error, failure_of(error), took_ms, options)

    def _explained(self, error: BaseException, run: Run, options: RunOptions) -> BaseException:
        """A run that was interrupted says after what time, a call that did not fit the function's parameters says
        which; any other error is the handler's own.
        """
        at = error.__traceback__
        if run.clock is not None and run.clock.expired and isinstance(error, JobTimeout | asyncio.CancelledError):
            seconds = (options.timeout_ms or 0) / 1000
            return JobTimeout(f"took longer than its timeout of {seconds:g} s").with_traceback(at)
        if isinstance(error, TypeError) and at is not None and at.tb_next is None:
            job = run.claim
            try:
                check_call(self.registry.resolve(job.fn), args=job.args, kwargs=job.kwargs or {})
            except InvalidArguments as better:
                return better
        return error

    def close(self) -> None:
        """Stop the event loop; its tasks are cancelled."""
        self._timeouts.close()
        self._loop.close()


def failure_of(error: BaseException) -> Failure:
    """An exception as it is kept: the handler's frames only."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OWN)]
    own = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    at = (own or frames)[-1:]
    text = "".join(traceback.format_exception(type(error), error, _without_ours(error.__traceback__)))
    return Failure(
        type=type(error).__name__,
        message=" ".join(_said(error).split())[:1000],
        where=f"{Path(at[0].filename).name}:{at[0].lineno}" if at else None,
        traceback=text if len(text) <= TRACEBACK_BYTES else "...\n" + text[-TRACEBACK_BYTES:],
    )


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"(its text cannot be had: {type(broken).__name__})"


def _without_ours(at: TracebackType | None) -> TracebackType | None:
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OWN):
        at = at.tb_next
    return at


class _EventLoop:
    """One event loop in a thread of its own, started with the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], *, context: Context, clock: Clock | None) -> None:
        """Run a coroutine on the loop, and wait for its end here; `clock` cancels it there when its time is over."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="workkit-asyncio", daemon=True).start()
        ended = threading.Event()
        task: list[asyncio.Task[Any]] = []

        def start() -> None:
            task.append(asyncio.get_running_loop().create_task(coroutine, context=context))
            task[0].add_done_callback(lambda _: ended.set())

        loop = self._loop
        loop.call_soon_threadsafe(start)
        if clock is not None:
            clock.interrupt_by(lambda: loop.call_soon_threadsafe(lambda: task[0].cancel()))
        ended.wait()
        task[0].result()

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
