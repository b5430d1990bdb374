"""Fixtures of the tests beside the Ruby peer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pika
import pytest

from tests.brokers.hutch.opened import Opened
from tests.brokers.hutch.peer.ruby_peer import Program, RubyPeer


@pytest.fixture(scope="session")
def ruby() -> Iterator[RubyPeer]:
    """The process of the peer, for all tests of a worker."""
    with closing(RubyPeer()) as made:
        yield made


class Beside:
    """Programs of the peer on the exchange of a test. Closes them, and deletes their queues."""

    def __init__(self, ruby: RubyPeer, on: Opened) -> None:
        self.ruby, self.on = ruby, on
        self._programs: list[Program] = []
        self._queues: list[str] = []

    def open(self, mode: str, **settings: Any) -> Program:
        """Start a program; its namespace is the exchange, unless it is said."""
        name = f"{self.on.names.exchange}-{len(self._programs)}"
        given = {"exchange": self.on.names.exchange, "namespace": self.on.names.exchange, **settings}
        program = self.ruby.open(name, mode, self.on.url, **given)
        self._programs.append(program)
        return program

    def hutch(
        self, key: str = "note", *, name: str = "one", consumer: dict[str, Any] | None = None, **settings: Any
    ) -> Program:
        """A program with hutch and one consumer; `queue` says where it consumes."""
        program = self.open("hutch", **settings)
        program.queue = self.doomed(f"{self.on.names.exchange}:{name}")
        program.consume({"queue_name": name, "keys": [key], **(consumer or {})})
        return program

    def event(self, key: str = "note", *, consumer: dict[str, Any] | None = None, **settings: Any) -> Program:
        """A program with event and one consumer."""
        program = self.open("event", **settings)
        program.queue = self.doomed(f"{self.on.names.exchange}.{key}")
        program.consume({"key": key, **(consumer or {})})
        return program

    def doomed(self, queue: str) -> str:
        """Delete a queue at the end of the test."""
        self._queues.append(queue)
        return queue

    def close(self) -> None:
        for program in self._programs:
            with suppress(AssertionError):  # the test may have closed it
                program.close()
        channel = self.on.channel.connection.channel()
        for queue in self._queues:
            with suppress(pika.exceptions.AMQPError):
                channel.queue_delete(queue)


@pytest.fixture
def beside(ruby: RubyPeer, on: Opened) -> Iterator[Beside]:
    with closing(Beside(ruby, on)) as made:
        yield made
