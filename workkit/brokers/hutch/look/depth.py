"""How many messages are ready in queues whose names are known, and how many consumers they have: what AMQP tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.ladder import ladder
from workkit.brokers.hutch.link import Link, Wire
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.refusal import NOT_FOUND
from workkit.brokers.hutch.topology import delays


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue as AMQP shows it, at this moment."""

    ready: int
    consumers: int


def depths(link: Link, queues: Sequence[str]) -> dict[str, Depth]:
    """Ask about queues; those that do not exist are left out."""

    async def ask(wire: Wire) -> dict[str, Depth]:
        found = {}
        channel = await wire.channel()
        try:
            for queue in queues:
                try:
                    frame = await channel.call("queue_declare", queue, passive=True)
                except ChannelClosedByBroker as error:
                    if error.reply_code != NOT_FOUND:
                        raise
                    channel = await wire.channel()
                else:
                    found[queue] = Depth(frame.method.message_count, frame.method.consumer_count)
        finally:
            channel.close()
        return found

    return link.run(ask)


def delay_queues(names: Names) -> list[str]:
    """Name the queues in which messages are delayed: ours, then those of both libraries."""
    return [queue.name for topology in (ladder(names), delays(names)) for queue in topology.queues]
