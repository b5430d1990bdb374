"""What does not move in a listener whose loop moves: a lookup without end, due work that no thread begins, an event
loop that is blocked or dead. `/readyz` shows it.
"""

from __future__ import annotations

import math

from workkit import events
from workkit.jobs.names import brief, read_name
from workkit.worker.hands import Hands
from workkit.worker.lane import LookUp

LOOK = 1.0  # seconds between looks
SOON = 2.0  # the least seconds of silence after which the event loop counts as blocked
MOST = 2.0  # the most seconds that count between two looks: a suspended process is not stuck


class Stalls:
    """For the loop's thread; `trouble` is for any. Times are `time.monotonic()` seconds."""

    def __init__(self, hands: Hands, *, seconds: float) -> None:
        self.at = 0.0  # when to look again
        self.trouble: str | None = None
        self._hands, self._patience = hands, seconds
        self._looked_at = math.inf
        self._looking: dict[LookUp, float] = {}  # seconds since it began
        self._latest = 0.0  # when a run last began or ended
        self._idle = 0.0  # seconds in which threads were free, work was due, and none began
        self._ticks: int | None = None
        self._silent = 0.0  # seconds in which the event loop did not tick

    def look(self, now: float, *, is_due: bool) -> None:
        """Look at everything. `is_due`: the server has more work than this listener has claimed, and there is room for
        it.
        """
        passed = max(0.0, min(now - self._looked_at, MOST))
        self._looked_at, self.at = now, now + LOOK
        lookups, unbegun = self._lookups(passed), self._unbegun(passed, is_due=is_due)
        event_loop = self._event_loop(passed)
        self.trouble = lookups or unbegun or event_loop

    def _lookups(self, passed: float) -> str | None:
        before = self._looking
        self._looking = {task: before[task] + passed if task in before else 0.0 for task in self._hands.lookups.copy()}
        stuck = [task for task, seconds in self._looking.items() if seconds >= self._patience]
        if not stuck:
            return None
        longest = max(stuck, key=self._looking.__getitem__)
        name = read_name(longest.claim.fn)
        what = brief(longest.claim.fn if name is None else name.space)
        who = "1 thread has" if len(stuck) == 1 else f"{len(stuck)} threads have"
        return f"{who} been importing {what} for {self._looking[longest]:.0f} s"

    def _unbegun(self, passed: float, *, is_due: bool) -> str | None:
        waiting, free, latest = self._hands.progress()
        is_held = free > 0 and (is_due or waiting > 0)
        self._idle = self._idle + passed if is_held and latest <= self._latest else 0.0
        self._latest = max(self._latest, latest)
        if self._idle < self._patience:
            return None
        who = "1 thread is" if free == 1 else f"{free} threads are"
        return f"work is due and {who} free, but none has begun any for {self._idle:.0f} s"

    def _event_loop(self, passed: float) -> str | None:
        event_loop = self._hands.executor.event_loop
        ticks = event_loop.ticks
        self._silent = self._silent + passed if ticks is not None and ticks == self._ticks else 0.0
        self._ticks = ticks
        if lost := event_loop.lost:
            return f"the event loop of coroutines has died: {lost}. The next coroutine starts another."
        trouble = f"the event loop of coroutines has not answered for {self._silent:.0f} s: a handler blocks it"
        if self._silent >= max(SOON, self._patience / 6) and not event_loop.is_silent:  # half of `listener_timeout`
            self._hands.free.clear()
            event_loop.give_back()
            events.emit("stuck", reason=f"{trouble}. Coroutines that have not begun go back, until it answers.")
        return trouble if self._silent >= self._patience else None
