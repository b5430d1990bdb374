"""A channel whose calls can be awaited, and one that publishes with confirms. For the thread of the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pika import BasicProperties
from pika.exceptions import AMQPError

from workkit.brokers.hutch.message import Message

NO_ROUTE, NOT_ACCEPTED = "NO_ROUTE", "was not accepted"  # answers to a message: the broker's word, and ours


class Channel:
    """One channel. When it is closed, whatever waits for it raises what closed it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.raw: Any = None  # the client's, once it is open
        self.closed: BaseException | None = None
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

    def close(self) -> None:
        """Close it, if it is open."""
        if self.closed is None and self.raw is not None and self.raw.is_open:
            self.raw.close()


@dataclass(slots=True, eq=False)
class _Sent:
    message: Message
    answer: asyncio.Future[Any]
    returned: str | None = None


class Publisher(Channel):
    """A channel in confirm mode; every message is mandatory."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._sent: dict[int, _Sent] = {}
        self._last = 0

    async def open(self) -> None:
        """Open it, and have the broker confirm."""
        await super().open()
        self.raw.add_on_return_callback(self._returned)
        await self.call("confirm_delivery", self._confirmed)

    def publish(self, messages: Sequence[Message]) -> list[asyncio.Future[Any]]:
        """Publish messages now, and return what to wait for: each answer is None once the message is confirmed, or why
        the broker has not taken it.
        """
        answers = []
        for message in messages:
            answer = self.future()
            answer.add_done_callback(_noted)
            if self.closed is None:
                properties = BasicProperties(**message.properties, headers=dict(message.headers) or None)
                try:
                    self.raw.basic_publish(
                        message.exchange, message.routing_key, message.body, properties, mandatory=True
                    )
                except AMQPError as error:
                    _fail(answer, error)
                else:
                    self._last += 1
                    self._sent[self._last] = _Sent(message, answer)
            answers.append(answer)
        return answers

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            tags = [tag for tag in self._sent if tag <= method.delivery_tag] if method.delivery_tag else [*self._sent]
        trouble = None if type(method).NAME == "Basic.Ack" else NOT_ACCEPTED
        for tag in tags:
            if sent := self._sent.pop(tag, None):
                _finish(sent.answer, trouble or sent.returned)

    def _returned(self, _: Any, method: Any, properties: Any, __: bytes) -> None:
        """Note which message the broker has returned: the first one with this place and id that waits."""
        for sent in self._sent.values():
            message = sent.message
            place = message.exchange, message.routing_key, message.properties.get("message_id")
            if sent.returned is None and place == (method.exchange, method.routing_key, properties.message_id):
                sent.returned = str(method.reply_text)
                return


def _noted(answer: asyncio.Future[Any]) -> None:
    """Look at how an answer ended, so that a failure for which nobody waits any more is not logged."""
    if not answer.cancelled():
        answer.exception()


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _finish(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)
