"""How much work a listener may take ahead of its threads: what they begin within a moment, at their speed of late."""

from __future__ import annotations

AHEAD = 0.025  # seconds of work that may wait here for a thread
MOST_AHEAD = 4000  # claims beyond one for each thread: what a server rereads in one step if a reply is lost
FORGET = 1.0  # seconds without work after which the next may be of another kind
SAMPLE = 0.001  # seconds of work that tell a speed, at the least


class Pace:
    """Counts endings against the time in which there was work, so that a slow network does not look
    like slow jobs; and not by how long each run took, as threads that take turns make every run look long. One sample
    holds two endings for each thread, as those that began together end together. `now` is `time.monotonic()`.
    """

    def __init__(self, threads: int) -> None:
        self._enough = 2 * threads
        self._rate = 0.0  # endings in a second
        self._ended = 0
        self._busy = 0.0  # seconds of work in which these ended
        self._since = 0.0  # when work came to idle hands, or the last note

    def begin(self, now: float) -> None:
        """Work has come to idle hands."""
        if now - self._since > FORGET:
            self._rate, self._ended, self._busy = 0.0, 0, 0.0
        self._since = now

    def note(self, ended: int, now: float) -> None:
        """So many runs have ended since the last note."""
        self._busy += now - self._since
        self._ended += ended
        self._since = now
        if self._ended >= self._enough and self._busy >= SAMPLE:
            rate = self._ended / self._busy
            self._rate = (self._rate + rate) / 2 if self._rate else rate
            self._ended, self._busy = 0, 0.0

    def ahead(self, now: float, *, idle: bool) -> int:
        """How many claims beyond one for each thread will be begun within `AHEAD`. Runs that take longer than those
        before count at once, not only when they end.
        """
        if idle and now - self._since > FORGET:
            return 0
        busy = self._busy + (0.0 if idle else now - self._since)
        rate = self._rate if busy <= AHEAD else min(self._rate, self._ended / busy)
        return min(MOST_AHEAD, int(rate * AHEAD))
