"""What does not move in a listener whose loop moves: see `Stalls`. The threads ask once a second."""

from __future__ import annotations

import math
from collections.abc import Collection

from workkit import events
from workkit.jobs.names import brief, read_name
from workkit.worker.lane import LookUp
from workkit.worker.run.event_loop import EventLoop

SOON = 2.0  # the least seconds of silence after which the event loop counts as blocked
MOST = 2.0  # the most seconds that count between two looks: a suspended process is not stuck


class Stalls:
    """A lookup without end, due work that no thread begins, an event loop that is blocked or dead. `/readyz` shows it.
    For the loop's thread; `trouble` is for any. Times are `time.monotonic()` seconds.
    """

    def __init__(self, *, seconds: float) -> None:
        self.trouble: str | None = None  # in words
        self._patience = seconds
        self._looked_at = math.inf
        self._looking: dict[LookUp, float] = {}  # seconds since it began
        self._latest = 0.0  # when a run last began or ended
        self._idle = 0.0  # seconds in which threads were free, work was due, and none began
        self._ticks: int | None = None
        self._silent = 0.0  # seconds in which the event loop did not tick

    def look(
        self,
        now: float,
        *,
        lookups: Collection[LookUp],
        is_due: bool,
        free: int,
        latest: float,
        event_loop: EventLoop,
    ) -> None:
        """Look at everything: the lookups that threads have begun; whether work is due, and how many threads are free
        for it; when a run last began or ended; and the event loop.
        """
        passed = max(0.0, min(now - self._looked_at, MOST))
        self._looked_at = now
        stuck = self._lookups(lookups, passed)
        unbegun = self._unbegun(free if is_due else 0, latest, passed)
        silent = self._event_loop(event_loop, passed) if event_loop.has_begun else None
        self.trouble = stuck or unbegun or silent

    def _lookups(self, lookups: Collection[LookUp], passed: float) -> str | None:
        before = self._looking
        self._looking = {task: before[task] + passed if task in before else 0.0 for task in lookups}
        stuck = [task for task, seconds in self._looking.items() if seconds >= self._patience]
        if not stuck:
            return None
        longest = max(stuck, key=self._looking.__getitem__)
        name = read_name(longest.claim.fn)
        what = brief(longest.claim.fn if name is None else name.space)
        who = "1 thread has" if len(stuck) == 1 else f"{len(stuck)} threads have"
        return f"{who} been importing {what} for {self._looking[longest]:.0f} s"

    def _unbegun(self, free: int, latest: float, passed: float) -> str | None:
        self._idle = self._idle + passed if free > 0 and latest <= self._latest else 0.0
        self._latest = max(self._latest, latest)
        if self._idle < self._patience:
            return None
        who = "1 thread is" if free == 1 else f"{free} threads are"
        return f"work is due and {who} free, but none has begun any for {self._idle:.0f} s"

    def _event_loop(self, event_loop: EventLoop, passed: float) -> str | None:
        ticks = event_loop.ticks
        self._silent = self._silent + passed if ticks is not None and ticks == self._ticks else 0.0
        self._ticks = ticks
        if lost := event_loop.lost:
            return f"the event loop of coroutines has died: {lost}. The next coroutine starts another."
        trouble = f"the event loop of coroutines has not answered for {self._silent:.0f} s: a handler blocks it"
        if self._silent >= max(SOON, self._patience / 6) and not event_loop.is_silent:  # half of `listener_timeout`
            event_loop.give_back()
            events.emit("stuck", reason=f"{trouble}. Coroutines that have not begun go back, until it answers.")
        return trouble if self._silent >= self._patience else None
