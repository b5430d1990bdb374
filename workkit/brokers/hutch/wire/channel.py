"""A channel with awaitable calls, its unanswered deliveries, and a channel that publishes with confirms. For the thread
of the connection. Also the errors of the client library as errors of ours: the broker cannot be reached, or it refuses.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from pika import BasicProperties, exceptions
from pika.exceptions import AMQPError

from workkit.brokers.hutch.message import Message
from workkit.errors import ServerError, ServerFull, ServerRefused, ServerUnreachable, text_of

NO_ROUTE, NOT_ACCEPTED = "NO_ROUTE", "was not accepted"  # answers to a message: the broker's word, and ours
UNKNOWN: Final = "no answer yet"


class Channel:
    """One channel. When it is closed, all waiters raise the reason."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.raw: Any = None  # the client library's channel, once it is open
        self.closed: BaseException | None = None
        self.unanswered = Unanswered()  # its deliveries without an acknowledgement
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
        """Make a future that fails when the channel is closed."""
        made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.closed is not None:
            made.set_exception(self.closed)
            return made
        self._waiting.add(made)
        made.add_done_callback(self._waiting.discard)
        return made

    def fail(self, reason: BaseException) -> None:
        """Fail all waiters: the channel or its connection is closed."""
        if self.closed is None:
            self.closed = reason
        for future in self._waiting.copy():
            if not future.done():
                future.set_exception(reason)

    def acknowledge(self, tags: Collection[int]) -> None:
        """Acknowledge deliveries. A closed channel needs nothing: the broker delivers them again."""
        for tag, stands_for_all in self.unanswered.acknowledged(tags):
            if self._is_open:
                with suppress(AMQPError):  # the channel has closed meanwhile
                    self.raw.basic_ack(tag, multiple=stands_for_all)

    def give_back(self, tag: int) -> None:
        """Make the broker deliver a message again. A closed channel needs nothing."""
        self.unanswered.drop(tag)
        if self._is_open:
            with suppress(AMQPError):
                self.raw.basic_nack(tag, requeue=True)

    @property
    def _is_open(self) -> bool:
        return self.closed is None and self.raw is not None and bool(self.raw.is_open)

    def close(self) -> None:
        """Close the channel if it is open."""
        if self._is_open:
            self.raw.close()


class Unanswered:
    """Delivery tags of one channel in the order of the broker. One acknowledgement may cover all tags before it."""

    def __init__(self) -> None:
        self._tags: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._tags)

    def add(self, tag: int) -> None:
        """Note a delivery."""
        self._tags[tag] = None

    def drop(self, tag: int) -> None:
        """Forget a delivery that is given back."""
        self._tags.pop(tag, None)

    def acknowledged(self, tags: Collection[int]) -> Iterator[tuple[int, bool]]:
        """Forget these deliveries. Yield a tag for each acknowledgement, and whether it covers all before it."""
        asked = dict.fromkeys(tags)
        last = 0
        for tag in self._tags:
            if tag not in asked:
                break
            last = tag
        for tag in [tag for tag in asked if tag <= last]:
            del asked[tag], self._tags[tag]
        if last:
            yield last, True
        for tag in asked:
            self.drop(tag)
            yield tag, False


@dataclass(slots=True, eq=False)
class Sending:
    """Messages that were published together. `answers` has one entry for each: None once the broker has confirmed it,
    the broker's reason if it refused it, or UNKNOWN. `done` completes with the last answer, or raises the reason why no
    answer can come. One future for all messages costs less than one for each.
    """

    answers: list[str | None]
    done: asyncio.Future[None]
    left: int
    error: AMQPError | None = None

    def answer(self, place: int, trouble: str | None) -> None:
        """Store the answer to one message."""
        self.answers[place] = trouble
        self.end_one()

    def end_one(self) -> None:
        """Count down the messages without an answer. After the last one, complete `done`."""
        self.left -= 1
        if self.left <= 0 and not self.done.done():
            if self.error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(self.error)


