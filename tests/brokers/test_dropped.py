"""Connections that another thread closes while they are in use."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress

import pytest
import redis

from tests.processes import until
from tests.servers import Server
from workkit.brokers.redis_server.connecting import connect
from workkit.errors import ServerRefused, ServerUnreachable


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


def test_who_waits_for_an_element_gets_it_or_learns_that_the_time_is_over(server: Server, name: str) -> None:
    with closing(connect(server.url)) as ours:
        assert ours.pop([name], 0.01) is None
        server.client().lpush(name, "x")
        assert ours.pop([f"{name}:other", name], 5) == [name.encode(), b"x"]
        assert ours.pop([name], 0.01) is None


def test_who_waits_on_a_key_of_another_type_is_refused(server: Server, name: str) -> None:
    server.client().set(name, "x")
    with closing(connect(server.url)) as ours, pytest.raises(ServerRefused):
        ours.pop([name], 5)


@pytest.mark.parametrize("by_server", [True, False])
def test_who_waits_on_a_connection_that_is_closed_learns_that_it_is_lost(
    server: Server, name: str, by_server: bool
) -> None:
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            ours.pop([name], 30)
        except BaseException as error:
            ended.append(error)

    def waiting() -> list[str]:
        return [one["id"] for one in server.client().client_list() if one["name"] == name and one["cmd"] == "blpop"]

    with closing(connect(f"{server.url}?client_name={name}")) as ours:
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: len(waiting()) == 1, what="somebody to wait")
        if by_server:
            server.client().client_kill_filter(_id=waiting()[0])
        else:
            ours.drop()
        thread.join(5)
        assert [type(error) for error in ended] == [ServerUnreachable]
        server.client().lpush(name, "x")
        assert ours.pop([name], 5) == [name.encode(), b"x"]
