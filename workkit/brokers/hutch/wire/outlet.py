"""Publish messages after declaring all objects that they need, and wait until each is confirmed or refused. A confirmed
message is never sent again. Thread-safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import DEAD, Names
from workkit.brokers.hutch.topology import STEPS, arrival, dead, final_key, ladder, main, step_exchange
from workkit.brokers.hutch.wire.channel import UNKNOWN, Publisher, Sending, is_about_message
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.errors import ServerFull, ServerRefused


class Outlet:
    """Publishes to one exchange and the ladder beside it."""

    def __init__(self, link: Link, *, names: Names) -> None:
        self._link, self._names = link, names
        self._steps = {step_exchange(names, step): step for step in range(STEPS)}
        self._is_doubtful = False

    def doubt(self) -> None:
        """Declare all objects again before the next message: one was deleted on the broker."""
        self._is_doubtful = True

    def publish(self, messages: Sequence[Message]) -> list[str | None]:
        """Publish messages, and wait for the answers. Return None for a confirmed message, else why the broker has not
        taken it.
        """
        return self.begin(messages)()

    def begin(self, messages: Sequence[Message]) -> Delivery:
        """Publish messages, and return a waiter for the answers. Raises ServerUnreachable, ServerRefused."""
        highest = max((self._steps.get(message.exchange, -1) for message in messages), default=-1)
        arriving = {final_key(message.headers["CC"][0]) for message in messages if message.exchange in self._steps}

        async def prepare(wire: Wire) -> Publisher:
            try:
                await self._prepare(wire, highest, arriving)
                return await wire.publisher()
            except ChannelClosedByBroker:
                self._is_doubtful = True
                raise

        return Delivery(self._link, messages, prepare=prepare, doubt=self.doubt)

    async def _prepare(self, wire: Wire, highest: int, arriving: Collection[str]) -> None:
        """Declare the exchange, the ladder up to a step (-1: none), and the arrivals through which the keys leave their
        delays.
        """
        if self._is_doubtful:
            wire.known.clear()
            self._is_doubtful = False
        if self._names.exchange not in wire.known:
            await wire.declare(main(self._names))
        if highest >= 0 and step_exchange(self._names, highest) not in wire.known:
            await wire.declare(ladder(self._names, highest=highest))
        for key in arriving:
            if self._names.arrival_queue(key) not in wire.known:
                await wire.declare(arrival(self._names, key))


Prepare = Callable[[Wire], Awaitable[Publisher]]


class Delivery:
    """One request. Creating it starts it. A call waits for the answers: None for a confirmed message, or why the broker
    has not taken it.

    A call may raise ServerUnreachable or ServerRefused. Another call then continues: it waits for confirms that can
    still come, and publishes again the messages of a lost channel. `prepare` gives the channel; `doubt` is called if
    the broker closes it.
    """

    def __init__(self, link: Link, messages: Sequence[Message], *, prepare: Prepare, doubt: Callable[[], None]) -> None:
        self._link, self._messages, self._prepare, self._doubt = link, messages, prepare, doubt
        self._answers: list[str | None] = [UNKNOWN] * len(messages)
        self._sent: list[tuple[Sequence[int], Sending]] = []  # places that wait for confirms, in the I/O thread
        self._tried: set[int] = set()  # places that were sent at least once
        self._wait: Callable[[], None] | None = link.begin(self._go)

    def __call__(self) -> list[str | None]:
        """Wait for the answers."""
        wait, self._wait = self._wait or self._link.begin(self._go), None
        wait()
        return self._answers

    @property
    def confirmed(self) -> frozenset[int]:
        """The places of the messages that the broker has taken."""
        return frozenset(place for place, answer in enumerate(self._answers) if answer is None)

    @property
    def refused(self) -> dict[int, str]:
        """The places of the messages that it has not taken, each with the reason."""
        found = enumerate(self._answers)
        return {place: answer for place, answer in found if answer is not None and answer is not UNKNOWN}

    @property
    def doubtful(self) -> list[int]:
        """The places of the messages that the broker may have taken."""
        return sorted(place for place in self._tried if self._answers[place] is UNKNOWN)

    @property
    def unsent(self) -> set[int]:
        """The places of the messages that were never sent."""
        return set(range(len(self._messages))) - self._tried

    def settle(self, places: Collection[int], *, again: Callable[[Message], Message]) -> None:
        """Count messages as taken. Publish each message that is still doubtful as another message."""
        for place in places:
            self._answers[place] = None
        left = set(self.doubtful)
        self._messages = [again(one) if place in left else one for place, one in enumerate(self._messages)]

    async def _go(self, wire: Wire) -> None:
        """Publish messages that are not on their way, and wait for all answers."""
        self._collect()
        async with wire.order:
            publisher = await self._prepare(wire)
            self._publish(publisher, self._unknown())
        failed = await self._answered()
        if failed is None:
            return
        if is_about_message(failed):
            await self._one_by_one(wire)
            return
        if isinstance(failed, ChannelClosedByBroker):
            self._doubt()
        raise failed

    async def _one_by_one(self, wire: Wire) -> None:
        """Find the messages that make the broker close a channel, because it does not name them. Send each alone on a
        channel of its own.
        """
        publisher: Publisher | None = None
        for place in self._unknown():
            if publisher is None or publisher.closed is not None:
                publisher = await wire.new_publisher()
            self._publish(publisher, [place])
            failed = await self._answered()
            if isinstance(failed, ChannelClosedByBroker) and is_about_message(failed):
                self._answers[place] = str(failed.reply_text)
            elif failed is not None:
                raise failed
        if publisher is not None:
            publisher.close()

    def _unknown(self) -> list[int]:
        """List the places of messages without an answer that are not on their way."""
        waits = {place for places, _ in self._sent for place in places}
        return [place for place, one in enumerate(self._answers) if one is UNKNOWN and place not in waits]

    def _publish(self, publisher: Publisher, places: Sequence[int]) -> None:
        self._sent.append((places, publisher.publish([self._messages[place] for place in places])))
        self._tried.update(places)

    async def _answered(self) -> BaseException | None:
        """Wait for all messages on their way. Return the reason if an answer cannot come any more."""
        try:
            if self._sent:
                await asyncio.wait([sending.done for _, sending in self._sent])
        finally:
            failed = self._collect()
        return failed

    def _collect(self) -> BaseException | None:
        """Store the present answers; return the reason if one of the others cannot come any more."""
        failed: BaseException | None = None
        for places, sending in list(self._sent):
            for place, answer in zip(places, sending.answers, strict=True):
                self._answers[place] = answer
            if sending.done.done():
                self._sent.remove((places, sending))
                failed = failed or sending.done.exception()
        return failed


class Copies:
    """The copies of one listener. `declare` declares all objects that they need, on the connection that consumes."""

    def __init__(self, link: Link, outlet: Outlet, *, names: Names, declare: Callable[[Wire], Awaitable[None]]) -> None:
        self._link, self._outlet, self._names, self._declare = link, outlet, names, declare

    def publish(self, copies: Sequence[Message]) -> None:
        """Publish copies. If one leads nowhere, an operator has deleted an object: declare all again, and publish once
        more. Raises ServerUnreachable, ServerRefused.
        """
        if any(copy.routing_key.startswith(DEAD) for copy in copies):
            self._link.run(self._dead_queue)  # a queue bound by # takes these too: none is returned
        try:
            troubles = self._outlet.publish(copies)
        except ServerRefused as error:
            if error.lasting or isinstance(error, ServerFull):
                raise
            troubles = [error.trouble] * len(copies)  # an exchange is gone; it is unknown which of them it took
        left = [copy for copy, trouble in zip(copies, troubles, strict=True) if trouble is not None]
        if not left:
            return
        self._outlet.doubt()
        self._link.run(self._declare)
        for copy, trouble in zip(left, self._outlet.publish(left), strict=True):
            if trouble is not None:
                what = f"could not be moved to {copy.routing_key} ({trouble})"
                raise ServerRefused.about(f"message {copy.id}", what, "It is kept, and tried again.")

    async def _dead_queue(self, wire: Wire) -> None:
        wire.known.difference_update((self._names.exchange, self._names.dead_queue))
        await wire.declare(dead(self._names))