@dataclass(slots=True, eq=False)
class _Sent:
    message: Message
    sending: Sending
    place: int
    returned: str | None = None


class Publisher(Channel):
    """A channel in confirm mode; every message is mandatory."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._sent: dict[int, _Sent] = {}  # by delivery tag, in order
        self._last = 0

    async def open(self) -> None:
        """Open it, and switch confirms on."""
        await super().open()
        self.raw.add_on_return_callback(self._returned)
        await self.call("confirm_delivery", self._confirmed)

    def publish(self, messages: Sequence[Message]) -> Sending:
        """Publish messages now, and return their `Sending`."""
        sending = Sending([UNKNOWN] * len(messages), self.future(), len(messages))
        sending.done.add_done_callback(_noted)
        if not messages:
            sending.end_one()
        if self.closed is not None:
            return sending
        for place, message in enumerate(messages):
            properties = BasicProperties(**message.properties, headers=dict(message.headers) or None)
            try:
                self.raw.basic_publish(message.exchange, message.routing_key, message.body, properties, mandatory=True)
            except AMQPError as error:
                sending.error = sending.error or error
                sending.end_one()
            else:
                self._last += 1
                self._sent[self._last] = _Sent(message, sending, place)
        return sending

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            last = method.delivery_tag or self._last
            tags = list(takewhile(lambda tag: tag <= last, self._sent))
        trouble = None if type(method).NAME == "Basic.Ack" else NOT_ACCEPTED
        for tag in tags:
            if sent := self._sent.pop(tag, None):
                sent.sending.answer(sent.place, trouble or sent.returned)

    def _returned(self, _: Any, method: Any, properties: Any, __: bytes) -> None:
        """Record which message the broker has returned: the first waiting one with this place and id."""
        for sent in self._sent.values():
            message = sent.message
            place = message.exchange, message.routing_key, message.properties.get("message_id")
            if sent.returned is None and place == (method.exchange, method.routing_key, properties.message_id):
                sent.returned = str(method.reply_text)
                return


def _noted(done: asyncio.Future[None]) -> None:
    """Read the result of a finished request, so that asyncio does not log a failure without waiters."""
    if not done.cancelled():
        done.exception()


def _finish(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


SEE: Final = "See whether the broker runs."
NOT_FOUND, REFUSED, LOCKED, PRECONDITION, NOT_ALLOWED = 404, 403, 405, 406, 530  # reply codes of AMQP


def translated(error: BaseException, shown: str, *, user: str = "", vhost: str = "") -> ServerError:
    """Convert the end of a connection or a channel to an error; `shown` is the broker's URL. Keeps the cause."""
    made = _translated(_root(error), shown, user, vhost)
    made.__cause__ = error
    return made


def certain(error: BaseException, closes: Sequence[Any]) -> BaseException:
    """Return the reason why a connection ended before it was open, where the client library guesses. A broker that
    refuses a user or a virtual host sends its reason, in one of `closes`, its `Producer.Close`; if it sends none, the
    connection was lost; if it sends another reason, the broker is not ready yet.
    """
    if not isinstance(error, exceptions.ProbableAuthenticationError | exceptions.ProbableAccessDeniedError):
        return error
    found: BaseException = error
    if not closes:
        found = exceptions.StreamLostError("while it was opened")
    elif closes[0].reply_code not in (REFUSED, NOT_ALLOWED):
        found = exceptions.ConnectionClosedByBroker(closes[0].reply_code, closes[0].reply_text)
    return found


