"""A listener on a server whose memory is full: it starts, drains, is fenced, takes over and leaves."""

from __future__ import annotations

from typing import Any

from tests.brokers.test_native_session import add, listening
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.jobs.outcome import DONE


def test_a_listener_starts_drains_and_leaves_while_memory_is_full(own_server: Server, name: str) -> None:
    add(own_server, name, 5)
    client: Any = own_server.client()
    client.config_set("maxmemory", 1)
    b, _ = listening(own_server, name)
    claims = b.claim(5).claims
    assert len(claims) == 5
    assert b.claim(0, ends=[(claim, DONE) for claim in claims]).refused == []
    b.leave()
    assert not client.exists(f"{name}:jobs", f"{name}:listeners")


def test_a_fenced_listener_registers_again_while_memory_is_full(own_server: Server, name: str) -> None:
    add(own_server, name)
    b, _ = listening(own_server, name)
    (claim,) = b.claim(1).claims
    client: Any = own_server.client()
    client.config_set("maxmemory", 1)
    client.hdel(f"{name}:running:{b.listener}", "@")
    before = b.listener
    assert b.claim(1).fenced == [claim]
    b.beating()()
    assert b.listener not in ("", before)


def test_a_listener_process_waits_for_a_full_server_inside_a_program(own_server: Server, name: str) -> None:
    s = schedule.create(name, redis=own_server.url)
    own_server.client().config_set("maxmemory", 1)
    with schedule.listener(s, imports=["tests.handlers"], folder=None):
        until(lambda: len(schedule.listeners(s)) == 1)
