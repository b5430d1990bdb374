"""Which queues are around an exchange: all of them where the management API tells, else those with known names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workkit.brokers.hutch.ladder import ladder
from workkit.brokers.hutch.look.depth import Depth, delay_queues, depths
from workkit.brokers.hutch.management.client import Management
from workkit.brokers.hutch.management.facts import Closed, QueueFact
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.wire.link import Link
from workkit.contract.inspector import QueueInfo, QueueKind
from workkit.errors import InvalidFunction
from workkit.jobs.marks import plain_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The work queues of an exchange by name, each with the keys that lead to it (None: nobody tells). `facts`: what
    the management API tells of each queue; `closed`: why it tells nothing.
    """

    names: Names
    keys: Mapping[str, tuple[str, ...] | None]
    delays: tuple[str, ...]
    facts: Mapping[str, QueueFact] = field(default_factory=dict)
    closed: Closed | None = None

    @property
    def ours(self) -> dict[str, str]:
        """The work queues of our namespace, each with its job."""
        before = self.names.queue("")
        return {queue: queue.removeprefix(before) for queue in self.keys if queue.startswith(before)}

    def infos(self, link: Link) -> list[QueueInfo]:
        """Describe the queues: work queues, those that delay, the dead queue. `ready` and `consumers` are those of now,
        but for a queue that belongs to another connection alone.
        """
        kinds: dict[str, QueueKind] = dict.fromkeys(sorted(self.keys), "work")
        for queue in self.delays:
            kinds[queue] = "delay"
        kinds[self.names.dead_queue] = "dead"
        told = {queue: Depth(fact.ready, fact.consumers) for queue, fact in self.facts.items()}
        found, ours = told | depths(link, [*kinds]), self.ours
        return [self._info(queue, kind, found, ours) for queue, kind in kinds.items() if queue in found]

    def _info(self, queue: str, kind: QueueKind, found: Mapping[str, Depth], ours: Mapping[str, str]) -> QueueInfo:
        fact = self.facts.get(queue)
        return QueueInfo(
            name=queue,
            kind=kind,
            ready=found[queue].ready,
            consumers=found[queue].consumers,
            held=None if fact is None else fact.unacknowledged,
            keys=self.keys.get(queue),
            rate_in=None if fact is None else fact.rate_in,
            rate_out=None if fact is None else fact.rate_out,
            job=ours.get(queue),
        )


def known_queues(
    link: Link, management: Management, names: Names, *, jobs: Sequence[str] = (), closed: Closed | None = None
) -> Known:
    """Find the queues around an exchange. Where the management API is closed: those of `jobs`, and those of functions
    that this program has marked, as far as they exist. `closed`: the API is not asked, for this reason. Raises
    InvalidFunction for a name that is no routing key.
    """
    for job in jobs:
        names.check_job(job, consumes=True)
    if closed is not None:
        return _by_name(link, names, jobs, closed)
    keys: dict[str, list[str]] = defaultdict(list)
    for exchange in (names.exchange, names.own_exchange):
        bindings = management.bindings(exchange)
        if isinstance(bindings, Closed):
            return _by_name(link, names, jobs, bindings)
        for one in bindings:
            if not one.to_exchange and one.destination != names.dead_queue:
                known = keys[one.destination]
                known += [one.key] if exchange == names.exchange else []
    delayed = management.bindings(names.schedule_exchange)
    queues = management.queues()
    if isinstance(delayed, Closed):
        return _by_name(link, names, jobs, delayed)
    if isinstance(queues, Closed):
        return _by_name(link, names, jobs, queues)
    facts = {queue.name: queue for queue in queues}
    steps = (queue.name for queue in ladder(names).queues if queue.name in facts)
    arrivals = sorted(name for name in facts if names.is_arrival_queue(name))
    delays = dict.fromkeys([*steps, *arrivals, *(one.destination for one in delayed if not one.to_exchange)])
    return Known(
        names=names,
        keys={queue: tuple(sorted(found)) for queue, found in keys.items() if queue not in delays},
        delays=tuple(delays),
        facts=facts,
    )


def _by_name(link: Link, names: Names, jobs: Sequence[str], closed: Closed) -> Known:
    queues = [names.queue(job) for job in dict.fromkeys([*jobs, *filter(lambda job: _fits(names, job), plain_names())])]
    return Known(
        names=names, keys=dict.fromkeys(depths(link, queues)), delays=tuple(delay_queues(link, names)), closed=closed
    )


def _fits(names: Names, job: str) -> bool:
    try:
        names.check_job(job, consumes=True)
    except InvalidFunction:
        return False
    return True
