"""Worker processes for handlers that keep an interpreter busy (`@job(cpu=True)`): started when first needed, used
again, one run at a time each. The thread that has the run waits for its end on a socket pair.

What interrupts such a run kills its process, and another takes its place. See `offloaded.py` for the other side.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workkit.errors import InvalidFunction, JobCancelled, JobTimeout, ListenerStopped, WorkerLost, WorkkitError
from workkit.jobs.job import Job
from workkit.jobs.middleware import Around
from workkit.jobs.names import main_module
from workkit.jobs.outcome import Failure
from workkit.jobs.registry import Handler, Registry
from workkit.worker.run.current import Run
from workkit.worker.supervision.child import how_it_ended

LOOK = 1.0  # seconds between looks at what a process does not say by itself
PROGRAM = (
    "import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
    "from workkit.worker.offload.child import main; main(int(sys.argv.pop()))"
)
Function = tuple[str, str]  # module and name


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a process must know from the start: which functions it may run."""

    imports: tuple[str, ...]
    folder: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run, as it goes to a process: `schedule` is the name by which `around` stands in its middleware."""

    job: Job
    late_ms: int
    handler: Function
    schedule: str
    around: tuple[Function, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Said by a process: it has imported what it needs, and calls the handler now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """Said by a process: a check-in or progress of its run."""

    said: tuple[float, float] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extends:
    """Said by a process: its run is to have so long from now."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Said by a process: the run has ended. `error` is pickled, None where that cannot be undone elsewhere."""

    failure: Failure | None = None
    error: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Told to a process: its run is to stop at its next check-in."""


class Offload:
    """The worker processes of one listener, at most one for each processor. Thread-safe."""

    def __init__(self, registry: Registry) -> None:
        self._setting = Setting(imports=registry.imports, folder=registry.folder)
        self._most = os.cpu_count() or 1
        self._news = threading.Condition()
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()
        self._starting = 0
        self._closed = False

    def run(
        self, run: Run, handler: Handler, *, around: Around | None, begun: Callable[[], None]
    ) -> tuple[BaseException, Failure] | None:
        """Run the handler in a process, and wait for its end: None, or its error. `begun` is called when it starts.

        Raises what ended the process meanwhile: JobTimeout, JobCancelled, WorkerLost; and what `Run.begin` does.
        """
        errand = _Errand(self._news)
        run.interruptible().interrupt_by(errand.kill)  # before `begin`: this thread is not the one to interrupt
        run.begin()
        made = (*around.plain, *around.coroutines) if around is not None else ()
        task = Task(
            job=run.claim.job,
            late_ms=run.late_ms,
            handler=_named(handler),
            schedule=run.lane.broker.schedule,
            around=tuple(map(_named, made)),
        )
        worker = self._taken(errand)
        if worker is None:
            raise self._reason(run, "was not started")
        ended = None
        try:
            ended = worker.do(task, run=run, begun=begun)
        except (EOFError, OSError):
            worker.kill()
        finally:
            self._returned(worker, errand, is_usable=ended is not None)
        if ended is None:
            raise self._reason(run, f"{worker.pid} {how_it_ended(worker.status)}")
        return None if ended.failure is None else (_error(ended, ended.failure), ended.failure)

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

    def _taken(self, errand: _Errand) -> _Worker | None:
        """A process for this errand, as soon as one is free; None where it is over before."""
        with self._news:
            while not (errand.is_over or self._closed):
                if self._idle:
                    idle = self._idle.pop()
                    if idle.is_alive:
                        errand.given(idle)
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
            worker = _Worker(self._setting)
        except BaseException:
            with self._news:
                self._starting -= 1
                self._news.notify()
            raise
        with self._news:
            self._starting -= 1
            self._workers.add(worker)
            errand.given(worker)
            if self._closed:
                worker.kill()
        return worker

    def _returned(self, worker: _Worker, errand: _Errand, *, is_usable: bool) -> None:
        with self._news:
            errand.worker = None
            is_usable = is_usable and not (errand.is_over or self._closed)
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


class _Errand:
    """What is to be done in a process, and can be ended at any time; also while it still waits for one."""

    def __init__(self, news: threading.Condition) -> None:
        self._news = news
        self.worker: _Worker | None = None
        self.is_over = False

    def given(self, worker: _Worker) -> None:
        """It is this process that does it."""
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


class _Worker:
    """One process, leader of a session of its own: a Ctrl-C is for the listener alone, and what it starts ends with it.

    Its end of the socket pair is the only one that can be read as long as it lives: it sees the end of the listener.
    """

    def __init__(self, setting: Setting) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._connection = Connection(ours.detach())
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, str(theirs.fileno()), os.pathsep.join(map(str, sys.path))],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except BaseException:
                self._connection.close()
                raise
        self._ending = threading.Lock()
        self.pid = self._process.pid
        self.status = 0
        with suppress(OSError):  # it may be gone already, which shows when it is to do something
            self._connection.send(setting)

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        with self._ending:
            return self._process.poll() is None

    def do(self, task: Task, *, run: Run, begun: Callable[[], None]) -> Ended:
        """Have it run a task, and carry out what it says until it has. Raises EOFError or OSError where it is gone."""
        self._connection.send(task)
        told = False
        while True:
            if run.cancelled and not told:
                self._connection.send(Cancelled())
                told = True
            if not self._connection.poll(LOOK):
                if not self.is_alive:
                    raise EOFError
                continue
            match self._connection.recv():
                case Begun():
                    begun()
                case Says(said=said):
                    shown = run.show()
                    with suppress(JobCancelled):
                        shown.checkin(said) if isinstance(said, str) else shown.progress(*said)
                case Extends(seconds=seconds) if run.clock is not None:
                    run.clock.extend(seconds)
                case Ended() as ended:
                    return ended

    def kill(self) -> None:
        """End it, and what it has started. Its exit status is its own where it had ended before."""
        with self._ending:
            if self._process.returncode is None:  # as long as it is not waited for, the number is its own
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill it, and wait for its end."""
        self.kill()
        self._process.wait()
        self.status = self._process.returncode
        self._connection.close()


class _Errors(pickle.Unpickler):
    """Reads errors of a process, in which the main program of this one is a module like any other."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("__main__" if module == main_module() else module, name)


def _error(ended: Ended, failure: Failure) -> BaseException:
    """The error as it was raised there; where that cannot be had here, one that says the same."""
    found: Any = None
    if ended.error is not None:
        with suppress(BaseException):  # whatever an unusual class does when it is made anew
            found = _Errors(io.BytesIO(ended.error)).load()
    if not issubclass(type(found), BaseException):
        found = WorkkitError(f"{failure.type}: {failure.message}")
    error: BaseException = found
    with suppress(BaseException):
        error.add_note(f"In a worker process:\n{failure.traceback}")
    return error


def _named(fn: Any) -> Function:
    module = main_module() if fn.__module__ == "__main__" else fn.__module__
    if module is None:
        raise InvalidFunction(
            f"{fn.__qualname__} was defined at a prompt, which no worker process can import. Put it into a file.",
            given=fn,
        )
    return module, fn.__qualname__
