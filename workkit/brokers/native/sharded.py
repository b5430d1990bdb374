"""One schedule over several slots of a cluster: its shards, each an ordinary schedule that any peer can use.

This module composes only the producer and the parts that look, change and check. A listener has one broker for each
shard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from workkit.brokers.native.additions import home_of
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.change.sharded import ShardedAdmin
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.doctor import ShardedDoctor
from workkit.brokers.native.look.sharded import ShardedInspector
from workkit.brokers.native.plans import ShardedPlans
from workkit.brokers.native.shards import shard_of, shard_of_text
from workkit.contract.producer import Added, Batch, BatchStep, NewJob
from workkit.errors import NotFound, Unsupported
from workkit.jobs.terms import PLAIN, USUAL


class ShardedBroker:
    """The producer of a schedule of several shards. Thread-safe."""

    def __init__(self, brokers: Sequence[NativeBroker], *, schedule: str, dialect: str = "published") -> None:
        self._brokers, self._schedule = tuple(brokers), schedule
        self._codec = Codec(schedule, dialect)
        self._inspector: ShardedInspector | None = None

    @property
    def schedule(self) -> str:
        """The schedule's name, without the shard."""
        return self._schedule

    @property
    def url(self) -> str:
        """The URL of the server, without a password."""
        return self._brokers[0].url

    @property
    def inspector(self) -> ShardedInspector:
        """The part that reads all shards."""
        if self._inspector is None:
            self._inspector = ShardedInspector([broker.inspector.showing(self._codec) for broker in self._brokers])
        return self._inspector

    @property
    def admin(self) -> ShardedAdmin:
        """The part that changes jobs and pauses in any shard."""
        return ShardedAdmin([replace(broker.admin, codec=self._codec) for broker in self._brokers], self.inspector)

    @property
    def plans(self) -> ShardedPlans:
        """The plans of code."""
        return ShardedPlans(shards=[broker.plans for broker in self._brokers])

    @property
    def doctor(self) -> ShardedDoctor:
        """The part that checks and repairs all shards."""
        return ShardedDoctor([replace(broker.doctor, codec=self._codec) for broker in self._brokers])

    @property
    def is_on_test_clock(self) -> bool:
        """Whether tests move the server's clock: they never do."""
        return False

    def now_ms(self) -> int:
        """Ask the clock of the first shard's server."""
        return self._brokers[0].now_ms()

    def ping(self) -> None:
        """Ask the server: see `Connection.ping`."""
        self._brokers[0].ping()

    def check(self, job: NewJob) -> None:
        """Accept every job."""

    def add(self, jobs: Sequence[NewJob]) -> list[Added]:
        """Add jobs, each to the shard of its id, or of its name, unique key or window.

        A shard stores all of its jobs, or none. If one shard raises, others may have stored theirs. Adding all of them
        again adds only `queued` jobs twice.
        """
        return self.adding(jobs)()

    def begin(self, batch: Batch) -> None:
        """Refuse it: a batch moves on in one step, and several shards have none. Raises Unsupported."""
        raise Unsupported(f"{self._schedule} has several shards: a batch cannot be resumed there.", given=batch.id)

    def batch(self, id: str) -> Batch:
        """Find no batch. Raises NotFound."""
        raise NotFound(f'no batch "{id}" in {self._schedule}: it has several shards.', given=id)

    def adding(self, jobs: Sequence[NewJob], *, step: BatchStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs to their shards, and return a function that waits for the answers."""
        if step is not None:
            self.begin(step.after)
        stored = self._brokers[0].encode(jobs)
        places: dict[int, list[int]] = {}
        for place, (job, what) in enumerate(zip(jobs, stored, strict=True)):
            shard = shard_of(what.id, len(self._brokers))
            if (job.terms is not PLAIN or job.entrance is not USUAL) and (home := home_of(job)) is not None:
                shard = shard_of_text(home, len(self._brokers))
            places.setdefault(shard, []).append(place)
        answers = [
            (here, self._brokers[shard].putting([jobs[i] for i in here], stored=[stored[i] for i in here]))
            for shard, here in places.items()
        ]

        def answer() -> list[Added]:
            added: dict[int, Added] = {}
            for here, done in answers:
                added.update(zip(here, done(), strict=True))
            return [added[place] for place in range(len(jobs))]

        return answer

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Name the content of each job by its id without a nonce."""
        return self._brokers[0].contents(jobs)

    def close(self) -> None:
        """Close connections."""
        for broker in self._brokers:
            broker.close()