def _translated(error: BaseException, shown: str, user: str, vhost: str) -> ServerError:
    match error:
        case ServerError():
            return error
        case exceptions.ProbableAuthenticationError() | exceptions.AuthenticationError():
            return _refused(shown, f'refuses user "{user}" or the password', "Correct them in the URL.", lasting=True)
        case exceptions.ProbableAccessDeniedError():
            trouble = f'has no virtual host "{vhost}", or user "{user}" may not use it'
            return _refused(shown, trouble, "Correct the path of the URL.", lasting=True)
        case exceptions.ChannelClosedByBroker() if error.reply_code in (REFUSED, PRECONDITION):
            remedy = (
                "Ask for the permission." if error.reply_code == REFUSED else "Delete it, or use another namespace."
            )
            return _refused(shown, f"refuses: {_said(error)}", remedy, lasting=True)
        case exceptions.ChannelClosedByBroker():
            return _refused(shown, f"refuses: {_said(error)}", "See the log of the broker.")
        case exceptions.IncompatibleProtocolError():
            return _unreachable(shown, "gives no answer in AMQP 0-9-1", "Check host, port and amqp:// or amqps://.")
        case ssl.SSLCertVerificationError():
            remedy = "Name the authority's file: ?cacertfile=FILE."
            return _refused(shown, f"has a certificate that is refused: {error.verify_message}", remedy, lasting=True)
        case ssl.SSLError():
            trouble = f"gives no answer in TLS ({error.reason})"
            return _refused(shown, trouble, "Check the port, or write amqp://.", lasting=True)
        case FileNotFoundError():
            trouble = f"names a file that does not exist ({text_of(error)})"
            return _refused(shown, trouble, "Correct it in the URL.", lasting=True)
        case socket.gaierror():
            return _unreachable(shown, "names a host that is not known", "Correct it in the URL.")
        case ConnectionRefusedError():
            return _unreachable(shown, "connection refused", "Start a RabbitMQ there, or name another with amqp=.")
        case TimeoutError() | exceptions.ConnectionOpenAborted():
            return _unreachable(shown, "gives no answer in time", "See whether it is overloaded.")
        case exceptions.AMQPHeartbeatTimeout():
            return _unreachable(shown, "gives no sign of life", SEE)
        case exceptions.ConnectionClosedByBroker():
            return _unreachable(shown, f"closed the connection: {_said(error)}", SEE)
    return _unreachable(shown, f"connection lost ({text_of(error) or type(error).__name__})", SEE)


def is_about_message(error: BaseException) -> bool:
    """Return whether the broker closed a publishing channel because of one message: it is too large, or its routing key
    is forbidden for this user. Only the broker's text tells this from an exchange that is forbidden as a whole.
    """
    if not isinstance(error, exceptions.ChannelClosedByBroker):
        return False
    return error.reply_code == PRECONDITION or (error.reply_code == REFUSED and "access to topic" in _said(error))


def full(shown: str) -> ServerFull:
    """Return the error about a broker that takes no messages for now."""
    trouble = "takes no messages for now: its memory or disk is full"
    remedy = "See its alarms."
    return ServerFull(f"{shown}: {trouble}. {remedy}", where=shown, trouble=trouble, remedy=remedy)


def _said(error: Any) -> str:
    """Return the broker's text, ``PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' ...``, which names both
    values.
    """
    return str(error.reply_text)


def _root(error: BaseException) -> BaseException:
    """Return the cause inside the wrappers of the client library."""
    for _ in range(10):
        inner = [*getattr(error, "exceptions", ()), getattr(error, "exception", None), *error.args[:1]]
        found = next((one for one in reversed(inner) if isinstance(one, BaseException)), None)
        if found is None:
            break
        error = found
    return error


def _refused(shown: str, trouble: str, remedy: str, *, lasting: bool = False) -> ServerRefused:
    return ServerRefused(f"{shown}: {trouble}. {remedy}", lasting=lasting, where=shown, trouble=trouble, remedy=remedy)


def _unreachable(shown: str, trouble: str, remedy: str) -> ServerUnreachable:
    return ServerUnreachable(f"{shown}: {trouble}. {remedy}", where=shown, trouble=trouble, remedy=remedy)
