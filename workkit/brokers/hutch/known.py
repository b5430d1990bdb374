"""The queues around an exchange, the number of ready messages in them, and their consumers.

The management API has all of this. Without it, AMQP shows the depth of queues with known names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.broker_facts import Closed, ConsumerFact, QueueFact
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.message import is_looking, listener_of, read_said
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import delays, ladder
from workkit.brokers.hutch.wire.channel import LOCKED, NOT_FOUND
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.contract.inspector import QueueInfo, QueueKind
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import InvalidFunction
from workkit.jobs.marks import plain_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The work queues of an exchange by name, each with the keys that lead to it (None: unknown). `facts`: the answer
    of the management API for each queue; `closed`: why it gives no answer.
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
        """Describe the queues: work queues, delay queues, the dead queue. `ready` and `consumers` are current, except
        for a queue that belongs to another connection alone.
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
    """Find the queues around an exchange. Without the management API: the existing queues of `jobs`, and of functions
    that this program has marked. `closed`: do not ask the API, for this reason. Raises InvalidFunction for a name that
    is no routing key.
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


@dataclass(frozen=True, slots=True)
class Depth:
    """The present state of a queue, as AMQP shows it."""

    ready: int
    consumers: int


def depths(link: Link, queues: Sequence[str], *, until_missing: bool = False) -> dict[str, Depth]:
    """Read the depth of queues. Leave out queues that do not exist, or belong to another connection alone.
    `until_missing`: stop at the first of them, because the broker logs each such question.
    """

    async def ask(wire: Wire) -> dict[str, Depth]:
        found: dict[str, Depth] = {}
        channel = await wire.channel()
        try:
            for queue in queues:
                try:
                    frame = await channel.call("queue_declare", queue, passive=True)
                except ChannelClosedByBroker as error:
                    if error.reply_code not in (NOT_FOUND, LOCKED):
                        raise
                    if until_missing:
                        return found
                    channel = await wire.channel()
                else:
                    found[queue] = Depth(frame.method.message_count, frame.method.consumer_count)
        finally:
            channel.close()
        return found

    return link.run(ask)


def delay_queues(link: Link, names: Names) -> list[str]:
    """Find the queues that delay messages: ours, which are declared from the first one on, and those of both libraries,
    which declare all of them.
    """
    of = [[queue.name for queue in topology.queues] for topology in (ladder(names), delays(names))]
    return [queue for queues in of for queue in depths(link, queues, until_missing=True)]


_LIBRARIES: Final = {"hutch-": "hutch", "ctag-": "event"}  # the prefixes of their consumers' tags
_OTHER: Final = "another program"


def listening(management: Management, known: Known, *, now_ms: int) -> list[ListenerInfo] | Closed:
    """List the consumers of the work queues and the dead queue of an exchange: each listener of ours once, and each
    connection of another program.
    """
    nodes, consumers, channels = management.nodes(), management.consumers(), management.channels()
    if isinstance(nodes, Closed):  # a user who may not see these gets only his own of the others
        return nodes
    if isinstance(consumers, Closed):
        return consumers
    if isinstance(channels, Closed):
        return channels
    queues = {*known.keys, known.names.dead_queue}
    groups: dict[str, list[ConsumerFact]] = defaultdict(list)
    for one in consumers:
        if one.queue in queues and not is_looking(one.tag):
            groups[listener_of(one.tag) or f"{one.connection} {one.channel}"].append(one)
    held = {channel.name: channel.unacknowledged for channel in channels}
    return [_info(found, known, held, now_ms) for found in groups.values()]


def _info(found: Sequence[ConsumerFact], known: Known, held: Mapping[str, int], now_ms: int) -> ListenerInfo:
    first = min(found, key=lambda one: one.tag)
    ours = listener_of(first.tag)
    library = next((name for start, name in _LIBRARIES.items() if first.tag.startswith(start)), _OTHER)
    info = read_said(
        first.arguments if ours else {},
        listener=ours or first.tag,
        schedule=known.names.exchange,
        now_ms=now_ms,
        host=first.host,
        version="workkit" if ours else library,
    )
    served = {known.ours.get(one.queue, one.queue): Serving() for one in found}
    return replace(info, held=sum(held.get(channel, 0) for channel in {one.channel for one in found}), serves=served)
