"""Connections kept at hand: one at a time for each user of them, replaced when the server has closed them."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import redis

from tests.servers import Server
from workkit.brokers.redis_server import pipe as wires_of
from workkit.brokers.redis_server.pipe import Wires


@pytest.fixture
def pool(server: Server) -> redis.ConnectionPool:
    return redis.ConnectionPool.from_url(server.url, protocol=2)


def ask(wires: Wires, commands: list[tuple[Any, ...]]) -> list[Any]:
    return wires.replies(wires.send(commands), len(commands))


def test_one_connection_serves_one_after_the_other(pool: redis.ConnectionPool) -> None:
    wires = Wires(pool)
    ids = {ask(wires, [("CLIENT", "ID")])[0] for _ in range(5)}
    assert len(ids) == 1


def test_what_is_under_way_is_in_nobodys_way(pool: redis.ConnectionPool) -> None:
    wires = Wires(pool)
    first = wires.send([("ECHO", "first"), ("ECHO", "too")])
    second = wires.send([("ECHO", "second")])
    assert wires.replies(second, 1) == [b"second"]
    assert wires.replies(first, 2) == [b"first", b"too"]


def test_an_error_of_the_server_is_one_answer_of_several(pool: redis.ConnectionPool, name: str) -> None:
    wires = Wires(pool)
    fine, error, too = ask(wires, [("SET", name, "x"), ("LPUSH", name, "y"), ("GET", name)])
    assert (fine, too) == (b"OK", b"x")
    assert isinstance(error, redis.exceptions.ResponseError)
    assert ask(wires, [("DEL", name)]) == [1]


def test_one_that_the_server_closed_while_it_was_idle_is_replaced(
    server: Server, pool: redis.ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires_of, "IDLE", 0.0)
    wires = Wires(pool)
    (before,) = ask(wires, [("CLIENT", "ID")])
    server.client().client_kill_filter(_id=before)
    (after,) = ask(wires, [("CLIENT", "ID")])
    assert after != before


def test_one_that_was_cut_amid_an_answer_is_not_used_again(server: Server, pool: redis.ConnectionPool) -> None:
    wires = Wires(pool)
    (before,) = ask(wires, [("CLIENT", "ID")])
    waiting = wires.send([("BLPOP", "test-nothing-comes", "30")])
    server.client().client_kill_filter(_id=before)
    with pytest.raises(redis.exceptions.ConnectionError):
        wires.replies(waiting, 1)
    assert ask(wires, [("PING",)]) == [b"PONG"]


def test_a_process_that_was_forked_leaves_those_of_its_parent_alone(pool: redis.ConnectionPool) -> None:
    wires = Wires(pool)
    (before,) = ask(wires, [("CLIENT", "ID")])
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, b"%d" % ask(wires, [("CLIENT", "ID")])[0])
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        assert int(told.read()) != before
    assert ask(wires, [("CLIENT", "ID")]) == [before]


def test_threads_do_not_mix_their_answers(pool: redis.ConnectionPool) -> None:
    wires, wrong = Wires(pool), []

    def echo(n: int) -> None:
        for i in range(200):
            said: list[Any] = ask(wires, [("ECHO", f"{n}-{i}")])
            if said != [f"{n}-{i}".encode()]:
                wrong.append(said)

    threads = [threading.Thread(target=echo, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    wires.give_back()
    pool.disconnect()
