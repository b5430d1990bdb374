"""Interruption of a run by another thread: it raises an error in the thread of a function, or cancels a coroutine. One
thread interrupts the runs that exceed their timeouts.

A process that a handler forks has only a copy of the thread that forked it. It must neither take jobs nor settle the
one that its parent runs, so it ends when its handler ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from workkit.clocks import time
from workkit.errors import JobCancelled, JobTimeout

if TYPE_CHECKING:
    import asyncio

WAKING = signal.SIGURG  # ignored by programs that do not handle it


class Interruption:
    """The interruption of one run: at most once for each reason, and never after its end."""

    __slots__ = ("_cancelled", "_interrupt", "_lock", "_over", "_struck", "_thread")

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._over = self._struck = self._cancelled = False
        self._lock = threading.Lock()
        self._interrupt: Callable[[], object] | None = None

    def interrupt_by(self, interrupt: Callable[[], object]) -> None:
        """Use this call to interrupt the run; call it at once if the run was already interrupted."""
        with self._lock:
            self._interrupt = interrupt
            if self._struck:
                interrupt()

    def cancel(self) -> None:
        """Interrupt a cancelled run, unless it has ended."""
        with self._lock:
            if not (self._over or self._cancelled):
                self._cancelled = True
                self._strike(JobCancelled)

    def stop(self) -> None:
        """Note that the run has ended: nothing interrupts its thread from now on. An interruption may hit this call
        itself; then the caller repeats it. There are at most two interruptions.
        """
        with self._lock:
            self._over = True
        if self._struck:
            _raise_in(self._thread, None)  # a pending interruption comes too late

    def _strike(self, error: type[BaseException]) -> None:
        self._struck = True
        if self._interrupt is not None:
            self._interrupt()
        else:
            _raise_in(self._thread, error)


class Clock(Interruption):
    """The timeout of one run. Created in the thread of the run."""

    __slots__ = ("ends_at", "expired")

    def __init__(self, timeout_ms: int) -> None:
        super().__init__(threading.get_ident())
        self.ends_at = time.monotonic() + timeout_ms / 1000
        self.expired = False

    def extend(self, seconds: float) -> None:
        """Move the timeout to `seconds` from now, if that is later."""
        self.ends_at = max(self.ends_at, time.monotonic() + seconds)

    def expire(self) -> None:
        """Interrupt the run if its time is over, unless it has ended."""
        with self._lock:
            if not (self._over or self.expired) and time.monotonic() >= self.ends_at:
                self.expired = True
                self._strike(JobTimeout)


class TestClock(Clock):
    """The real time that a handler may take while a test holds the time still. Inside `waking` it also ends a wait of
    the main thread: a sleep, or a wait for an answer of a server.
    """

    __slots__ = ()
    __test__ = False  # pytest: no test

    def _strike(self, error: type[BaseException]) -> None:
        super()._strike(error)
        if self._thread == threading.main_thread().ident:
            signal.pthread_kill(self._thread, WAKING)


@contextmanager
def waking() -> Iterator[None]:
    """Let `TestClock` end a wait of the main thread. A signal ends a wait only if Python handles it; the signal handler
    raises the pending error.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(WAKING) is not signal.SIG_DFL:
        yield
        return
    signal.signal(WAKING, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(WAKING, signal.SIG_DFL)


class Timeouts:
    """The running clocks of one listener."""

    def __init__(self) -> None:
        self._clocks: set[Clock] = set()
        self._news = threading.Condition()
        self._wakes_at = float("inf")
        self._thread: threading.Thread | None = None

    def watch(self, clock: Clock) -> None:
        """Interrupt the run of this clock when its time is over, unless `forget` comes first."""
        with self._news:
            self._clocks.add(clock)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="workkit-timeouts", daemon=True)
                self._thread.start()
            elif clock.ends_at < self._wakes_at:
                self._news.notify()

    def forget(self, clock: Clock) -> None:
        """Stop watching: the run has ended."""
        with self._news:
            self._clocks.discard(clock)

    def close(self) -> None:
        """End the thread."""
        with self._news:
            self._wakes_at = -1.0
            self._news.notify()

    def _serve(self) -> None:
        with self._news:
            while self._wakes_at >= 0:
                now = time.monotonic()
                over = [clock for clock in self._clocks if clock.ends_at <= now]
                self._clocks.difference_update(over)
                for clock in over:
                    clock.expire()
                self._wakes_at = min((clock.ends_at for clock in self._clocks), default=float("inf"))
                self._news.wait(min(self._wakes_at - now, threading.TIMEOUT_MAX))


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next bytecode (None: take back one that is pending)."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


PATIENCE = 5  # seconds for the last output: another thread may have held the lock of a stream at the fork

forks = 0  # between the first process and this one; code that finds it changed runs in a forked child


def end_fork(error: BaseException | None = None) -> NoReturn:
    """End this process now: with status 0, or as Python ends with `error`. Writes the output of the child; calls no
    exit handler, since those are the parent's.
    """
    status = 1
    with suppress(BaseException):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
    with suppress(BaseException):
        status = _status(error)
    with suppress(BaseException):
        _flush()
    os._exit(status)


def _status(error: BaseException | None) -> int:
    """Write an error to stderr, and return the exit status for it."""
    if error is None:
        return 0
    if issubclass(type(error), SystemExit):
        code = getattr(error, "code", None)
        if code is None or type(code) is int:
            return (code or 0) & 0xFF
        text = f"{code}\n"
    else:
        text = "".join(traceback.format_exception(error))
    if sys.stderr is not None:
        sys.stderr.write(text)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


class Watched(Coroutine[Any, Any, Any]):
    """A coroutine that, in a forked child, ends the process instead of awaiting or ending: the loop is its parent's."""

    __slots__ = ("_born", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine, self._born = coroutine, forks

    def send(self, value: Any) -> Any:
        """Take it to its next `await`."""
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        """Return the same, raising an error in it."""
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        """End it, also if it has never begun."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        """Be awaited by a coroutine around it."""
        return self

    def __iter__(self) -> Watched:
        """As for a generator."""
        return self

    def __next__(self) -> Any:
        """As for a generator."""
        return self.send(None)

    def __getattr__(self, name: str) -> Any:
        """Show the coroutine's attributes to code that inspects tasks."""
        return getattr(self._coroutine, name)

    def _step(self, act: Callable[..., Any], *values: Any) -> Any:
        if forks != self._born:  # another coroutine has forked on this loop
            end_fork()
        try:
            awaited = act(*values)
        except BaseException as error:
            if forks != self._born:
                end_fork(None if isinstance(error, StopIteration) else error)
            raise
        if forks != self._born:
            end_fork(RuntimeError("a forked child of a coroutine cannot await: the event loop is its parent's"))
        return awaited


def watched_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **how: Any) -> asyncio.Task[Any]:
    """Make a watched task, because the tasks of a handler may fork too."""
    import asyncio  # only an event loop calls this, and it has imported the module

    return asyncio.Task(Watched(coroutine), loop=loop, **how)


def _before() -> None:
    """Flush the output of the parent, because the child would write it again. A stream's lock that another thread holds
    stays locked in the child for good. So only one thread forks at a time, and it flushes twice: a thread that waits
    for the first flush gets the lock after it, and the second flush waits for that thread.
    """
    _forking.acquire()
    _flush()
    _flush()


def _after() -> None:
    with suppress(RuntimeError):  # an interruption came before the lock was taken
        _forking.release()


def _in_child() -> None:
    global forks
    forks += 1
    _after()


_forking = threading.RLock()
os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
