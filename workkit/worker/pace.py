"""How fast the threads of a listener are: how much work to claim ahead of them, and what does not move although the
loop does.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from workkit import events
from workkit.jobs.names import brief, read_name
from workkit.worker.lane import LookUp
from workkit.worker.run.event_loop import EventLoop

AHEAD = 0.025  # seconds of work that may wait for a thread
MOST_AHEAD = 4000  # claims beyond one for each thread: what a server rereads in one step if a reply is lost
PAUSE = 0.1  # seconds without work after which nobody knows whether new work is as short
FORGET = 1.0  # seconds without work after which an old speed says nothing about new work
SAMPLE = 0.001  # the least seconds of work that yield a speed

SOON = 2.0  # the least seconds of silence after which the event loop counts as blocked
MOST = 2.0  # the most seconds that count between two looks: a suspended process is not stuck


class ReadAhead:
    """The recent speed of the threads: the work time of one ending. Idle time does not count, so that a
    slow network does not look like slow jobs. The durations of runs do not count, because threads that take turns make
    every run look long. A sample has at least two endings per thread. `now` is `time.monotonic()`.

    Work that comes after a pause may be other work: one claim more than there are threads, and then as many more as
    have ended since.
    """

    def __init__(self, threads: int) -> None:
        self._enough = 2 * threads
        self._mean = 0.0  # recent mean of the seconds of work for one ending; 0: unknown
        self._since_pause = 0  # endings
        self._ended = 0
        self._busy = 0.0  # seconds of work in which these ended
        self._since = 0.0  # the last `begin` or `note`

    def begin(self, now: float) -> None:
        """Note that work arrives while all threads are idle."""
        if now - self._since > PAUSE:
            self._since_pause = 0
        if now - self._since > FORGET:
            self._mean, self._ended, self._busy = 0.0, 0, 0.0
        self._since = now

    def note(self, ended: int, now: float) -> None:
        """Note that so many runs have ended."""
        self._busy += now - self._since
        self._ended += ended
        self._since_pause += ended
        self._since = now
        if self._ended >= self._enough and self._busy >= SAMPLE:
            mean = self._busy / self._ended
            self._mean = (self._mean + mean) / 2 if self._mean else mean  # a mean of speeds would hide the slow ones
            self._ended, self._busy = 0, 0.0

    def ahead(self, now: float, *, idle: bool) -> int:
        """Estimate how many claims beyond one per thread will begin within `AHEAD`. Active runs that take longer than
        the earlier ones lower the estimate before they end.
        """
        if idle and now - self._since > FORGET:
            return 0
        most = 1 + (0 if idle and now - self._since > PAUSE else self._since_pause)
        busy = self._busy + (0.0 if idle else now - self._since)
        if not self._mean or (busy > AHEAD and not self._ended):
            return 0
        mean = self._mean if busy <= AHEAD else max(self._mean, busy / self._ended)
        return min(MOST_AHEAD, most, int(AHEAD / mean))


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
