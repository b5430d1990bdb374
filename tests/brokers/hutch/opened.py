"""A broker under test and a plain channel beside it, as another program has it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pika

from tests import rabbit
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.contract.listener import Claim, Ending, ListenerInfo, Serving
from workkit.contract.producer import NewJob
from workkit.jobs.outcome import Failure

NOBODY = "http://127.0.0.1:1"  # no management API
FAILURE = Failure(type="OSError", message="disk full", where="app.py:3")


class Opened:
    """Brokers of one exchange, and the plain channel. Closes all that it opens."""

    def __init__(self, url: str, names: Names, channel: Any, ends: ExitStack) -> None:
        self.url, self.names, self.channel, self._ends = url, names, channel, ends

    def broker(self, *, port: int | None = None, management: str = NOBODY) -> HutchBroker:
        address = read_address(self.url if port is None else f"amqp://guest:guest@127.0.0.1:{port}/")
        broker = HutchBroker(address, names=self.names, site=read_site(management, address))
        self._ends.callback(broker.close)
        return broker

    def listener(self, *jobs: str, port: int | None = None) -> HutchBroker:
        broker = self.broker(port=port)
        info = ListenerInfo(
            listener="", host="here", pid=1, version="0", schedules={}, threads=1,
            serves={job: Serving() for job in jobs or ("note",)},
        )  # fmt: skip
        broker.register(info)
        return broker

    def publish(self, key: str, body: bytes = b"{}", *, exchange: str = "", **properties: Any) -> None:
        """Publish as another program does."""
        self.channel.basic_publish(exchange or self.names.exchange, key, body, pika.BasicProperties(**properties))

    def publish_message(self, message: Message) -> None:
        self.publish(
            message.routing_key, message.body, exchange=message.exchange, headers=dict(message.headers),
            **message.properties,
        )  # fmt: skip

    def bound(self, *keys: str) -> str:
        """Make a queue of another program that gets the messages of these keys."""
        queue = str(self.channel.queue_declare("", exclusive=True).method.queue)
        for key in keys:
            self.channel.queue_bind(queue, self.names.exchange, key)
        return queue

    def got(self, queue: str) -> tuple[Any, Any, bytes]:
        """Take one message that must be there within some seconds."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            found: tuple[Any, Any, bytes] = self.channel.basic_get(queue, auto_ack=True)
            if found[0] is not None:
                return found
            time.sleep(0.01)
        raise AssertionError(f"no message in {queue}")

    def count(self, queue: str) -> int:
        return int(self.channel.queue_declare(queue, passive=True).method.message_count)


@contextmanager
def opened(url: str, names: Names) -> Iterator[Opened]:
    with rabbit.connected(url) as channel, ExitStack() as ends:
        channel.exchange_declare(names.exchange, "topic", durable=True)
        yield Opened(url, names, channel, ends)


def new(value: Any, job: str = "note", *, due_ms: int | None = None) -> NewJob:
    return NewJob(fn=job, args=(value,), kwargs=None, trigger=None, due_ms=due_ms, queued=True)


def claims(broker: HutchBroker, limit: int = 10, *, ends: Sequence[Ending] = ()) -> list[Claim]:
    return list(broker.claim(limit, ends=ends).claims)


def one(broker: HutchBroker) -> Claim:
    """Wait for the one message that comes."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if found := claims(broker, 1):
            return found[0]
        broker.wait(0.2)
    raise AssertionError("no message came")
