"""Read all shards of a schedule as if they were one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from heapq import merge

from workkit.brokers.native.history.changes import read_number
from workkit.brokers.native.look.inspector import NativeInspector
from workkit.brokers.native.look.results import ShardedResults
from workkit.brokers.native.look.search import ID_DIGITS, SHORTEST
from workkit.brokers.native.shards import first_found, shard_of_text
from workkit.contract.changes import Change
from workkit.contract.history import Bucket, Day, PastRun, Tier
from workkit.contract.inspector import Counts, Missed, Named, Pulse, QueueInfo, no_queues
from workkit.contract.listener import ListenerInfo
from workkit.contract.pulse import soonest, summed_counts
from workkit.errors import NotFound
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState


class ShardedInspector:
    """Reads all shards as if they were one schedule. What it shows has the schedule's name.

    A name leads to its shard. Most ids do too. But a job with a unique key, a second equal `queued` job, and a job of a
    foreign peer may be in any shard.
    """

    def __init__(self, shards: Sequence[NativeInspector]) -> None:
        self._shards = tuple(shards)

    def counts(self) -> Counts:
        """Add up the counts of all shards; a listener counts once in each."""
        return summed_counts([shard.counts() for shard in self._shards])

    def pulse(self) -> Pulse:
        """Look at all shards; a listener is there once for each."""
        pulses = [shard.pulse() for shard in self._shards]
        paused = {target: pause for one in pulses for target, pause in one.control.paused.items()}
        return Pulse(
            now_ms=max(one.now_ms for one in pulses),
            counts=summed_counts([one.counts for one in pulses]),
            control=replace(pulses[0].control, paused=paused),
            soon=soonest([job for one in pulses for job in one.soon]),
            listeners=tuple(info for one in pulses for info in one.listeners),
            version=" ".join(one.version for one in pulses),
        )

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs of all shards: running ones, then those that wait, soonest first, then dead ones,
        latest first.
        """
        return merge(*(shard.jobs(state=state) for shard in self._shards), key=_order)

    def unlisted(self) -> Mapping[JobState, str]:
        """All states can be listed."""
        return {}

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id. Raises NotFound, also if several match."""
        home = self._shards[shard_of_text(which, len(self._shards))]
        if (named := home.search.under(which)) is not None:
            return home.job(named)
        if len(which) == ID_DIGITS:
            return first_found(self._shards, which, lambda shard: shard.job(which))
        ids = {id for shard in self._shards for id in shard.search.ids(which)}
        if len(ids) > 1:
            raise NotFound(
                f'"{which}" is the beginning of {len(ids)} jobs; give at least {SHORTEST} characters.', given=which
            )
        id = ids.pop() if ids else which
        return first_found(self._shards, id, lambda shard: shard.job(id))

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""
        return {name: found for shard in self._shards for name, found in shard.named().items()}

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners: each once for each shard, with its claims there."""
        return [info for shard in self._shards for info in shard.listeners()]

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """Raise Unsupported: there is nothing here that `counts` does not say."""
        raise no_queues(self._shards[0].codec.schedule)

    def control(self) -> Control:
        """Read the pauses of all shards, and the schedule's own limits."""
        controls = [shard.control() for shard in self._shards]
        paused = {target: pause for control in controls for target, pause in control.paused.items()}
        quiet = frozenset(name for control in controls for name in control.quiet)
        return replace(controls[0], paused=paused, quiet=quiet)

    def missed(self) -> Iterator[Missed]:
        """Page through the missed occurrences, roughly the last one first."""
        return merge(*(shard.missed() for shard in self._shards), key=lambda one: -one.due.timestamp())

    def lately(self, jobs: Sequence[str]) -> dict[str, list[PastRun]]:
        """Read the last runs of recurring jobs; each job runs in one shard."""
        found = [shard.lately(jobs) for shard in self._shards]
        return {job: next((one[job] for one in found if one[job]), []) for job in jobs}

    def days(self, job: str) -> list[Day]:
        """Read the days of a recurring job."""
        return next((days for shard in self._shards if (days := shard.days(job))), [])

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Add up the counts of all shards."""
        found: dict[datetime, Bucket] = {}
        for shard in self._shards:
            for bucket in shard.past(subject, since_ms=since_ms, until_ms=until_ms, tier=tier):
                before = found.get(bucket.start)
                found[bucket.start] = bucket if before is None else replace(bucket, cell=before.cell + bucket.cell)
        return [found[start] for start in sorted(found)]

    def runs(self, *, since_ms: int = 0) -> Iterator[PastRun]:
        """Page through the single runs of all shards, roughly the last one first."""
        return merge(*(shard.runs(since_ms=since_ms) for shard in self._shards), key=lambda one: -one.ended.timestamp())

    @property
    def results(self) -> ShardedResults:
        """The kept results of runs, of all shards."""
        return ShardedResults([shard.results for shard in self._shards])

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Page through who changed what in all shards, the last change first. A number begins with that of its shard.
        Of two changes at the same time, that of the first shard comes first.
        """
        at, _, seen = ("", "", "") if after is None else after.partition(".")
        ms = read_number(seen).partition("-")[0] if after is not None else ""

        def upto(shard: int) -> str:
            if after is None:
                return "+"
            if not at.isdecimal() or shard == int(at):
                return f"({seen}"
            return ms if shard > int(at) else f"({ms}-0"

        def numbered(shard: int) -> Iterator[Change]:
            found = self._shards[shard].changes_upto(upto(shard))
            return (replace(one, number=f"{shard}.{one.number}") for one in found)

        return merge(*map(numbered, range(len(self._shards))), key=lambda one: -one.at.timestamp())

    def history_bytes(self) -> int:
        """Add up the memory of the history of all shards."""
        return sum(shard.history_bytes() for shard in self._shards)

    def shard_of(self, job: Job) -> int:
        """Find the number of the shard that has a job. Raises NotFound."""

        def number(shard: NativeInspector) -> int:
            shard.job(job.id)
            return self._shards.index(shard)

        return first_found(self._shards, job.id, number)


def _order(job: Job) -> tuple[int, float]:
    """Sort a job as each shard sorts its own."""
    due = float("-inf") if job.due is None else job.due.timestamp()
    if job.state in ("running", "cancelling"):
        return 0, due
    return (2, -due) if job.state == "dead" else (1, due)
