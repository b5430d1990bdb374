"""Declare a topology on a broker. What other programs share is looked for first, and never changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.topology import Exchange, Queue, Topology
from workkit.brokers.hutch.wire.channel import Channel
from workkit.brokers.hutch.wire.refusal import NOT_FOUND

Open = Callable[[], Awaitable[Channel]]


async def declare(open_channel: Open, topology: Topology, *, known: set[str]) -> None:
    """Declare what is not in `known`, and add it there. Raises what closes a channel, as an object of ours does that
    exists with other arguments.
    """
    channel = await open_channel()
    try:
        for exchange in topology.exchanges:
            if exchange.name not in known and not (exchange.shared and await _exists(open_channel, exchange)):
                await channel.call("exchange_declare", exchange.name, exchange_type="topic", durable=True)
            known.add(exchange.name)
        for queue in topology.queues:
            if queue.name not in known and not (queue.shared and await _exists(open_channel, queue)):
                arguments = dict(queue.arguments) or None
                await channel.call("queue_declare", queue.name, durable=True, arguments=arguments)
            known.add(queue.name)
        for one in topology.bindings:
            bind = "exchange_bind" if one.to_exchange else "queue_bind"
            await channel.call(bind, one.destination, one.source, one.key)
    finally:
        channel.close()


async def _exists(open_channel: Open, wanted: Exchange | Queue) -> bool:
    """Look for an object on a channel of its own, which the broker closes if there is none."""
    channel = await open_channel()
    try:
        method = "exchange_declare" if isinstance(wanted, Exchange) else "queue_declare"
        await channel.call(method, wanted.name, passive=True)
    except ChannelClosedByBroker as error:
        if error.reply_code == NOT_FOUND:
            return False
        raise
    finally:
        channel.close()
    return True
