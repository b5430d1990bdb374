"""How much work a listener claims ahead of its threads: as much as they begin within `AHEAD` at their recent speed."""

from __future__ import annotations

AHEAD = 0.025  # seconds of work that may wait for a thread
MOST_AHEAD = 4000  # claims beyond one for each thread: what a server rereads in one step if a reply is lost
PAUSE = 0.1  # seconds without work after which nobody knows whether new work is as short
FORGET = 1.0  # seconds without work after which an old speed says nothing about new work
SAMPLE = 0.001  # the least seconds of work that yield a speed


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
