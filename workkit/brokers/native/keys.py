"""Every key of the native layout, as functions of the schedule's name. No other module builds a key. The table in
spec/layouts/native.md has the content, size and life of each key. The heads of scripts use these names.
"""

from __future__ import annotations

from typing import Final

SIGNS: Final = {
    "jobs": "hash", "next": "zset", "listeners": "zset", "graves": "hash", "control": "hash", "stats": "hash",
    "plans": "hash", "lately": "hash", "runs": "stream", "changes": "stream",
}  # fmt: skip
"""Keys and their types. A schedule has at least one of them for as long as its server knows it; or else it has only
days of `Keys.past`.
"""


class Keys:
    """The keys of one schedule. An attribute is a key of every schedule; a method makes a key of one listener, job or
    span of time.
    """

    layout = "native"

    def __init__(self, schedule: str) -> None:
        self.schedule = schedule
        self.jobs = f"{schedule}:jobs"  # hash: id -> payload. Published
        self.next = f"{schedule}:next"  # sorted set: queue item -> due ms. Published
        self.listeners = f"{schedule}:listeners"  # sorted set: listener -> its last heartbeat
        self.again = f"{schedule}:again"  # sorted set: entry -> when. Retries, and occurrences that were handed back
        self.ended = f"{schedule}:ended"  # set of recurring jobs that have had their last occurrence admitted
        self.slots = f"{schedule}:slots"  # sorted set of open occurrences and taken slots, by key
        self.errors = f"{schedule}:errors"  # hash: occurrence -> its last error
        self.crashed = f"{schedule}:crashed"  # hash: occurrence -> crashes, for items back in `next`
        self.dead = f"{schedule}:dead"  # sorted set: dead id -> when it died
        self.graves = f"{schedule}:graves"  # hash: dead id -> its record
        self.wake = f"{schedule}:wake"  # list of at most one token
        self.watch = f"{schedule}:watch"  # string: the next due time, and the listener that wakes for it
        self.cancelled = f"{schedule}:cancelled"  # sorted set: cancelled id -> when
        self.stats = f"{schedule}:stats"  # hash: kind:hour -> count
        self.control = f"{schedule}:control"  # hash of the pauses, and of the schedule's own limits
        self.waiting = f"{schedule}:waiting"  # sorted set of parked entries, by the key under which they wait
        self.unique = f"{schedule}:unique"  # hash: unique key -> id
        self.names = f"{schedule}:names"  # hash: name -> id
        self.plans = f"{schedule}:plans"  # hash: the plans of code that hold, and the jobs that they made
        self.windows = f"{schedule}:windows"  # sorted set: throttle key -> end of its window
        self.held = f"{schedule}:held"  # hash: throttle key, or a lasting key -> id. See the spec
        self.tags = f"{schedule}:tags"  # hash: the index of tags. See the spec
        self.rates = f"{schedule}:rates"  # sorted set: rate key -> its next free turn
        self.turns = f"{schedule}:turns"  # sorted set: entry of `again` that a rate holds -> its turn. An index
        self.order = (
            f"{schedule}:order"  # sorted set of entries that rates hold, in the order of their starts. An index
        )
        self.deadlines = f"{schedule}:deadlines"  # sorted set: occurrence, or id of a one-shot -> its deadline
        self.groups = f"{schedule}:groups"  # hash: group -> its state and what follows. See spec/groups.md
        self.rows = f"{schedule}:rows"  # hash: group, number -> jobs that wait for their batch to be closed
        self.members = f"{schedule}:members"  # sorted set: a group, how it ended, a member
        self.feeds = f"{schedule}:feeds"  # sorted set: a job, the group that waits for it
        self.ends = f"{schedule}:ends"  # hash: job -> how it ended, if it is not done
        self.counts = f"{schedule}:counts"  # hash: id -> occurrences admitted
        self.missed = f"{schedule}:missed"  # stream of occurrences that did not run
        self.lately = f"{schedule}:lately"  # hash: recurring job -> its last runs
        self.days = f"{schedule}:days"  # hash: recurring job -> its past days
        self.runs = f"{schedule}:runs"  # stream of single runs
        self.logs = f"{schedule}:logs"  # hash: a run -> the last lines that it has logged
        self.functions = f"{schedule}:functions"  # hash: the functions that listeners know, and their descriptions
        self.changes = f"{schedule}:changes"  # stream of changes and their authors

    def running(self, listener: str) -> str:
        """Hash of the records of one listener."""
        return f"{self.schedule}:running:{listener}"

    def skip(self, listener: str) -> str:
        """Set of ids that one listener cannot run."""
        return f"{self.schedule}:skip:{listener}"

    def progress(self, listener: str) -> str:
        """Hash: record of one listener -> the latest progress of its run."""
        return f"{self.schedule}:progress:{listener}"

    def first(self, level: int) -> str:
        """Sorted set: items of `next` of one priority, 1 to 3 -> due ms."""
        return f"{self.schedule}:first:{level}"

    def past(self, slot: str) -> str:
        """Hash: subject -> its counts in one span of time."""
        return f"{self.schedule}:past:{slot}"

    def result(self, which: str) -> str:
        """Stream of the kept results of the job with this id; or, for ``name:<name>``, the id of such a job."""
        return f"{self.schedule}:result:{which}"

    def producer(self, token: str) -> str:
        """The last answer to one producer connection."""
        return f"{self.schedule}:producer:{token}"

    def trace(self, id: str) -> str:
        """String: the trace context of the addition of one job."""
        return f"{self.schedule}:trace:{id}"

    @staticmethod
    def any_key(key: str) -> str:
        """A key by its whole name, for a script that takes any key."""
        return key


def sign_keys(keys: Keys) -> list[str]:
    """List the keys of `SIGNS` of a schedule."""
    return [f"{keys.schedule}:{sign}" for sign in SIGNS]
