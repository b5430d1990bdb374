"""Messages on their way to the broker, until each is confirmed or refused. What is confirmed is never sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.wire.channel import UNKNOWN, Publisher, Sending
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.refusal import is_about_message

Prepare = Callable[[Wire], Awaitable[Publisher]]


class Delivery:
    """One request. It begins when it is made. A call waits for the answers: None for a message that is confirmed, or
    why the broker has not taken it.

    A call may raise ServerUnreachable or ServerRefused. Another one then continues: it waits for messages whose
    confirms can still come, and publishes again those whose channel is lost. `prepare` gives the channel; `doubt` is
    called where the broker closes it.
    """

    def __init__(self, link: Link, messages: Sequence[Message], *, prepare: Prepare, doubt: Callable[[], None]) -> None:
        self._link, self._messages, self._prepare, self._doubt = link, messages, prepare, doubt
        self._answers: list[str | None] = [UNKNOWN] * len(messages)
        self._sent: list[tuple[Sequence[int], Sending]] = []  # places that wait for confirms, in the I/O thread
        self._tried: set[int] = set()  # what was sent at least once
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
        """Count messages as taken. What is still doubtful is published as another message."""
        for place in places:
            self._answers[place] = None
        left = set(self.doubtful)
        self._messages = [again(one) if place in left else one for place, one in enumerate(self._messages)]

    @property
    def is_unanswered(self) -> bool:
        """Whether the broker may have taken a message, or may still take it, of which it has said nothing."""
        return bool(self.doubtful)

    async def _go(self, wire: Wire) -> None:
        """Publish what is not on its way, and wait until all is known."""
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
        """Find the messages because of which the broker closes a channel, as it names none. Each is alone on a channel
        that nobody else uses.
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
        """List the places of what is neither answered nor on its way."""
        waits = {place for places, _ in self._sent for place in places}
        return [place for place, one in enumerate(self._answers) if one is UNKNOWN and place not in waits]

    def _publish(self, publisher: Publisher, places: Sequence[int]) -> None:
        self._sent.append((places, publisher.publish([self._messages[place] for place in places])))
        self._tried.update(places)

    async def _answered(self) -> BaseException | None:
        """Wait for all that is on its way. Return why an answer cannot come any more."""
        try:
            if self._sent:
                await asyncio.wait([sending.done for _, sending in self._sent])
        finally:
            failed = self._collect()
        return failed

    def _collect(self) -> BaseException | None:
        """Keep the answers that are there; return why one of the others cannot come any more."""
        failed: BaseException | None = None
        for places, sending in list(self._sent):
            for place, answer in zip(places, sending.answers, strict=True):
                self._answers[place] = answer
            if sending.done.done():
                self._sent.remove((places, sending))
                failed = failed or sending.done.exception()
        return failed
