"""Messages of one queue, held from its head on a channel, to be read or taken out one by one. Used for dead messages,
for delayed messages of ours, and for work queues, which hold due messages.

RabbitMQ can only show a queue to a consumer that takes its messages. So nobody else gets the messages that are held
here, and all of them that are not taken return to their places. Delays are quorum queues, which keep the rest of the
time of a message that is given back; they are read from the highest step down, as messages move. Normative:
spec/layouts/hutch.md, section 10.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from types import TracebackType
from typing import Any, Final
from uuid import uuid4

from pika.exceptions import AMQPError, ChannelClosedByBroker

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.codec import DeadMessage, numbered
from workkit.brokers.hutch.known import depths
from workkit.brokers.hutch.message import ERROR, LOOKING, Message, read_body, received, text, whole
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import STEPS, ladder
from workkit.brokers.hutch.wire.channel import LOCKED, NOT_FOUND, Channel
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.clocks import time
from workkit.errors import CorruptRecord, ServerError, ServerRefused
from workkit.jobs.job import Job, JobState

MOST: Final = 60_000  # messages of one page; AMQP counts to 65,535
MOST_BYTES: Final = 16 << 20  # bytes of the bodies of one page; the last messages may exceed it
STEP: Final = 50  # messages of the first request, because their size is unknown
PATIENCE: Final = 2.0  # seconds without a message; another program may be getting all of them
AGAIN: Final = 0.02  # seconds until it asks again whether more are ready
LAST: Final = -100  # its priority: consumers that work on the queue come first


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that is held, with the channel and the tag to take it."""

    channel: Channel
    tag: int
    message: Message


class Held:
    """The messages of one queue, from its head. For one thread; the end of ``with`` gives all of them back.

    Each page has a channel of its own, because RabbitMQ searches an acknowledged message among all messages that its
    channel holds. `is_quorum`: a quorum queue, which has one page, and one reader at a time. It gives messages back in
    their order only if the channel ends and had a single consumer.
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
        """Hold further messages: up to `most`, and 16 MB. Returns none at the end of the queue, or if it does not
        exist.
        """
        return [one.message for one in self.deliveries(most)]

    def deliveries(self, most: int) -> list[Delivery]:
        """Hold further messages: see `more`. Raises ServerUnreachable, ServerRefused; then the broker has given back
        all held messages.
        """
        return self._link.run(lambda wire: self._more(wire, min(most, MOST)))

    def take(self, deliveries: Sequence[Delivery], *, is_head: bool = False) -> None:
        """Take messages out of the queue for good, and wait until the broker has done so. A quorum queue may give back
        the messages behind the first 30 of one call; with `is_head` it takes all up to the last one in one step.
        """

        async def taken(_: Wire) -> None:
            for channel in dict.fromkeys(one.channel for one in deliveries):
                if channel.closed is not None:
                    raise channel.closed
                for one in deliveries[-1:] if is_head else deliveries:
                    if one.channel is channel:
                        channel.raw.basic_ack(one.tag, multiple=is_head)
                await channel.call("basic_qos", prefetch_count=0)  # the broker answers it after the earlier calls

        if deliveries:
            self._link.run(taken)

    async def _more(self, wire: Wire, most: int) -> list[Delivery]:
        for one in self._channels:
            if one.closed is not None:  # its messages were given back, so the next message may be one of them
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
    """Make a queue push `wanted` messages, or as many as are ready."""
    found: list[Delivery] = []
    pushed, size = asyncio.Event(), 0

    def receive(_: Any, method: Any, properties: Any, body: bytes) -> None:
        nonlocal size
        size += len(body)
        found.append(Delivery(channel, method.delivery_tag, received(method, properties, body)))
        pushed.set()

    await channel.call("basic_qos", prefetch_count=wanted)  # applies to the consumer that begins now
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
            await channel.call("basic_qos", prefetch_count=wanted)  # the broker answers it after the pushed messages
            break
    await channel.call("basic_cancel", tag)
    return found


async def _ready(channel: Channel, queue: str) -> int:
    frame = await channel.call("queue_declare", queue, passive=True)
    return int(frame.method.message_count)


async def _unread(channel: Channel, queue: str) -> None:
    """Wait until a queue has no consumer. A quorum queue has all messages of a consumer back when it loses it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        frame = await channel.call("queue_declare", queue, passive=True)
        if not frame.method.consumer_count:
            return
        await asyncio.sleep(AGAIN / 4)


async def _given_back(channels: Sequence[Channel]) -> None:
    for channel in channels:
        with suppress(AMQPError):  # the broker gives them back itself if the channel is gone
            channel.raw.basic_nack(0, multiple=True, requeue=True)
    for channel in channels:
        with suppress(AMQPError):
            await channel.call("basic_qos", prefetch_count=0)  # the broker answers it after the earlier calls
        channel.close()


FIRST: Final = 500  # messages of the first reading
DEAD_PAGE: Final = 2000  # messages of one request
GROWTH: Final = 4  # factor by which each reading is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadQueue:
    """The dead queue of one exchange."""

    link: Link
    names: Names

    def messages(self) -> Iterator[DeadMessage]:
        """Page through the dead messages, oldest first.

        Holds no message while the caller looks at a page. So each reading begins at the head again, and goes four times
        as far as the one before. It may miss messages that come or go meanwhile.
        """
        shown: set[str] = set()
        most, most_bytes = FIRST, MOST_BYTES
        while True:
            fresh, is_all = self._first(most, most_bytes, shown)
            shown.update(one.mark for one in fresh)
            yield from fresh
            if is_all:
                return
            most, most_bytes = most * GROWTH, most_bytes * GROWTH

    def _first(self, most: int, most_bytes: int, shown: set[str]) -> tuple[list[DeadMessage], bool]:
        """Read up to `most` messages, and give them back; return those not shown before, and whether there are no
        more.
        """
        found: list[DeadMessage] = []
        seen: Counter[str] = Counter()
        count = size = 0
        with Held(self.link, self.names.dead_queue) as held:
            while count < most and size < most_bytes:
                page = held.more(min(DEAD_PAGE, most - count))
                if not page:
                    return found, True
                count, size = count + len(page), size + sum(len(message.body) for message in page)
                found += (one for one in numbered(page, seen) if one.mark not in shown)
        return found, False


