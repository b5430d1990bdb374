"""One worker process, as its listener holds it."""

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

from workkit.errors import JobCancelled, WorkkitError
from workkit.jobs.names import main_module
from workkit.jobs.outcome import Failure
from workkit.worker.offload.message import Begun, Cancelled, Ended, Extended, Logged, Order, Reported, Setting
from workkit.worker.run.run import Run

LOOK = 1.0  # seconds between two checks whether a silent process still lives
PROGRAM = (
    "import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
    "from workkit.worker.offload.worker_main import main; main(*map(int, sys.argv.pop().split(',')))"
)


class WorkerProcess:
    """One process, the leader of a session of its own: a Ctrl-C reaches only the listener, and programs that the
    process starts end with it.

    It alone holds its end of the socket pair, and so notices when the listener ends. If it cannot notice anything, the
    kernel kills it then: this process alone holds the other end of a second pipe (`worker_main.py`).
    """

    def __init__(self, setting: Setting) -> None:
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

    def do(self, order: Order, *, run: Run, begun: Callable[[], None]) -> Ended:
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
            if self._process.returncode is None:  # until somebody waits for it, no other process has its number
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
    """Reads errors of a worker process, where the main program of this process is an ordinary module."""

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
