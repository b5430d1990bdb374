"""How many messages are ready in queues whose names are known, and how many consumers they have: what AMQP tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.ladder import ladder
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import delays
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.refusal import LOCKED, NOT_FOUND


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue as AMQP shows it, at this moment."""

    ready: int
    consumers: int


def depths(link: Link, queues: Sequence[str], *, until_missing: bool = False) -> dict[str, Depth]:
    """Ask about queues; those that do not exist, or belong to another connection alone, are left out. `until_missing`:
    end at the first of them, because the broker logs each such question.
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
    """Find the queues in which messages are delayed: ours, which are declared from the first one on, and those of both
    libraries, which declare all of them.
    """
    of = [[queue.name for queue in topology.queues] for topology in (ladder(names), delays(names))]
    return [queue for queues in of for queue in depths(link, queues, until_missing=True)]
