"""A channel whose calls can be awaited, and one that publishes with confirms. For the thread of the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pika import BasicProperties
from pika.exceptions import AMQPError

from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.unanswered import Unanswered


class Channel:
    """One channel. When it is closed, whatever waits for it raises what closed it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.raw: Any = None  # the client's, once it is open
        self.closed: BaseException | None = None
        self.unanswered = Unanswered()  # what was delivered by it
        self._waiting: set[asyncio.Future[Any]] = set()

    async def open(self) -> None:
        """Open it on the connection."""
        opened = self.future()
        self.raw = self._connection.channel(on_open_callback=lambda _: _finish(opened, None))
        self.raw.add_on_close_callback(lambda _, reason: self.fail(reason))
        await opened

    async def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the client's channel, and wait for the broker's answer."""
        if self.closed is not None:
            raise self.closed
        answer = self.future()
        try:
            getattr(self.raw, method)(*args, callback=lambda frame: _finish(answer, frame), **kwargs)
        except BaseException:
            answer.cancel()
            raise
        return await answer

    def future(self) -> asyncio.Future[Any]:
        """Make something to wait for, which fails when the channel is closed."""
        made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.closed is not None:
            made.set_exception(self.closed)
            return made
        self._waiting.add(made)
        made.add_done_callback(self._waiting.discard)
        return made

    def fail(self, reason: BaseException) -> None:
        """End all that waits: the channel or its connection is closed."""
        if self.closed is None:
            self.closed = reason
        for future in self._waiting.copy():
            if not future.done():
                future.set_exception(reason)

    def acknowledge(self, tags: Collection[int]) -> None:
        """Acknowledge deliveries. A channel that is closed needs nothing: the broker delivers them again."""
        for tag, stands_for_all in self.unanswered.acknowledged(tags):
            if self._is_open:
                with suppress(AMQPError):  # it is closed meanwhile
                    self.raw.basic_ack(tag, multiple=stands_for_all)

    def give_back(self, tag: int) -> None:
        """Have the broker deliver a message again. A channel that is closed needs nothing."""
        self.unanswered.drop(tag)
        if self._is_open:
            with suppress(AMQPError):
                self.raw.basic_nack(tag, requeue=True)

    @property
    def _is_open(self) -> bool:
        return self.closed is None and self.raw is not None and bool(self.raw.is_open)

    def close(self) -> None:
        """Close it, if it is open."""
        if self._is_open:
            self.raw.close()


@dataclass(slots=True, eq=False)
class _Batch:
    """Messages that were published together. One future for all costs less than one for each."""

    troubles: list[str | None]
    left: int
    answer: asyncio.Future[list[str | None]]
    error: AMQPError | None = None

    def done(self, place: int, trouble: str | None) -> None:
        self.troubles[place] = trouble
        self.left -= 1
        if self.left == 0 and not self.answer.done():
            if self.error is not None:
                self.answer.set_exception(self.error)
            else:
                self.answer.set_result(self.troubles)


@dataclass(slots=True, eq=False)
class _Sent:
    message: Message
    batch: _Batch
    place: int
    returned: str | None = None


class Publisher(Channel):
    """A channel in confirm mode; every message is mandatory."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._sent: dict[int, _Sent] = {}  # by delivery tag, in order
        self._last = 0

    async def open(self) -> None:
        """Open it, and have the broker confirm."""
        await super().open()
        self.raw.add_on_return_callback(self._returned)
        await self.call("confirm_delivery", self._confirmed)

    def publish(self, messages: Sequence[Message]) -> Awaitable[list[str | None]]:
        """Publish messages now; to be awaited until each is confirmed: None, or why the broker has not taken it."""
        answer = self.future()
        if not messages and not answer.done():
            answer.set_result([])
        if answer.done():
            return answer
        batch = _Batch([None] * len(messages), len(messages), answer)
        for place, message in enumerate(messages):
            properties = BasicProperties(**message.properties, headers=dict(message.headers) or None)
            try:
                self.raw.basic_publish(message.exchange, message.routing_key, message.body, properties, mandatory=True)
            except AMQPError as error:
                batch.error = batch.error or error
                batch.done(place, None)
            else:
                self._last += 1
                self._sent[self._last] = _Sent(message, batch, place)
        return answer

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            last = method.delivery_tag or self._last
            tags = list(takewhile(lambda tag: tag <= last, self._sent))
        trouble = None if type(method).NAME == "Basic.Ack" else "was not accepted"
        for tag in tags:
            if sent := self._sent.pop(tag, None):
                sent.batch.done(sent.place, trouble or sent.returned)

    def _returned(self, _: Any, method: Any, properties: Any, __: bytes) -> None:
        """Note which message the broker has returned: the first one with this place and id that waits."""
        for sent in self._sent.values():
            message = sent.message
            place = message.exchange, message.routing_key, message.properties.get("message_id")
            if sent.returned is None and place == (method.exchange, method.routing_key, properties.message_id):
                sent.returned = str(method.reply_text)
                return


def _finish(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)
