"""One run of one job, as a straight line: resolve, call, name the ending. Never raises."""

from __future__ import annotations

import asyncio
import inspect
import random
import sysconfig
import threading
import time
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from workkit.broker import Claim
from workkit.errors import CannotRun, InvalidArguments, JobCancelled, JobTimeout
from workkit.jobs import arguments, middleware
from workkit.jobs.admission import Admission, Control, admission
from workkit.jobs.arguments import check_call, compiled_check
from workkit.jobs.middleware import AROUND, Around, within, within_async
from workkit.jobs.outcome import DONE, Failure, Outcome, decide
from workkit.jobs.registry import Handler, Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.worker.running import Run, current
from workkit.worker.timeouts import Clock, Interruption, Timeouts

if TYPE_CHECKING:
    from workkit.worker.offload import Offload

TRACEBACK_BYTES = 8192
_OWN = (str(Path(__file__).parent), middleware.__file__, arguments.__file__)
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
        return decide(
            self.error,
            self.failure,
            attempt=attempt,
            options=self.options,
            cancelled=self.run.cancelled,
            chance=random.random(),
        )


class Executor:
    """Runs claims for one listener: its registry, and one event loop for all its async handlers."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._loop = _EventLoop()
        self._timeouts = Timeouts()
        self._offload: Offload | None = None
        self._making = threading.Lock()

    def admission(self, claim: Claim, control: Control) -> Admission | None:
        """What a claim needs before its start, whose function can be run here."""
        _, options = self.registry.handler(claim.fn)
        return admission(
            id=claim.id,
            fn=claim.fn,
            args=claim.args,
            kwargs=claim.kwargs or {},
            terms=claim.terms,
            options=options,
            control=control,
        )

    def run(self, run: Run) -> Attempt:
        """Run the handler to its end, in this thread; async ones on the listener's event loop, waited for here."""
        token = current.set(run)
        claim = run.claim
        run.started = time.monotonic()
        error: BaseException | None = None
        failure: Failure | None = None
        options = UNSAID
        try:
            handler, options = self.registry.handler(claim.fn)
            if claim.options is not UNSAID:
                options = claim.options.over(options)
            if options.timeout_ms is not None:
                run.clock = run.interruption = Clock(options.timeout_ms)
            around = AROUND.get(run.lane.broker.schedule) if AROUND else None
            try:
                if around is None and options is UNSAID:  # the usual run, without a detour
                    run.thread = threading.get_ident()
                    if run.cancelled:
                        run.begin()
                    if (check := compiled_check(handler)) is not None:
                        check(claim.args, claim.kwargs)
                    result = handler(*claim.args, **claim.kwargs) if claim.kwargs else handler(*claim.args)
                    if result is not None and inspect.iscoroutine(result):
                        self._await(run, result)
                elif options.cpu:
                    if (raised_there := self._elsewhere(run, handler, around, options)) is not None:
                        error, failure = raised_there
                else:
                    if run.clock is not None:
                        self._timeouts.watch(run.clock)
                    run.begin()
                    if around is None:
                        self._call(run, handler)
                    else:
                        within(around.plain, partial(self._call, run, handler, around))
            finally:
                run.thread = 0
                if run.interruption is not None:
                    run.end()
        except CannotRun as cannot:
            error = cannot
        except BaseException as raised:  # a handler may raise anything, SystemExit included
            error = raised
        if run.interruption is not None:
            try:
                run.end()  # the end above may have been interrupted, and this one once more
            except (JobTimeout, JobCancelled) as late:
                error = error or late
            run.end()
            if run.clock is not None:
                self._timeouts.forget(run.clock)
        current.reset(token)
        took_ms = (time.monotonic() - run.started) * 1000
        if error is None or isinstance(error, CannotRun):
            return Attempt(run, error, None, took_ms, options)
        if failure is None:
            error = self._explained(error, run, options)
            failure = failure_of(error)
        return Attempt(run, error, failure, took_ms, options)

    def _call(self, run: Run, handler: Handler, around: Around | None = None) -> None:
        """Call the handler here; a coroutine is awaited on the event loop."""
        if (coroutine := invoke(handler, run.claim.args, run.claim.kwargs)) is not None:
            self._await(run, coroutine if around is None else within_async(around.coroutines, coroutine))

    def _await(self, run: Run, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._loop.run(coroutine, context=copy_context(), interruption=run.interruptible())

    def _elsewhere(
        self, run: Run, handler: Handler, around: Around | None, options: RunOptions
    ) -> tuple[BaseException, Failure] | None:
        """Have a worker process call the handler; its time is counted from there."""
        with self._making:
            if self._offload is None:
                from workkit.worker.offload import Offload  # only those who need it pay for the import

                self._offload = Offload(self.registry)

        def begun() -> None:
            run.started = time.monotonic()
            if run.clock is not None:
                run.clock.ends_at = run.started + (options.timeout_ms or 0) / 1000
                self._timeouts.watch(run.clock)

        return self._offload.run(run, handler, around=around, begun=begun)

    def _explained(self, error: BaseException, run: Run, options: RunOptions) -> BaseException:
        """A run that was interrupted says after what time; see `explained` for others."""
        at = error.__traceback__
        if run.clock is not None and run.clock.expired and isinstance(error, JobTimeout | asyncio.CancelledError):
            seconds = (options.timeout_ms or 0) / 1000
            return JobTimeout(f"took longer than its timeout of {seconds:g} s").with_traceback(at)
        if run.cancelled and isinstance(error, asyncio.CancelledError):
            return JobCancelled(f"job {run.claim.id} was cancelled", given=run.claim.id).with_traceback(at)
        if isinstance(error, TypeError):
            job = run.claim
            return explained(error, self.registry.resolve(job.fn), args=job.args, kwargs=job.kwargs)
        return error

    def close(self) -> None:
        """Stop the event loop, whose tasks are cancelled, and kill the worker processes."""
        self._timeouts.close()
        self._loop.close()
        with self._making:
            if self._offload is not None:
                self._offload.close()


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Coroutine[Any, Any, Any] | None:
    """Call a handler with arguments that fit its annotations. Returns a coroutine if it made one, to be awaited.

    Raises InvalidArguments, and what the handler does.
    """
    if (check := compiled_check(handler)) is not None:
        check(args, kwargs)
    result = handler(*args, **kwargs) if kwargs else handler(*args)
    return result if result is not None and inspect.iscoroutine(result) else None


def explained(
    error: BaseException, handler: Handler, *, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> BaseException:
    """A call that did not fit the function's parameters says which; any other error is the handler's own."""
    if isinstance(error, TypeError) and _without_ours(error.__traceback__) is None:
        try:
            check_call(handler, args=args, kwargs=kwargs or {})
        except InvalidArguments as better:
            return better
    return error


def failure_of(error: BaseException) -> Failure:
    """An exception as it is kept: the handler's frames only."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_OWN)]
    own = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
    at = (own or frames)[-1:]
    text = "".join(_without_our_frames(traceback.TracebackException(type(error), error, error.__traceback__)).format())
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


def _without_our_frames(told: traceback.TracebackException) -> traceback.TracebackException:
    """The same without the frames through which handlers and middleware were called; nor what caused it has them."""
    link: traceback.TracebackException | None = told
    while link is not None:
        link.stack[:] = [frame for frame in link.stack if not frame.filename.startswith(_OWN)]
        link = link.__cause__ or link.__context__
    return told


def _without_ours(at: TracebackType | None) -> TracebackType | None:
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_OWN):
        at = at.tb_next
    return at


class _EventLoop:
    """One event loop in a thread of its own, started with the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], *, context: Context, interruption: Interruption) -> None:
        """Run a coroutine on the loop, and wait for its end here; interrupted, it is cancelled there."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="workkit-asyncio", daemon=True).start()
        ended = threading.Event()
        task: list[asyncio.Task[Any]] = []
        early: list[bool] = []  # interrupted before it began

        def start() -> None:
            task.append(asyncio.get_running_loop().create_task(coroutine, context=context))
            task[0].add_done_callback(lambda _: ended.set())
            if early:
                task[0].cancel()

        def stop() -> None:
            if task:
                task[0].cancel()
            else:
                early.append(True)

        loop = self._loop
        # before it begins: from here on nothing is raised in this thread, which would leave it behind
        interruption.interrupt_by(lambda: loop.call_soon_threadsafe(stop))
        loop.call_soon_threadsafe(start)
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
