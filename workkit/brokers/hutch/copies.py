"""Publish the copies that endings ask for, so that each is confirmed before its message is acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import DEAD, Names
from workkit.brokers.hutch.topology import dead
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.errors import ServerFull, ServerRefused


class Copies:
    """The copies of one listener. `declare` declares all that they need, on the connection that consumes."""

    def __init__(self, link: Link, outlet: Outlet, *, names: Names, declare: Callable[[Wire], Awaitable[None]]) -> None:
        self._link, self._outlet, self._names, self._declare = link, outlet, names, declare

    def publish(self, copies: Sequence[Message]) -> None:
        """Publish copies. If one leads nowhere, an operator has deleted what leads there: declare all again, and
        publish once more. Raises ServerUnreachable, ServerRefused.
        """
        if any(copy.routing_key.startswith(DEAD) for copy in copies):
            self._link.run(self._dead_queue)  # a queue bound by # takes these too, so the broker returns none
        try:
            troubles = self._outlet.publish(copies)
        except ServerRefused as error:
            if error.lasting or isinstance(error, ServerFull):
                raise
            troubles = [error.trouble] * len(copies)  # an exchange is gone; which of them it took nobody knows
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
