"""One run of one job, as a straight line: resolve, call, name the ending. Never raises."""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workkit.contract.claim import Claim
from workkit.errors import CannotRun, JobCancelled, JobTimeout
from workkit.jobs.admission import Admission, Control, admission
from workkit.jobs.arguments import compiled_check
from workkit.jobs.middleware import AROUND, Around, within, within_async
from workkit.jobs.outcome import DONE, Dead, Failure, Outcome, decide
from workkit.jobs.registry import Handler, Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.worker.run import forks
from workkit.worker.run.current import Run, current
from workkit.worker.run.event_loop import EventLoop, Watched
from workkit.worker.run.failure import explained, failure_of
from workkit.worker.run.interruption import Clock, Timeouts

if TYPE_CHECKING:
    from workkit.worker.offload.pool import Offload


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
        try:
            return decide(
                self.error,
                self.failure,
                attempt=attempt,
                options=self.options,
                cancelled=self.run.cancelled,
                chance=random.random(),
            )
        except BaseException as broken:  # the class of an error, or of what a Retry asks for, is code of the handler
            return Dead(failure=self.failure or failure_of(broken))


class Executor:
    """Runs claims for one listener: its registry, and one event loop for all its async handlers."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.event_loop = EventLoop()
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
        born = forks.count
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
                    if forks.count != born:
                        forks.leave()
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
            except BaseException as raised:
                if forks.count != born:
                    forks.leave(raised)
                raise
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
            self._await(run, coroutine, around)

    def _await(self, run: Run, coroutine: Coroutine[Any, Any, Any], around: Around | None = None) -> None:
        watched: Coroutine[Any, Any, Any] = Watched(coroutine)
        whole = watched if around is None else within_async(around.coroutines, watched)
        self.event_loop.run(whole, context=copy_context(), interruption=run.interruptible())

    def _elsewhere(
        self, run: Run, handler: Handler, around: Around | None, options: RunOptions
    ) -> tuple[BaseException, Failure] | None:
        """Have a worker process call the handler; its time is counted from there."""
        with self._making:
            if self._offload is None:
                from workkit.worker.offload.pool import Offload

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
        self.event_loop.close()
        with self._making:
            if self._offload is not None:
                self._offload.close()


def invoke(handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Coroutine[Any, Any, Any] | None:
    """Call a handler with arguments that fit its annotations. Returns a coroutine if it made one, to be awaited.

    A child that the handler forks does not come back. Raises InvalidArguments, and what the handler does.
    """
    if (check := compiled_check(handler)) is not None:
        check(args, kwargs)
    born = forks.count
    try:
        result = handler(*args, **kwargs) if kwargs else handler(*args)
    except BaseException as raised:
        if forks.count != born:
            forks.leave(raised)
        raise
    if forks.count != born:
        forks.leave()
    return result if result is not None and inspect.iscoroutine(result) else None
