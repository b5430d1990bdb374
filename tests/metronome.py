"""How long a busy machine keeps this process waiting: what a bound on times may be widened by, and no more."""

from __future__ import annotations

import threading
import time

_EVERY = 0.01  # seconds


class Metronome:
    """A thread that wants to wake every 10 ms, and remembers by how much it overslept at most.

    A test that says how late something may be gives it what the machine took meanwhile on top: `slack`. On a machine
    with little else to do that is some milliseconds. On a busy one the test asks for less, and never fails for it.
    """

    def __init__(self) -> None:
        self.longest = 0.0  # seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    @property
    def slack(self) -> float:
        """Seconds: what three steps, each in another thread or process, may lose to the machine one after another."""
        return 3 * self.longest

    def _tick(self) -> None:
        before = time.monotonic()
        while not self._over.wait(_EVERY):
            now = time.monotonic()
            self.longest = max(self.longest, now - before - _EVERY)
            before = now

    def close(self) -> None:
        self._over.set()
        self._thread.join()
