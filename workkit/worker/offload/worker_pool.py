"""Worker processes for handlers that keep an interpreter busy (`@job(cpu=True)`). A process starts when it is first
needed, is used again, and carries out one run at a time. The thread that has the run waits for its end.

An interruption of such a run kills its process; a new process replaces it. `worker_main.py` is the program they run.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from workkit import events, tracing
from workkit.errors import InvalidFunction, JobCancelled, JobTimeout, ListenerStopped, WorkerLost, described
from workkit.jobs.marks import Handler, options_of
from workkit.jobs.middleware import ORIGINS, Around
from workkit.jobs.names import main_module
from workkit.jobs.outcome import Failure, NotBegun
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import RunOptions
from workkit.worker.exit_status import how_it_ended
from workkit.worker.offload.message import Function, Order, Setting
from workkit.worker.offload.worker_process import WorkerProcess, error_of
from workkit.worker.run.run import Run


class WorkerPool:
    """The worker processes of one listener, at most one for each processor. Thread-safe."""

    def __init__(self, registry: Registry) -> None:
        ours = [(name, fn) for name, fn in registry.consumers.items() if options_of(fn).cpu]
        consumers = tuple((name, ":".join(_import_path(fn))) for name, fn in ours)
        self._setting = Setting(
            imports=registry.imports,
            folder=registry.folder,
            consumers=consumers,
            log_level=logging.root.level,
            logs=bool(logging.root.handlers),
        )
        self._most = os.cpu_count() or 1
        self._news = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._workers: set[WorkerProcess] = set()
        self._starting = 0
        self._closed = False
        self._is_short = False  # of what a new process needs

    def run(
        self, run: Run, handler: Handler, *, around: Around | None, begun: Callable[[], None], options: RunOptions
    ) -> tuple[BaseException, Failure] | None:
        """Run the handler in a process and wait for its end. Return None, or its error. Calls `begun` when it starts.
        What is kept of its value is what the run `returned`.

        Raises what ended the process (JobTimeout, JobCancelled, ListenerStopped, WorkerLost), and as `Run.begin` does.
        """
        request = _Request(self._news)
        run.interruptible().interrupt_by(request.kill)  # before `begin`: this thread is not the one to interrupt
        run.begin()
        made = (*around.plain, *around.coroutines) if around is not None else ()
        order = Order(
            job=run.claim.job,
            fn=run.claim.fn,
            late_ms=run.late_ms,
            crashes=run.claim.crashes,
            handler=_import_path(handler),
            schedule=run.schedule,
            around=tuple(map(_import_path, made)),
            origin=ORIGINS.get(run.schedule) if made else None,
            options=RunOptions(keep_ms=options.keep_ms, keep_most=options.keep_most),
            trace=tracing.here(),
        )
        worker = self._taken(request)
        if worker is None:
            raise self._reason(run, "was not started")
        ended = None
        try:
            ended = worker.do(order, run=run, begun=begun)
        except (EOFError, OSError):
            worker.kill()
        finally:
            self._returned(worker, request, is_usable=ended is not None)
        if ended is None:
            raise self._reason(run, f"{worker.pid} {how_it_ended(worker.status)}")
        run.returned = ended.kept
        return None if ended.failure is None else (error_of(ended, ended.failure), ended.failure)

    def close(self) -> None:
        """Kill the processes; no other is started."""
        with self._news:
            self._closed = True
            for worker in self._workers:
                worker.kill()
            idle, self._idle = self._idle, []
            self._news.notify_all()
        for worker in idle:
            worker.close()

    def _taken(self, request: _Request) -> WorkerProcess | None:
        """Wait for a free process for this request. None if the request is over before one is free."""
        with self._news:
            while not (request.is_over or self._closed):
                if self._idle:
                    idle = self._idle.pop()
                    if idle.is_alive:
                        request.assign(idle)
                        return idle
                    self._workers.discard(idle)
                    idle.close()
                elif len(self._workers) + self._starting < self._most:
                    self._starting += 1
                    break
                else:
                    self._news.wait()
            else:
                return None
        try:
            worker = WorkerProcess(self._setting)
        except BaseException as error:
            with self._news:
                self._starting -= 1
                self._news.notify()
                was_told, self._is_short = self._is_short, True
            if not isinstance(error, OSError):
                raise
            trouble = f"no worker process can be started: {described(error)}"
            if not was_told:
                events.emit("stuck", reason=f"{trouble}. Its job goes back, and is tried again.")
            raise NotBegun(trouble) from None
        with self._news:
            self._starting, self._is_short = self._starting - 1, False
            self._workers.add(worker)
            request.assign(worker)
            if self._closed:
                worker.kill()
        return worker

    def _returned(self, worker: WorkerProcess, request: _Request, *, is_usable: bool) -> None:
        with self._news:
            request.worker = None
            is_usable = is_usable and not (request.is_over or self._closed)
            if is_usable:
                self._idle.append(worker)
            else:
                self._workers.discard(worker)
            self._news.notify()
        if not is_usable:
            worker.close()

    def _reason(self, run: Run, what: str) -> BaseException:
        if run.clock is not None and run.clock.expired:
            return JobTimeout()
        if run.cancelled:
            return JobCancelled(f"job {run.claim.id} was cancelled", given=run.claim.id)
        if self._closed:
            return ListenerStopped("this listener has stopped, and its worker processes with it.")
        return WorkerLost(f"worker process {what} in the middle of the run.")


class _Request:
    """One run that needs a process. It can be ended at any time, also while it waits for one."""

    def __init__(self, news: threading.Condition) -> None:
        self._news = news
        self.worker: WorkerProcess | None = None
        self.is_over = False

    def assign(self, worker: WorkerProcess) -> None:
        """Note which process carries it out."""
        self.worker = worker
        if self.is_over:
            worker.kill()

    def kill(self) -> None:
        """End it now."""
        with self._news:
            self.is_over = True
            if self.worker is not None:
                self.worker.kill()
            self._news.notify_all()


def _import_path(fn: Any) -> Function:
    module = main_module() if fn.__module__ == "__main__" else fn.__module__
    if module is None:
        raise InvalidFunction(
            f"{fn.__qualname__} was defined at a prompt, which no worker process can import. Put it into a file.",
            given=fn,
        )
    return module, fn.__qualname__