MOST_LOOKS: Final = 16
"""How often a message is given back, at most. RabbitMQ 4 moves a message on after 20 returns, long before its time."""
OTHERS: Final = 5.0  # seconds for another program to end its look
AGAIN_ALONE: Final = 0.2  # seconds until the next try


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """The delayed messages of one exchange that workkit has published."""

    link: Link
    outlet: Outlet
    names: Names

    def jobs(self) -> list[Job]:
        """List them as jobs, soonest first, with retries. Equal additions of one id are one job."""
        found: dict[tuple[str, str | None], Job] = {}

        def seen(message: Message) -> bool:
            job = shown_job(message, schedule=self.names.exchange, state="waiting", queue=message.queue)
            found[message.id, message.queue] = job
            return False

        self.take(seen)
        return sorted(found.values(), key=lambda job: job.due.timestamp() if job.due else 0.0)

    def take(self, is_meant: Callable[[Message], bool]) -> list[Message]:
        """Call `is_meant` with each message, take out those for which it returns True, and return them. All others go
        back with the rest of their time. A message that moves meanwhile may be shown twice, or not at all. Of more than
        30 matching messages some may come back: call it until it returns none.
        """
        taken: list[Message] = []
        steps = [queue.name for queue in ladder(self.names).queues[:STEPS]]
        with self._alone():
            for queue in reversed(depths(self.link, steps, until_missing=True)):
                with Held(self.link, queue, is_quorum=True) as held:
                    page = held.deliveries(MOST)
                    if found := [one for one in page if is_meant(one.message)]:
                        held.take(found)
                        taken += [one.message for one in found]
                    else:
                        self._renew(held, page)
        return taken

    def _renew(self, held: Held, page: Sequence[Delivery]) -> None:
        """Replace messages that were given back often by copies, which are confirmed before the messages are taken out:
        all from the head of the queue on, because every look begins there.
        """
        counts = [whole(one.message.headers.get("x-delivery-count")) or 0 for one in page]
        old = page[: max((n for n, count in enumerate(counts, 1) if count >= MOST_LOOKS), default=0)]
        if not old:
            return
        now_ms = round(time.time() * 1000)
        copies = [compose.delayed_again(self.names, one.message, now_ms=now_ms) for one in old]
        troubles = self.outlet.publish(copies)
        done = list(takewhile(lambda pair: pair[1] is None, zip(old, troubles, strict=True)))
        held.take([one for one, _ in done], is_head=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other readers out meanwhile: if two give messages back at once, one changes the order. A queue that
        belongs to this connection is the lock, and disappears with the connection. Raises ServerRefused.
        """
        name = f"{self.names.exchange}_workkit_delay_reader"
        with self.link.alone:
            self.link.run(lambda wire: _locked(wire, name))
            try:
                yield
            finally:
                with suppress(ServerError):
                    self.link.run(lambda wire: _unlocked(wire, name))


async def _locked(wire: Wire, name: str) -> None:
    until = time.monotonic() + OTHERS
    while True:
        channel = await wire.channel()
        try:
            await channel.call("queue_declare", name, exclusive=True)
            return
        except ChannelClosedByBroker as error:
            if error.reply_code != LOCKED:
                raise
            if time.monotonic() > until:
                trouble = "are looked at by another program"
                raise ServerRefused.about("delayed messages", trouble, "Try again.") from error
        finally:
            channel.close()
        await asyncio.sleep(AGAIN_ALONE)


async def _unlocked(wire: Wire, name: str) -> None:
    channel = await wire.channel()
    await channel.call("queue_delete", name)
    channel.close()


MOST_DUE: Final = 100  # messages of each queue; listeners do not get them while they are held


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMessages:
    """The due messages of one exchange."""

    link: Link
    schedule: str

    def jobs(self, queues: Iterable[str]) -> Iterator[Job]:
        """Read the first messages of these queues, soonest first."""
        found = [
            shown_job(message, schedule=self.schedule, state="due", queue=queue)
            for queue in queues
            for message in self._head(queue)
        ]
        yield from sorted(found, key=lambda job: job.due.timestamp() if job.due else 0.0)

    def _head(self, queue: str) -> list[Message]:
        with Held(self.link, queue) as held:
            return held.more(MOST_DUE)


def shown_job(message: Message, *, schedule: str, state: JobState, queue: str | None) -> Job:
    """Show a message as a Job. Never raises: unreadable parts are left out."""
    args: tuple[object, ...] = ()
    error = text(message.headers.get(ERROR)) if message.is_private else ""
    try:
        args = (read_body(message.body, "event"),)  # any JSON, because it is shown and does not run
    except CorruptRecord as unread:
        error = error or str(unread)
    due_ms = message.due_ms
    return Job(
        id=message.id,
        schedule=schedule,
        fn=message.key,
        args=args,
        due=None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC),
        state=state,
        attempt=message.attempt,
        error=error or None,
        queue=queue,
        options=message.options,
    )
