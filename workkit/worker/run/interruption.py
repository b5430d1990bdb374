"""Ending a run from another thread: a plain function has an error raised in its thread, a coroutine is cancelled. And
runs with a timeout: one thread that ends those that take too long.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from workkit.errors import JobCancelled, JobTimeout


class Interruption:
    """The way in which one run is interrupted, at most once for each reason. It is never hit once it has ended."""

    __slots__ = ("_cancelled", "_interrupt", "_lock", "_over", "_struck", "_thread")

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._over = self._struck = self._cancelled = False
        self._lock = threading.Lock()
        self._interrupt: Callable[[], object] | None = None

    def interrupt_by(self, interrupt: Callable[[], object]) -> None:
        """End the run this way instead, and at once if it was interrupted before."""
        with self._lock:
            self._interrupt = interrupt
            if self._struck:
                interrupt()

    def cancel(self) -> None:
        """It was cancelled: interrupt the run, unless it has ended."""
        with self._lock:
            if not (self._over or self._cancelled):
                self._cancelled = True
                self._strike(JobCancelled)

    def stop(self) -> None:
        """The run has ended: nothing interrupts its thread from now on. Must be called again where an interruption came
        on the way in here; of those there are two at most.
        """
        with self._lock:
            self._over = True
        if self._struck:
            _raise_in(self._thread, None)  # one that is on its way has come too late

    def _strike(self, error: type[BaseException]) -> None:
        self._struck = True
        if self._interrupt is not None:
            self._interrupt()
        else:
            _raise_in(self._thread, error)


class Clock(Interruption):
    """The time that one run has. Made in the thread of the run."""

    __slots__ = ("ends_at", "expired")

    def __init__(self, timeout_ms: int) -> None:
        super().__init__(threading.get_ident())
        self.ends_at = time.monotonic() + timeout_ms / 1000
        self.expired = False

    def extend(self, seconds: float) -> None:
        """Give it so long from now, if that is later than it has anyway."""
        self.ends_at = max(self.ends_at, time.monotonic() + seconds)

    def expire(self) -> None:
        """Its time is over: interrupt the run, unless it has ended or was given more."""
        with self._lock:
            if not (self._over or self.expired) and time.monotonic() >= self.ends_at:
                self.expired = True
                self._strike(JobTimeout)


class Timeouts:
    """The clocks of one listener that run right now."""

    def __init__(self) -> None:
        self._clocks: set[Clock] = set()
        self._news = threading.Condition()
        self._wakes_at = float("inf")
        self._thread: threading.Thread | None = None

    def watch(self, clock: Clock) -> None:
        """Interrupt the run of this clock when its time is over, until told to `forget` it."""
        with self._news:
            self._clocks.add(clock)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="workkit-timeouts", daemon=True)
                self._thread.start()
            elif clock.ends_at < self._wakes_at:
                self._news.notify()

    def forget(self, clock: Clock) -> None:
        """The run has ended."""
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
