"""Publish messages with everything that they need declared before. Thread-safe."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.ladder import STEPS, arrival, final_key, ladder, step_exchange
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import main
from workkit.brokers.hutch.wire.channel import Publisher
from workkit.brokers.hutch.wire.delivery import Delivery
from workkit.brokers.hutch.wire.link import Link, Wire


class Outlet:
    """Publishes to one exchange and the ladder beside it."""

    def __init__(self, link: Link, *, names: Names) -> None:
        self._link, self._names = link, names
        self._steps = {step_exchange(names, step): step for step in range(STEPS)}
        self._is_doubtful = False

    def doubt(self) -> None:
        """Declare all again before the next message: something was deleted on the broker."""
        self._is_doubtful = True

    def publish(self, messages: Sequence[Message]) -> list[str | None]:
        """Publish, and wait until each is confirmed: None, or why the broker has not taken it."""
        return self.begin(messages)()

    def begin(self, messages: Sequence[Message]) -> Delivery:
        """Publish, and return what waits for the answers. Raises ServerUnreachable, ServerRefused."""
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
        """Declare the exchange, the ladder up to a step (-1: none), and what leads the keys out of their delays."""
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
