"""Messages of one queue, held from its head on a channel: to be looked at, or taken out one by one.

RabbitMQ has no way to read a queue without taking from it. So what is held here reaches nobody else meanwhile, and all
of it that is not taken goes back to its place. Normative: spec/layouts/hutch.md, section 10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final
from uuid import uuid4

from pika.exceptions import AMQPError, ChannelClosedByBroker

from workkit.brokers.hutch.message import LOOKING, Message, received
from workkit.brokers.hutch.wire.channel import Channel
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.refusal import NOT_FOUND
from workkit.clocks import time

MOST: Final = 60_000  # messages of one page; AMQP counts to 65,535
MOST_BYTES: Final = 16 << 20  # of the bodies of one page; the last messages may pass it
STEP: Final = 50  # messages that are asked for first, as nobody knows how large they are
PATIENCE: Final = 2.0  # seconds without a message; another program may be the only one that gets them
AGAIN: Final = 0.02  # seconds until it asks again whether more are ready
LAST: Final = -100  # its priority: whoever works on the queue comes first


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that is held, with the channel and the tag by which it is taken."""

    channel: Channel
    tag: int
    message: Message


class Held:
    """The messages of one queue, from its head. For one thread; ends with ``with``, which gives all of them back.

    Each page has a channel of its own, because RabbitMQ looks for an acknowledged message among all that its channel
    holds. `is_quorum`: a quorum queue, which has one page, and one reader at a time. It gives messages back in their
    order only where a channel ends on which a single consumer has got them.
    """

    def __init__(self, link: Link, queue: str, *, is_quorum: bool = False) -> None:
        self._link, self._queue, self._is_quorum = link, queue, is_quorum
        self._channels: list[Channel] = []

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        channels, self._channels = [one for one in self._channels if one.closed is None], []
        if channels and self._is_quorum:
            self._link.run(lambda wire: self._returned(wire, channels))
        elif channels:
            self._link.run(lambda _: _given_back(channels))

    def more(self, most: int) -> list[Message]:
        """Hold further messages: up to `most`, and 16 MB. None at the end of the queue, or without such a queue."""
        return [one.message for one in self.deliveries(most)]

    def deliveries(self, most: int) -> list[Delivery]:
        """Hold further messages: see `more`. Raises ServerUnreachable, ServerRefused; then the broker has
        given back all that was held.
        """
        return self._link.run(lambda wire: self._more(wire, min(most, MOST)))

    def take(self, deliveries: Sequence[Delivery], *, is_head: bool = False) -> None:
        """Take messages out of the queue for good, and wait until the broker has done so. A quorum queue may give back
        those behind the first 30 of one call; but `is_head`, all up to the last one, it takes in one step.
        """

        async def taken(_: Wire) -> None:
            for channel in dict.fromkeys(one.channel for one in deliveries):
                if channel.closed is not None:
                    raise channel.closed
                for one in deliveries[-1:] if is_head else deliveries:
                    if one.channel is channel:
                        channel.raw.basic_ack(one.tag, multiple=is_head)
                await channel.call("basic_qos", prefetch_count=0)  # it is answered after what came before

        if deliveries:
            self._link.run(taken)

    async def _more(self, wire: Wire, most: int) -> list[Delivery]:
        for one in self._channels:
            if one.closed is not None:  # what it held was given back, so the next message may be one of them
                raise one.closed
        channel, queue = await wire.channel(), self._queue
        self._channels.append(channel)
        try:
            if self._is_quorum:
                await _unread(channel, queue)
            wanted = min(most, await _ready(channel, queue))
        except ChannelClosedByBroker as error:
            if error.reply_code != NOT_FOUND:
                raise
            self._channels.remove(channel)
            return []
        if not wanted:
            return []
        found: list[Delivery] = []
        size, step = 0, wanted if self._is_quorum else STEP
        while len(found) < wanted and size < MOST_BYTES:
            step = min(step, wanted - len(found))
            pushed = await _pushed(channel, queue, step)
            found += pushed
            size += sum(len(one.message.body) for one in pushed)
            if len(pushed) < step:  # another program has got the others
                break
            step = min(4 * step, 1 + MOST_BYTES * len(found) // max(1, size))
        return found

    async def _returned(self, wire: Wire, channels: Sequence[Channel]) -> None:
        for channel in channels:
            channel.close()
        look = await wire.channel()
        await _unread(look, self._queue)
        look.close()


async def _pushed(channel: Channel, queue: str, wanted: int) -> list[Delivery]:
    """Have a queue push so many messages, or those that are ready."""
    found: list[Delivery] = []
    pushed, size = asyncio.Event(), 0

    def receive(_: Any, method: Any, properties: Any, body: bytes) -> None:
        nonlocal size
        size += len(body)
        found.append(Delivery(channel, method.delivery_tag, received(method, properties, body)))
        pushed.set()

    await channel.call("basic_qos", prefetch_count=wanted)  # for the consumer that begins now
    tag = f"{LOOKING}{uuid4()}"
    await channel.call("basic_consume", queue, receive, consumer_tag=tag, arguments={"x-priority": LAST})
    until = time.monotonic() + PATIENCE
    while len(found) < wanted and size < MOST_BYTES and time.monotonic() < until:
        pushed.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(pushed.wait(), AGAIN)
            until = time.monotonic() + PATIENCE
            continue
        if not await _ready(channel, queue):
            await channel.call("basic_qos", prefetch_count=wanted)  # it is answered after what was pushed
            break
    await channel.call("basic_cancel", tag)
    return found


async def _ready(channel: Channel, queue: str) -> int:
    frame = await channel.call("queue_declare", queue, passive=True)
    return int(frame.method.message_count)


async def _unread(channel: Channel, queue: str) -> None:
    """Wait until a queue has no consumer. A quorum queue has back what one held in the moment in which it loses it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        frame = await channel.call("queue_declare", queue, passive=True)
        if not frame.method.consumer_count:
            return
        await asyncio.sleep(AGAIN / 4)


async def _given_back(channels: Sequence[Channel]) -> None:
    for channel in channels:
        with suppress(AMQPError):  # the broker gives them back itself where the channel is gone
            channel.raw.basic_nack(0, multiple=True, requeue=True)
    for channel in channels:
        with suppress(AMQPError):
            await channel.call("basic_qos", prefetch_count=0)  # it is answered after what came before
        channel.close()
