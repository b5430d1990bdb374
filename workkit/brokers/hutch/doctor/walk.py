"""The walker reads the state from the management API and the broker itself. It changes nothing.

If the API does not answer, AMQP shows whether the objects exist that follow from the name of the exchange, and whether
they match the spec: the walker declares an existing object once more, which a broker accepts only if nothing differs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.broker_facts import (
    ChannelFact,
    Closed,
    ConsumerFact,
    ExchangeFact,
    NodeFact,
    QueueFact,
)
from workkit.brokers.hutch.doctor.survey import Survey, read_dead
from workkit.brokers.hutch.held import Held
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import STEPS, Exchange, Queue, Topology, dead, delays, ladder, step_exchange
from workkit.brokers.hutch.wire.channel import NOT_FOUND, PRECONDITION, Channel
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.clocks import time
from workkit.errors import ServerRefused

T = TypeVar("T")

MOST_READ: Final = 1000  # messages of the dead queue to read, at most
MOST_COUNTED: Final = 200  # queues to count exactly, at most


def walk(names: Names, *, link: Link, management: Management, reads_dead: bool = True) -> Survey:
    """Read the state once, with the dead queue if `reads_dead`. Raises ServerUnreachable, ServerRefused."""
    version, cluster = link.run(_said)
    made = Survey(names=names, now_ms=round(time.time() * 1000), version=version, vhost=management.vhost)
    told = management.belongs_to(cluster) or _told(made, management)
    made = replace(made, closed=told) if isinstance(told, Closed) else told
    walker = _Walker(link=link, made=made)
    if made.closed is not None:
        walker.tried("exchanges and queues", lambda: link.run(walker.declared))
    walker.tried("counts of queues", lambda: link.run(walker.counted))
    if reads_dead:
        walker.tried("the dead queue", walker.dead)
    return walker.made


def known(names: Names) -> Topology:
    """Describe the objects that may exist and follow from the name of the exchange."""
    return delays(names) + dead(names) + ladder(names)


def _told(made: Survey, management: Management) -> Survey | Closed:
    """Ask the management API."""
    names = made.names
    exchanges, queues = management.exchanges(), management.queues()
    if isinstance(exchanges, Closed):
        return exchanges
    if isinstance(queues, Closed):
        return queues
    wanted = {one.name for one in known(names).exchanges}
    there = {one.name: one for one in exchanges if one.name in wanted}
    bindings = management.bindings(*there)
    if isinstance(bindings, Closed):
        return bindings
    nodes, partly = _or_none(management.nodes())
    consumers, _ = _or_none(management.consumers())
    channels, _ = _or_none(management.channels())
    return replace(
        made,
        exchanges=there,
        queues={one.name: one for one in queues},
        bindings=tuple(bindings),
        consumers=tuple[ConsumerFact, ...](consumers),
        channels=tuple[ChannelFact, ...](channels),
        nodes=tuple[NodeFact, ...](nodes),
        partly=partly,
    )


def _or_none(answer: list[T] | Closed) -> tuple[list[T], Closed | None]:
    return ([], answer) if isinstance(answer, Closed) else (answer, None)


async def _said(wire: Wire) -> tuple[str, str]:
    return wire.version, wire.cluster


@dataclass(slots=True, kw_only=True)
class _Walker:
    """The state as AMQP shows it. `declared` and `counted` are for the thread of the connection, the rest for any other
    thread.
    """

    link: Link
    made: Survey
    exchanges: dict[str, ExchangeFact] = field(default_factory=dict)
    queues: dict[str, QueueFact] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def tried(self, what: str, look: Callable[[], None]) -> None:
        """Call `look`; record an object that this user may not read."""
        try:
            look()
        except ServerRefused as error:
            if not isinstance(error.__cause__, ChannelClosedByBroker):
                raise
            self.made = replace(self.made, unread={**self.made.unread, what: str(error.__cause__.reply_text)})

    async def declared(self, wire: Wire) -> None:
        """Look for the objects with known names."""
        names = self.made.names
        topology = delays(names) + dead(names)
        steps = 0
        while steps < STEPS and await self._exists(wire, Exchange(step_exchange(names, steps))):
            steps += 1
        topology += ladder(names, highest=steps - 1) if steps else Topology()
        for exchange in topology.exchanges:
            if await self._exists(wire, exchange) and await self._is_same(wire, exchange):
                self.exchanges[exchange.name] = ExchangeFact(name=exchange.name, type="topic", durable=True)
        for queue in topology.queues:
            if await self._exists(wire, queue) and await self._is_same(wire, queue):
                self.queues[queue.name] = QueueFact(name=queue.name, durable=True, arguments=dict(queue.arguments))
        self.made = replace(self.made, exchanges=self.exchanges, queues=self.queues, refused=self.refused)

    async def counted(self, wire: Wire) -> None:
        """Ask for the exact counts of queues without consumers: the API shows them some seconds late."""
        unconsumed = [queue.name for queue in self.made.work if not (queue.consumers or queue.exclusive)]
        queues, channel = dict(self.made.queues), await wire.channel()
        for name in (self.made.names.dead_queue, *unconsumed[:MOST_COUNTED]):
            if name not in queues:
                continue
            try:
                frame = await channel.call("queue_declare", name, passive=True)
            except ChannelClosedByBroker:  # it is gone, or this user may not read it: the API's counts are used
                channel = await wire.channel()
                continue
            method = frame.method
            queues[name] = replace(queues[name], ready=method.message_count, consumers=method.consumer_count)
        channel.close()
        self.made = replace(self.made, queues=queues)

    def dead(self) -> None:
        """Read the first messages of the dead queue, and return them to their places."""
        with Held(self.link, self.made.names.dead_queue) as held:
            dead = tuple(map(read_dead, held.more(MOST_READ)))
        self.made = replace(self.made, dead=dead)

    async def _exists(self, wire: Wire, wanted: Exchange | Queue) -> bool:
        return await self._passive(wire, wanted) is not None

    async def _passive(self, wire: Wire, wanted: Exchange | Queue) -> Any:
        """Look for an object; None: it does not exist."""
        method = "exchange_declare" if isinstance(wanted, Exchange) else "queue_declare"
        return await _tried(wire, lambda channel: channel.call(method, wanted.name, passive=True), NOT_FOUND)

    async def _is_same(self, wire: Wire, wanted: Exchange | Queue) -> bool:
        """Declare an existing object once more; record the broker's text if it differs."""

        def declare(channel: Channel) -> Awaitable[Any]:
            if isinstance(wanted, Exchange):
                return channel.call("exchange_declare", wanted.name, exchange_type="topic", durable=True)
            return channel.call("queue_declare", wanted.name, durable=True, arguments=dict(wanted.arguments) or None)

        channel = await wire.channel()
        try:
            await declare(channel)
        except ChannelClosedByBroker as error:
            if error.reply_code != PRECONDITION:
                raise
            self.refused[wanted.name] = str(error.reply_text)
            return False
        finally:
            channel.close()
        return True


async def _tried(wire: Wire, call: Callable[[Channel], Awaitable[Any]], code: int) -> Any:
    """Call on a channel of its own; None if the broker closes it with this code."""
    channel = await wire.channel()
    try:
        return await call(channel)
    except ChannelClosedByBroker as error:
        if error.reply_code == code:
            return None
        raise
    finally:
        channel.close()
