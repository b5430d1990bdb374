"""The steps of one run of one job: resolve, start the clock, perform, stop the clock, name the ending."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workkit.clocks import time
from workkit.contract.listener import Claim
from workkit.errors import CannotRun, JobCancelled, JobTimeout, described
from workkit.jobs import meta as metadata
from workkit.jobs.admission import Admission, Control
from workkit.jobs.marks import Handler
from workkit.jobs.middleware import AROUND, Around, around_of, within, within_async
from workkit.jobs.names import shown
from workkit.jobs.outcome import Failure, Kept, NotBegun
from workkit.jobs.registry import MOST_NAMES, Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.structured import needs_fitting
from workkit.worker.run import interruption
from workkit.worker.run.call import failure_of, invoke_of, is_coroutine, kept_value, lift, line_of, name_misfit
from workkit.worker.run.event_loop import SILENT, EventLoop, stopper
from workkit.worker.run.interruption import Clock, TestClock, Timeouts, Watched
from workkit.worker.run.run import Run, capture_logs, current

if TYPE_CHECKING:
    from workkit.worker.worker_pool import WorkerPool

Raised = tuple[BaseException, Failure]


class Executor:
    """Runs claims for one listener: in the calling thread, on one event loop for all coroutines, or in a worker
    process.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        offloads: bool = True,
        standing_ms: int | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """`standing_ms`: a test holds the time still while a handler runs, which may take this real time, in ms.
        `loop`: run coroutines on this loop of the program.
        """
        capture_logs()
        self.registry = registry
        self._standing_ms = standing_ms
        self._offloads = offloads  # whether handlers marked with cpu=True run in worker processes
        self.event_loop = EventLoop(loop)
        self._timeouts = Timeouts()
        # Handlers by their stored names: only those without options and without arguments that need a check.
        self._plain: dict[str, Handler] = {}
        self.coroutines: set[str] = set()  # the known names of coroutine functions, which need no thread
        self._workers: WorkerPool | None = None
        self._making = threading.Lock()

    def admission(self, claim: Claim, control: Control) -> Admission | None:
        """Return the needs of a claim before its start. Its function can run here."""
        _, options = self.registry.handler(claim.fn)
        if claim.options.crashes is not None:
            options = claim.options.over(options)
        return claim.admission(options, control)

    def refusal(self, fn: str) -> CannotRun | None:
        """Return why a function cannot run here, or not now; None if it can."""
        refused = self.registry.refusal(fn)
        if refused is None and self.event_loop.was_silent and self.event_loop.is_silent:
            handler, options = self.registry.handler(fn)
            if inspect.iscoroutinefunction(handler) and not options.cpu:
                return NotBegun(SILENT)
        return refused

    def learn(self, fn: str) -> None:
        """Remember whether a function is a coroutine function. It can run here."""
        handler, options = self.registry.handler(fn)
        if inspect.iscoroutinefunction(handler) and not options.cpu and len(self.coroutines) < MOST_NAMES:
            self.coroutines.add(fn)

    def begin(
        self,
        run: Run,
        do: Callable[[Any], Coroutine[Any, Any, None] | None],
        over: Callable[[Run, BaseException | None], None],
    ) -> None:
        """Begin a coroutine function: call `do` on the event loop, and await what it returns; then call `over`. Plain
        middleware around it may block, so it gets a new thread, in which `do` ends the run.
        """

        async def do_on_loop() -> None:
            if (rest := do(run)) is not None:
                await rest

        around = around_of(run.schedule) if AROUND else None
        try:
            if around is not None and around.plain:
                threading.Thread(target=do, args=(run,), name="workkit-coroutine", daemon=True).start()
            else:
                run.is_on_loop = True
                self.event_loop.start(do_on_loop(), context=copy_context(), over=partial(over, run))
        except NotBegun as error:
            over(run, error)
        except (RuntimeError, MemoryError) as error:
            over(run, NotBegun(f"no thread for a coroutine: {described(error)}", where=run.claim.fn))

    async def run_on_loop(self, run: Run) -> None:
        """Do the same as `run`, for a coroutine function without plain middleware, in a task of the event loop."""
        current.set(run)  # the context belongs to this task
        if metadata.is_used:
            metadata.CARRIED.set(run.claim.meta)
        run.started = time.monotonic()
        raised: BaseException | None = None
        try:
            handler, options = self._prepare(run)
            run.interruptible().interrupt_by(stopper())  # before it begins: nothing may be raised in the loop's thread
            if run.clock is not None:
                self._timeouts.watch(run.clock)
            run.begin()
            lift(run, handler, options)
            result = invoke_of(run, handler)
            around = around_of(run.schedule) if AROUND else None
            if is_coroutine(result):
                watched = Watched(result)
                result = await (watched if around is None else within_async(around.coroutines, watched))
            run.returned = result
        except BaseException as error:
            raised = error
        self.end_on_loop(run, raised)

    def end_on_loop(self, run: Run, raised: BaseException | None) -> None:
        """Store the ending of a run that has ended on the event loop, or was lost with it."""
        run.end()
        if run.clock is not None:
            self._timeouts.forget(run.clock)
        run.took_ms = (time.monotonic() - run.started) * 1000 if run.started else 0.0
        if raised is not None:
            self._failed(run, raised, None)
        elif run.options.keep_ms is not None:
            run.kept = self._kept(run, run.options)

    def run(self, run: Run) -> None:
        """Run the handler to its end, wait for it if it runs elsewhere, and store the ending in `run`. Never raises."""
        claim, token, born = run.claim, current.set(run), interruption.forks
        carried = metadata.CARRIED.set(claim.meta) if metadata.is_used else None
        run.started = time.monotonic()
        raised: BaseException | None = None
        there: Raised | None = None  # the error raised in a worker process
        try:
            try:
                handler = self._plain.get(claim.fn)
                is_plain = claim.kwargs is None and claim.options is UNSAID and claim.usual is UNSAID and not AROUND
                if handler is None or not is_plain:
                    there = self._perform(run)
                else:  # as `_perform` does, without its checks
                    run.thread = threading.get_ident()
                    if run.cancelled:
                        run.begin()
                    result = handler(*claim.args)
                    if interruption.forks != born:
                        interruption.end_fork()
                    if result is not None:
                        run.returned = self._await(run, result, None) if is_coroutine(result) else result
            except BaseException as error:
                if interruption.forks != born:
                    interruption.end_fork(error)
                if handler is not None and type(error) is TypeError and (at := error.__traceback__) and not at.tb_next:
                    name_misfit(handler, claim.args, claim.kwargs)  # no frame of the handler: the call itself failed
                raise
            finally:
                run.thread = 0
                if run.interruption is not None:
                    run.end()
        except BaseException as error:  # a handler may raise anything, SystemExit included
            raised = error
        if run.not_begun is not None:  # also where middleware has caught it
            raised = run.not_begun
        if run.interruption is not None:  # inline, because an interruption may come at the call of a function
            try:
                run.end()  # the end above may have been interrupted, and this one once more
            except (JobTimeout, JobCancelled) as late:
                if there is None:
                    raised = raised or late
            run.end()
            if run.clock is not None:
                self._timeouts.forget(run.clock)
        current.reset(token)
        if carried is not None:
            metadata.CARRIED.reset(carried)
        run.took_ms = (time.monotonic() - run.started) * 1000
        if raised is not None or there is not None:
            self._failed(run, raised, there)
        elif run.options.keep_ms is not None:
            run.kept = self._kept(run, run.options)

    def _perform(self, run: Run) -> Raised | None:
        """Call the handler here, and raise its errors; or in a worker process, and return its error."""
        handler, options = self._prepare(run)
        if run.clock is None and options is UNSAID and not needs_fitting(handler):
            if len(self._plain) >= MOST_NAMES:
                self._plain.clear()
            self._plain[run.claim.fn] = handler
        around = around_of(run.schedule) if AROUND else None
        if options.cpu and self._offloads:
            return self._call_in_process(run, handler, around, options)
        if run.clock is not None:
            self._timeouts.watch(run.clock)
        run.begin()
        lift(run, handler, options)
        if around is None:
            self._call(run, handler, None)
        else:
            within(around.plain, partial(self._call, run, handler, around))
        return None

    def _prepare(self, run: Run) -> tuple[Handler, RunOptions]:
        """Find the handler, and set the options and the clock of its run."""
        claim = run.claim
        handler, options = self.registry.handler(claim.fn)
        run.options = options = claim.options.over(options).over(claim.usual)
        if self._standing_ms is not None and (options.timeout_ms is None or options.timeout_ms > self._standing_ms):
            run.clock = run.interruption = TestClock(self._standing_ms)
        elif options.timeout_ms is not None:
            run.clock = run.interruption = Clock(options.timeout_ms)
        return handler, options

    def _call(self, run: Run, handler: Handler, around: Around | None) -> None:
        """Call the handler within plain middleware; a coroutine is awaited within the coroutine middleware."""
        if (result := invoke_of(run, handler)) is not None:
            run.returned = self._await(run, result, around) if is_coroutine(result) else result

    def _await(self, run: Run, coroutine: Coroutine[Any, Any, Any], around: Around | None) -> Any:
        watched: Coroutine[Any, Any, Any] = Watched(coroutine)
        whole = watched if around is None else within_async(around.coroutines, watched)
        try:
            return self.event_loop.run(whole, context=copy_context(), interruption=run.interruptible())
        except NotBegun as error:
            coroutine.close()  # no code awaits it any more
            run.not_begun = error
            raise

    def _kept(self, run: Run, options: RunOptions) -> Kept | None:
        """Write the value that the handler returned. A worker process has already written its own."""
        returned, run.returned = run.returned, None
        if options.cpu and isinstance(returned, Kept):
            return returned
        return kept_value(returned, options, self.registry.resolve(run.claim.fn))

    def _call_in_process(self, run: Run, handler: Handler, around: Around | None, options: RunOptions) -> Raised | None:
        """Call the handler in a worker process. Its time counts from the start there."""
        with self._making:
            if self._workers is None:
                try:
                    from workkit.worker.worker_pool import WorkerPool  # most listeners need none
                except OSError as error:
                    raise NotBegun(f"no worker process: {described(error)}", where=run.claim.fn) from error

                self._workers = WorkerPool(self.registry)

        def begun() -> None:
            run.started = time.monotonic()
            if run.clock is not None:
                run.clock.ends_at = run.started + (options.timeout_ms or 0) / 1000
                self._timeouts.watch(run.clock)

        return self._workers.run(run, handler, around=around, begun=begun, options=options)

    def _failed(self, run: Run, raised: BaseException | None, there: Raised | None) -> None:
        """Store the error of a run: the one raised here, else the one raised in a worker process."""
        run.error = raised
        if raised is None and there is not None:
            run.error, run.failure = there
        elif raised is not None and not isinstance(raised, CannotRun):
            run.error = self._explained(raised, run, run.options)
            run.failure = failure_of(run.error)
        if run.log is not None and run.failure is not None:
            run.failure = replace(run.failure, log=run.log.text())

    def _explained(self, error: BaseException, run: Run, options: RunOptions) -> BaseException:
        """Replace the error of an interruption by one that names its cause."""
        at = error.__traceback__
        if run.clock is not None and run.clock.expired and isinstance(error, JobTimeout | asyncio.CancelledError):
            if isinstance(run.clock, TestClock):
                return self._standing(error, run)
            seconds = (options.timeout_ms or 0) / 1000
            return JobTimeout(f"took longer than its timeout of {seconds:g} s").with_traceback(at)
        if run.cancelled and isinstance(error, asyncio.CancelledError):
            return JobCancelled(f"job {run.claim.id} was cancelled", given=run.claim.id).with_traceback(at)
        return error

    def _standing(self, error: BaseException, run: Run) -> BaseException:
        """Make the error of a handler that takes too long while a test holds the time still."""
        where = line_of(error)
        waits = "" if where is None else f", and waits at {where}"
        return JobTimeout(
            f"{shown(run.claim.fn)} has not ended after {(self._standing_ms or 0) / 1000:g} s{waits}. The time of the "
            f"test stands while a handler runs, and no other job runs. Let the test run what it waits for first."
        ).with_traceback(error.__traceback__)

    def close(self) -> None:
        """Stop the event loop, cancel its tasks, and kill the worker processes."""
        self._timeouts.close()
        self.event_loop.close()
        with self._making:
            if self._workers is not None:
                self._workers.close()
