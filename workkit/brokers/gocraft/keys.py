"""Every key of the gocraft layout, as functions of the namespace. No other module builds a key. The table with contents
and lives is in spec/layouts/gocraft.md. Go pools know only the keys of this table. A key of our own begins with
`NSworkkit:`, and no key of theirs does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from workkit.jobs.names import LONGEST

SIGNS: Final = {
    "known_jobs": "set", "worker_pools": "set", "workkit:paused": "string", "workkit:paused_names": "set",
}  # fmt: skip
"""Keys and their types. A namespace has at least one of them from its first job, pool or pause on."""

_OF_JOBS = "jobs:"
_IN_PROGRESS = ":inprogress"
_SIDES = (":paused", ":max_concurrency", ":lock", ":lock_info", _IN_PROGRESS)


def name_trouble(name: str) -> str | None:
    """Explain why no job of ours can have a name, as the end of a sentence; None if one can."""
    if not 0 < len(name) <= LONGEST:
        return f"has {len(name):,} characters, and a job name has 1 to {LONGEST}" if name else "is empty"
    if any("\ud800" <= char <= "\udfff" for char in name):
        return "holds half a character, which no key can have"
    side = next((end for end in _SIDES if name.endswith(end)), None)
    return side and f'ends with "{side}": the key of its queue would be a key of the job "{name.removesuffix(side)}"'


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one namespace. Job names are part of keys as they are."""

    namespace: str
    prefix: str = field(init=False, repr=False, compare=False)
    """The beginning of every key. An empty namespace adds nothing. Any other namespace ends in one colon: its own, or
    an added one.
    """

    def __post_init__(self) -> None:
        bare = not self.namespace or self.namespace.endswith(":")
        object.__setattr__(self, "prefix", self.namespace if bare else f"{self.namespace}:")

    def _key(self, suffix: str) -> str:
        return f"{self.prefix}{suffix}"

    @property
    def known_jobs(self) -> str:
        """Set: every job name that was ever enqueued or served."""
        return self._key("known_jobs")

    @property
    def queue_prefix(self) -> str:
        """The text before a job name in the key of its queue. Scripts get it as an argument."""
        return self._key(_OF_JOBS)

    def queue(self, name: str) -> str:
        """List: job texts of one name. Producers push left, workers take from the right."""
        return self._key(f"{_OF_JOBS}{name}")

    def in_progress(self, name: str, pool: str) -> str:
        """List: exact bytes of the jobs of one name that one pool runs."""
        return self._key(f"{_OF_JOBS}{name}:{pool}{_IN_PROGRESS}")

    @property
    def pattern(self) -> str:
        """Glob of all keys, for SCAN."""
        return f"{_glob(self.prefix)}*"

    @property
    def in_progress_pattern(self) -> str:
        """Glob of all in-progress lists, for SCAN."""
        return f"{_glob(self.queue_prefix)}*:*{_IN_PROGRESS}"

    def in_progress_owner(self, key: str) -> tuple[str, str] | None:
        """Split the key of an in-progress list into job name and pool; None for any other key.

        The pool is the part after the last colon: a job name may contain colons, and a pool id does not.
        """
        if not (key.startswith(self.queue_prefix) and key.endswith(_IN_PROGRESS)):
            return None
        name, colon, pool = key[len(self.queue_prefix) : -len(_IN_PROGRESS)].rpartition(":")
        return (name, pool) if colon else None

    def paused(self, name: str) -> str:
        """String: while it exists, whatever its value, no pool takes jobs of this name."""
        return self._key(f"{_OF_JOBS}{name}:paused")

    def max_concurrency(self, name: str) -> str:
        """String, an integer: most running jobs of this name over all pools; 0 is no limit."""
        return self._key(f"{_OF_JOBS}{name}:max_concurrency")

    def lock(self, name: str) -> str:
        """String, an integer: running jobs of this name over all pools, counted without a limit too."""
        return self._key(f"{_OF_JOBS}{name}:lock")

    def lock_info(self, name: str) -> str:
        """Hash: pool -> its running jobs of this name."""
        return self._key(f"{_OF_JOBS}{name}:lock_info")

    @property
    def scheduled(self) -> str:
        """Sorted set: job text -> due second."""
        return self._key("scheduled")

    @property
    def retry(self) -> str:
        """Sorted set: job text -> second of its next attempt."""
        return self._key("retry")

    @property
    def dead(self) -> str:
        """Sorted set: job text -> second of its death."""
        return self._key("dead")

    def unique(self, name: str, content: str) -> str:
        """String: `1` or a job text, while a unique job of this content waits. `unique_key` writes the content."""
        return self._key(f"unique:{name}:{content}")

    @property
    def worker_pools(self) -> str:
        """Set: ids of the pools that live."""
        return self._key("worker_pools")

    def worker_pool(self, pool: str) -> str:
        """Hash: the heartbeat of one pool."""
        return self._key(f"worker_pools:{pool}")

    def worker(self, worker: str) -> str:
        """Hash: the present job of one worker."""
        return self._key(f"worker:{worker}")

    @property
    def last_periodic_enqueue(self) -> str:
        """String, an integer: the second at which some pool last enqueued periodic jobs."""
        return self._key("last_periodic_enqueue")

    # Our own keys. Go pools do not look at them.

    @property
    def held(self) -> str:
        """Sorted set: job text -> due second, of jobs that some live pool does not serve and would bury."""
        return self._key("workkit:scheduled")

    @property
    def held_retry(self) -> str:
        """Sorted set: as `held`, of jobs that failed."""
        return self._key("workkit:retry")

    @property
    def unreadable(self) -> str:
        """Sorted set: bytes that are no job text -> the second in which they were set aside."""
        return self._key("workkit:unreadable")

    @property
    def crashes(self) -> str:
        """Hash: id of a job, or SHA-1 of a text without one -> how many pools died with it."""
        return self._key("workkit:crashes")

    def record(self, pool: str) -> str:
        """String: the number of the last turn of one of our pools, and its answer."""
        return self._key(f"workkit:pool:{pool}")

    def taken(self, pool: str) -> str:
        """String: the number of the last turn in which one of our pools took unique keys, and the values
        of the keys.
        """
        return self._key(f"workkit:taken:{pool}")

    def producer(self, token: str) -> str:
        """String: the number of a producer's last request, and its answer."""
        return self._key(f"workkit:producer:{token}")

    def cancelled(self, pool: str) -> str:
        """Set: exact bytes in progress of the jobs that one of our pools runs and must interrupt."""
        return self._key(f"workkit:cancelled:{pool}")

    @property
    def paused_all(self) -> str:
        """String: while it exists, the whole namespace is paused. Its value is the reason, or `1`."""
        return self._key("workkit:paused")

    @property
    def paused_names(self) -> str:
        """Set: names that were paused one by one, known or not."""
        return self._key("workkit:paused_names")

    def wake(self, name: str) -> str:
        """List: a token, while a sleeping pool of ours should look at the queue of this name."""
        return self._key(f"workkit:wake:{name}")

    @staticmethod
    def any_key(key: str) -> str:
        """A key by its whole name, for a script that takes any key."""
        return key


def _glob(text: str) -> str:
    """Escape the special characters of a glob of Redis."""
    return "".join(f"\\{c}" if c in "*?[]^\\" else c for c in text)


def sign_keys(keys: Keys) -> list[str]:
    """List the keys of `SIGNS`, and others that a namespace may have."""
    return [
        *(keys._key(sign) for sign in SIGNS),
        *(keys.scheduled, keys.retry, keys.dead, keys.held, keys.held_retry, keys.unreadable),
        keys.last_periodic_enqueue,
    ]
