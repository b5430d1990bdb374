"""Every key of the native layout, as functions of the schedule's name. The table with owners, sizes and lives stands in
spec/layouts/native.md; no other place builds a key. Which of them a script is given, its head says by these names.
"""

from __future__ import annotations

from dataclasses import dataclass


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
        """Sorted set: listener -> its last beat."""
        return self._key("listeners")

    def running(self, listener: str) -> str:
        """Hash of what one listener holds."""
        return self._key(f"running:{listener}")

    def skip(self, listener: str) -> str:
        """Set of ids that one listener cannot run."""
        return self._key(f"skip:{listener}")

    @property
    def again(self) -> str:
        """Sorted set: entry -> when. Retries, and what was handed back."""
        return self._key("again")

    def progress(self, listener: str) -> str:
        """Hash: record of one listener -> what its run said last."""
        return self._key(f"progress:{listener}")

    @property
    def ended(self) -> str:
        """Set of recurring jobs whose last occurrence was admitted."""
        return self._key("ended")

    @property
    def slots(self) -> str:
        """Sorted set of open occurrences, by what they occupy."""
        return self._key("slots")

    @property
    def errors(self) -> str:
        """Hash: occurrence -> its last error."""
        return self._key("errors")

    @property
    def crashed(self) -> str:
        """Hash: occurrence -> crashes, of what came back into `next` from listeners that died."""
        return self._key("crashed")

    @property
    def dead(self) -> str:
        """Sorted set: dead id -> when it died."""
        return self._key("dead")

    @property
    def graves(self) -> str:
        """Hash: dead id -> what is kept of it."""
        return self._key("graves")

    @property
    def wake(self) -> str:
        """List of at most one token."""
        return self._key("wake")

    @property
    def watch(self) -> str:
        """Who wakes at the next due time."""
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
        """Hash of what is paused, and of the schedule's own limits."""
        return self._key("control")

    @property
    def waiting(self) -> str:
        """Sorted set of parked entries, by what they wait for."""
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
    def windows(self) -> str:
        """Sorted set: throttle key -> end of its window."""
        return self._key("windows")

    @property
    def held(self) -> str:
        """Hash: throttle key -> the id that the window's first addition got."""
        return self._key("held")

    @property
    def rates(self) -> str:
        """Sorted set: rate key -> its next free turn."""
        return self._key("rates")

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

    def producer(self, token: str) -> str:
        """The last answer to one producer connection."""
        return self._key(f"producer:{token}")

    @staticmethod
    def any_key(key: str) -> str:
        """A key under its whole name, for a script that takes any of them."""
        return key
