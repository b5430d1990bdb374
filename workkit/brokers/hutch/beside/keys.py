"""Every key of the Redis beside an exchange. The heads of scripts use these names. Pure.

No schedule of another layout can have these keys: its name has no blank. All are in one slot of a cluster. Normative:
spec/layouts/hutch.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys beside one exchange of one virtual host."""

    vhost: str
    exchange: str

    @property
    def prefix(self) -> str:
        """What all of them begin with."""
        return f"{{amqp {quote(self.vhost, safe='')} {quote(self.exchange, safe='')}}}"

    def _key(self, suffix: str) -> str:
        return f"{self.prefix}:{suffix}"

    @property
    def listeners(self) -> str:
        """Sorted set: listener -> its last heartbeat."""
        return self._key("listeners")

    def running(self, listener: str) -> str:
        """Hash of the messages that one listener holds."""
        return self._key(f"running:{listener}")

    def progress(self, listener: str) -> str:
        """Hash: field of `running` -> the latest progress of its run."""
        return self._key(f"progress:{listener}")

    @property
    def control(self) -> str:
        """Hash of the pauses, and of the schedule's own limits."""
        return self._key("control")

    @property
    def slots(self) -> str:
        """Sorted set of taken slots, by limit key."""
        return self._key("slots")

    @property
    def rates(self) -> str:
        """Sorted set: rate key -> when its next run may start."""
        return self._key("rates")

    @property
    def begun(self) -> str:
        """Hash: place of a message -> the run that has it."""
        return self._key("begun")

    @property
    def counted(self) -> str:
        """Hash: run -> 1, where it was cut off and counts as a crash."""
        return self._key("counted")

    @property
    def crashes(self) -> str:
        """Hash: place of a message -> how often its run was cut off."""
        return self._key("crashes")

    @property
    def unique(self) -> str:
        """Hash: unique key -> the id of the message that holds it."""
        return self._key("unique")

    @property
    def unique_until(self) -> str:
        """Sorted set: unique key -> when it is free again, though nobody has freed it."""
        return self._key("unique_until")

    @property
    def doubted(self) -> str:
        """Hash: message id -> empty, where a message may come twice; its place -> which of both has come there."""
        return self._key("doubted")

    @staticmethod
    def any_key(key: str) -> str:
        """A key under its whole name, for a script that takes any of them."""
        return key
