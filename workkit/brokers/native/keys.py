"""Every key of the native layout, as functions of the schedule's name. No other place builds a key. The table in
spec/layouts/native.md says who writes each key, its size and its life. The heads of scripts use these names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SIGNS: Final = {
    "jobs": "hash", "next": "zset", "listeners": "zset", "graves": "hash", "control": "hash", "stats": "hash",
    "plans": "hash", "lately": "hash", "runs": "stream", "changes": "stream",
}  # fmt: skip
"""Keys, and their types, of which a schedule has at least one as long as its server knows it; besides these, days of
`Keys.past`.
"""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one schedule."""

    schedule: str

    def _key(self, suffix: str) -> str:
        return f"{self.schedule}:{suffix}"

    @property
    def jobs(self) -> str:
        """Hash: id -> payload. Published."""
        return self._key("jobs")

    @property
    def next(self) -> str:
        """Sorted set: queue item -> due ms. Published."""
        return self._key("next")

    @property
    def listeners(self) -> str:
        """Sorted set: listener -> its last heartbeat."""
        return self._key("listeners")

    def running(self, listener: str) -> str:
        """Hash of the records of one listener."""
        return self._key(f"running:{listener}")

    def skip(self, listener: str) -> str:
        """Set of ids that one listener cannot run."""
        return self._key(f"skip:{listener}")

    @property
    def again(self) -> str:
        """Sorted set: entry -> when. Retries, and occurrences that were handed back."""
        return self._key("again")

    def progress(self, listener: str) -> str:
        """Hash: record of one listener -> the latest progress of its run."""
        return self._key(f"progress:{listener}")

    @property
    def ended(self) -> str:
        """Set of recurring jobs whose last occurrence was admitted."""
        return self._key("ended")

    @property
    def slots(self) -> str:
        """Sorted set of open occurrences and taken slots, by key."""
        return self._key("slots")

    @property
    def errors(self) -> str:
        """Hash: occurrence -> its last error."""
        return self._key("errors")

    @property
    def crashed(self) -> str:
        """Hash: occurrence -> crashes, for items that returned to `next` from dead listeners."""
        return self._key("crashed")

    @property
    def dead(self) -> str:
        """Sorted set: dead id -> when it died."""
        return self._key("dead")

    @property
    def graves(self) -> str:
        """Hash: dead id -> its record."""
        return self._key("graves")

    @property
    def wake(self) -> str:
        """List of at most one token."""
        return self._key("wake")

    @property
    def watch(self) -> str:
        """String: the next due time, and the listener that wakes for it."""
        return self._key("watch")

    @property
    def cancelled(self) -> str:
        """Sorted set: cancelled id -> when."""
        return self._key("cancelled")

    @property
    def stats(self) -> str:
        """Hash: what:hour -> count."""
        return self._key("stats")

    @property
    def control(self) -> str:
        """Hash of the pauses, and of the schedule's own limits."""
        return self._key("control")

    @property
    def waiting(self) -> str:
        """Sorted set of parked entries, by the key under which they wait."""
        return self._key("waiting")

    @property
    def unique(self) -> str:
        """Hash: unique key -> id."""
        return self._key("unique")

    @property
    def names(self) -> str:
        """Hash: name -> id."""
        return self._key("names")

    @property
    def plans(self) -> str:
        """Hash: the plans of code that hold, and the jobs that they made."""
        return self._key("plans")

    @property
    def windows(self) -> str:
        """Sorted set: throttle key -> end of its window."""
        return self._key("windows")

    @property
    def held(self) -> str:
        """Hash: throttle key -> the id of the first addition in the window."""
        return self._key("held")

    @property
    def rates(self) -> str:
        """Sorted set: rate key -> its next free turn."""
        return self._key("rates")

    @property
    def turns(self) -> str:
        """Sorted set: entry of `again` that a rate holds -> its turn. An index, to count them."""
        return self._key("turns")

    @property
    def counts(self) -> str:
        """Hash: id -> occurrences admitted."""
        return self._key("counts")

    def first(self, level: int) -> str:
        """Sorted set: items of `next` of one priority, 1 to 3 -> due ms."""
        return self._key(f"first:{level}")

    @property
    def missed(self) -> str:
        """Stream of occurrences that did not run."""
        return self._key("missed")

    @property
    def lately(self) -> str:
        """Hash: recurring job -> its last runs."""
        return self._key("lately")

    @property
    def days(self) -> str:
        """Hash: recurring job -> its past days."""
        return self._key("days")

    @property
    def runs(self) -> str:
        """Stream of single runs."""
        return self._key("runs")

    @property
    def functions(self) -> str:
        """Hash: what listeners tell of the functions that they know."""
        return self._key("functions")

    @property
    def changes(self) -> str:
        """Stream of who changed what."""
        return self._key("changes")

    def past(self, slot: str) -> str:
        """Hash: subject -> what was counted in one span of time."""
        return self._key(f"past:{slot}")

    def result(self, which: str) -> str:
        """Stream of the kept results of the job with this id; or, for ``name:<name>``, the id of such a job."""
        return self._key(f"result:{which}")

    def producer(self, token: str) -> str:
        """The last answer to one producer connection."""
        return self._key(f"producer:{token}")

    def trace(self, id: str) -> str:
        """String: the trace context of the addition of one job."""
        return self._key(f"trace:{id}")

    @staticmethod
    def any_key(key: str) -> str:
        """A key by its whole name, for a script that takes any key."""
        return key


def sign_keys(keys: Keys) -> list[str]:
    """List the keys of `SIGNS` of a schedule."""
    return [keys._key(sign) for sign in SIGNS]
