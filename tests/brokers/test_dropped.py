"""Connections that another thread closes while they are in use."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress

import pytest
import redis

from tests.servers import Server
from workkit.brokers.redis_server.connecting import connect
from workkit.errors import ServerUnreachable


def test_who_uses_a_connection_that_another_thread_closes_learns_that_it_is_lost(server: Server) -> None:
    """The client library may stumble over a socket that is gone; that is no error of the caller."""
    others: list[BaseException] = []
    over = threading.Event()

    with closing(connect(server.url)) as ours:

        def ask() -> None:
            while not over.is_set():
                try:
                    with suppress(ServerUnreachable), ours.translated() as client:
                        client.ping()
                except BaseException as error:
                    others.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 1
        while time.monotonic() < until:
            with suppress(redis.exceptions.RedisError):
                ours.drop()
        over.set()
        for thread in threads:
            thread.join()
    assert others == []


def test_a_fault_of_the_caller_stays_as_it_is(server: Server) -> None:
    with closing(connect(server.url)) as ours, pytest.raises(TypeError), ours.translated() as client:
        client.ping(no_such_argument=int("1") + None)  # type: ignore[operator]
