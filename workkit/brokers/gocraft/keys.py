"""Every key of the gocraft layout, as functions of the namespace. No other module builds a key. The table with contents
and lives is in spec/layouts/gocraft.md. Go pools know only the keys of this table. A key of our own begins with
`NSworkkit:`, and no key of theirs does.
"""

from __future__ import annotations

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


class Keys:
    """The keys of one namespace. Job names are part of keys as they are. `prefix`: the beginning of every key. An empty
    namespace adds nothing. Any other namespace ends in one colon: its own, or an added one.
    """

    layout = "gocraft"

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.prefix = prefix = namespace if not namespace or namespace.endswith(":") else f"{namespace}:"
        self.known_jobs = f"{prefix}known_jobs"  # set: every job name that was ever enqueued or served
        self.queue_prefix = f"{prefix}{_OF_JOBS}"  # before a job name in the key of its queue. An argument of scripts
        self.scheduled = f"{prefix}scheduled"  # sorted set: job text -> due second
        self.retry = f"{prefix}retry"  # sorted set: job text -> second of its next attempt
        self.dead = f"{prefix}dead"  # sorted set: job text -> second of its death
        self.worker_pools = f"{prefix}worker_pools"  # set: ids of the pools that live
        # string, an integer: the second at which some pool last enqueued periodic jobs
        self.last_periodic_enqueue = f"{prefix}last_periodic_enqueue"
        self.pattern = f"{_glob(prefix)}*"  # glob of all keys, for SCAN
        self.in_progress_pattern = f"{_glob(self.queue_prefix)}*:*{_IN_PROGRESS}"  # glob of all in-progress lists
        # Our own keys. Go pools do not look at them.
        # sorted set: job text -> due second, of jobs that some live pool does not serve and would bury
        self.held = f"{prefix}workkit:scheduled"
        self.held_retry = f"{prefix}workkit:retry"  # sorted set: as `held`, of jobs that failed
        # sorted set: bytes that are no job text -> the second in which they were set aside
        self.unreadable = f"{prefix}workkit:unreadable"
        # hash: id of a job, or SHA-1 of a text without one -> how many pools died with it
        self.crashes = f"{prefix}workkit:crashes"
        # string: while it exists, the whole namespace is paused. Its value is the reason, or `1`
        self.paused_all = f"{prefix}workkit:paused"
        self.paused_names = f"{prefix}workkit:paused_names"  # set: names that were paused one by one, known or not

    def queue(self, name: str) -> str:
        """List: job texts of one name. Producers push left, workers take from the right."""
        return f"{self.queue_prefix}{name}"

    def in_progress(self, name: str, pool: str) -> str:
        """List: exact bytes of the jobs of one name that one pool runs."""
        return f"{self.queue_prefix}{name}:{pool}{_IN_PROGRESS}"

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
        return f"{self.queue_prefix}{name}:paused"

    def max_concurrency(self, name: str) -> str:
        """String, an integer: most running jobs of this name over all pools; 0 is no limit."""
        return f"{self.queue_prefix}{name}:max_concurrency"

    def lock(self, name: str) -> str:
        """String, an integer: running jobs of this name over all pools, counted without a limit too."""
        return f"{self.queue_prefix}{name}:lock"

    def lock_info(self, name: str) -> str:
        """Hash: pool -> its running jobs of this name."""
        return f"{self.queue_prefix}{name}:lock_info"

    def unique(self, name: str, content: str) -> str:
        """String: `1` or a job text, while a unique job of this content waits. `unique_key` writes the content."""
        return f"{self.prefix}unique:{name}:{content}"

    def worker_pool(self, pool: str) -> str:
        """Hash: the heartbeat of one pool."""
        return f"{self.prefix}worker_pools:{pool}"

    def worker(self, worker: str) -> str:
        """Hash: the present job of one worker."""
        return f"{self.prefix}worker:{worker}"

    def record(self, pool: str) -> str:
        """String: the number of the last turn of one of our pools, and its answer."""
        return f"{self.prefix}workkit:pool:{pool}"

    def taken(self, pool: str) -> str:
        """String: the number of the last turn in which one of our pools took unique keys, and the values
        of the keys.
        """
        return f"{self.prefix}workkit:taken:{pool}"

    def producer(self, token: str) -> str:
        """String: the number of a producer's last request, and its answer."""
        return f"{self.prefix}workkit:producer:{token}"

    def cancelled(self, pool: str) -> str:
        """Set: exact bytes in progress of the jobs that one of our pools runs and must interrupt."""
        return f"{self.prefix}workkit:cancelled:{pool}"

    def wake(self, name: str) -> str:
        """List: a token, while a sleeping pool of ours should look at the queue of this name."""
        return f"{self.prefix}workkit:wake:{name}"

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
        *(f"{keys.prefix}{sign}" for sign in SIGNS),
        *(keys.scheduled, keys.retry, keys.dead, keys.held, keys.held_retry, keys.unreadable),
        keys.last_periodic_enqueue,
    ]
