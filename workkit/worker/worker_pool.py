"""Worker processes for handlers that keep an interpreter busy (`@job(cpu=True)`). A process starts on first need, is
reused, and carries out one run at a time. The thread of the run waits for its end.

An interruption of such a run kills its process; a new process replaces it. `worker_main.py` is their program.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from workkit import events, tracing
from workkit.errors import (
    InvalidFunction,
    JobCancelled,
    JobTimeout,
    ListenerStopped,
    WorkerLost,
    WorkkitError,
    described,
)
from workkit.jobs.marks import Handler, options_of
from workkit.jobs.middleware import ORIGINS, Around
from workkit.jobs.names import main_module
from workkit.jobs.outcome import Failure, NotBegun
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import RunOptions
from workkit.worker.run.run import Run
from workkit.worker.service import how_it_ended
from workkit.worker.worker_main import (
    Begun,
    Cancelled,
    Ended,
    Extended,
    Function,
    Logged,
    Reported,
    RunOrder,
    WorkerSetting,
)


class WorkerPool:
    """The worker processes of one listener, at most one for each processor. Thread-safe."""

    def __init__(self, registry: Registry) -> None:
        ours = [(name, fn) for name, fn in registry.consumers.items() if options_of(fn).cpu]
        consumers = tuple((name, ":".join(_import_path(fn))) for name, fn in ours)
        self._setting = WorkerSetting(
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
        self._is_short = False  # whether a new process lacks a resource

    def run(
        self, run: Run, handler: Handler, *, around: Around | None, begun: Callable[[], None], options: RunOptions
    ) -> tuple[BaseException, Failure] | None:
        """Run the handler in a process and wait for its end. Return None, or its error. Calls `begun` when it starts.
        Stores its kept result as the run's `returned`.

        Raises the cause of the process's end (JobTimeout, JobCancelled, ListenerStopped, WorkerLost), and as
        `Run.begin` does.
        """
        request = _Request(self._news)
        run.interruptible().interrupt_by(request.kill)  # before `begin`: this thread is not the one to interrupt
        run.begin()
        made = (*around.plain, *around.coroutines) if around is not None else ()
        home = run.home()
        order = RunOrder(
            job=run.claim.job,
            fn=run.claim.fn,
            asked_ms=run.claim.asked_ms,
            late_ms=run.late_ms,
            crashes=run.claim.crashes,
            handler=_import_path(handler),
            schedule=run.schedule,
            around=tuple(map(_import_path, made)),
            origin=ORIGINS.get(run.schedule) if made else None,
            options=RunOptions(keep_ms=options.keep_ms, keep_most=options.keep_most),
            trace=tracing.here(),
            home=home if isinstance(getattr(home, "redis", home), str | None) else None,  # a client stays here
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
        """Kill the processes, and start no others."""
        with self._news:
            self._closed = True
            for worker in self._workers:
                worker.kill()
            idle, self._idle = self._idle, []
            self._news.notify_all()
        for worker in idle:
            worker.close()

    def _taken(self, request: _Request) -> WorkerProcess | None:
        """Wait for a free process for this request. None if the request ends before one is free."""
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
    """One run that needs a process. It can be killed at any time, also while it waits for one."""

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


LOOK = 1.0  # seconds between two checks whether a silent process still lives
PROGRAM = (
    "import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
    "from workkit.worker.worker_main import main; main(*map(int, sys.argv.pop().split(',')))"
)


class WorkerProcess:
    """One process, the leader of a separate session: a Ctrl-C reaches only the listener, and programs that the process
    starts end with it.

    It alone holds its end of the socket pair, and so notices when the listener ends. If it cannot notice that, the
    kernel kills it, because the listener alone holds the other end of a second pipe (`worker_main.py`).
    """

    def __init__(self, setting: WorkerSetting) -> None:
        ours, theirs = socket.socketpair()
        lives, ours_too = os.pipe()
        self._lives = open(ours_too, "wb", buffering=0)  # noqa: SIM115 - as long as this process is held
        with theirs, open(lives, "rb", buffering=0):
            self._connection = Connection(ours.detach())
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, f"{theirs.fileno()},{lives}", os.pathsep.join(map(str, sys.path))],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), lives),
                    start_new_session=True,
                )
            except BaseException:
                self._connection.close()
                self._lives.close()
                raise
        self._ending = threading.Lock()
        self.pid = self._process.pid
        self.status = 0
        with suppress(OSError):  # a process that has ended is noticed at its first order
            self._connection.send(setting)

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        with self._ending:
            return self._process.poll() is None

    def do(self, order: RunOrder, *, run: Run, begun: Callable[[], None]) -> Ended:
        """Send an order and handle every message until its end. Raises EOFError or OSError if the process has ended."""
        self._connection.send(order)
        is_cancelled = False
        while True:
            if run.cancelled and not is_cancelled:
                self._connection.send(Cancelled())
                is_cancelled = True
            if not self._connection.poll(LOOK):
                if not self.is_alive:
                    raise EOFError
                continue
            match self._connection.recv():
                case Begun():
                    begun()
                case Reported(progress=progress, lines=lines):
                    if lines:
                        run.logged(lines)
                    job = run.running_job()
                    with suppress(JobCancelled):
                        if progress is not None:
                            job.checkin(progress) if isinstance(progress, str) else job.progress(*progress)
                case Logged(record=record):
                    if (logger := logging.getLogger(record.name)).isEnabledFor(record.levelno):
                        logger.handle(record)
                case Extended(seconds=seconds) if run.clock is not None:
                    run.clock.extend(seconds)
                case Ended() as ended:
                    return ended

    def kill(self) -> None:
        """Kill it, and the programs that it has started. A process that has ended before keeps its exit status."""
        with self._ending:
            if self._process.returncode is None:  # before it is waited for, no other process can have its number
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill it, and wait for its end."""
        self.kill()
        self._process.wait()
        self.status = self._process.returncode
        self._connection.close()
        self._lives.close()


class _Errors(pickle.Unpickler):
    """A reader of errors of a worker process, where the main program of this process is an ordinary module."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("__main__" if module == main_module() else module, name)


def error_of(ended: Ended, failure: Failure) -> BaseException:
    """Rebuild the error that was raised in the process; one that cannot be unpickled becomes a WorkkitError with the
    same text.
    """
    found: Any = None
    if ended.error is not None:
        with suppress(BaseException):  # an unusual class may raise anything when it is unpickled
            found = _Errors(io.BytesIO(ended.error)).load()
    if not issubclass(type(found), BaseException):
        found = WorkkitError(f"{failure.type}: {failure.message}")
    error: BaseException = found
    with suppress(BaseException):
        error.add_note(f"In a worker process:\n{failure.traceback}")
    return error
