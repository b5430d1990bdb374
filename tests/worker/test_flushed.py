"""A server loses the keys of a schedule. The listener reports it, and continues."""

from __future__ import annotations

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, calls, named
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.cli.log import Style, console_line
from workkit.events import Event


def test_a_flush_under_an_idle_listener_is_reported_and_it_registers_again(
    server: Server, name: str, seen: list[Event]
) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, **HOW):
        before = until(lambda: schedule.listeners(s))[0].listener
        schedule.add_now(s, handlers.note)
        until(lambda: named(seen, "done"))
        server.client().flushall()
        (event,) = until(lambda: named(seen, "unregistered"))
        assert event.fields == {"listener": before, "url": server.url}
        assert event.level == 40
        assert "the server no longer knows this listener, though its heartbeats were on time" in console_line(
            event, Style()
        )
        schedule.add_now(s, handlers.note)
        until(calls(2))
    assert len(named(seen, "unregistered")) == 1


def test_a_run_whose_claim_was_flushed_does_not_blame_an_absence(server: Server, name: str, seen: list[Event]) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.wait_for_gate)
        until(calls(1))
        server.client().flushall()
        until(lambda: named(seen, "unregistered"))
        handlers.gate.set()
        (fenced,) = until(lambda: named(seen, "fenced"))
    assert fenced.fields["ago_ms"] is None
    assert "the server has lost its claim" in console_line(fenced, Style())


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
def test_evicted_keys_are_a_finding(own_server: Server, name: str) -> None:
    client, doctor = own_server.client(), open_broker(name, redis=own_server.url).doctor
    assert "evicted" not in [finding.kind for finding in doctor.checkup(patience_ms=0)]
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("maxmemory", "3mb")
    for n in range(300):
        client.set(f"filler:{n}", b"x" * 20_000)
    (finding,) = (finding for finding in doctor.checkup(patience_ms=0) if finding.kind == "evicted")
    assert "keys since its start" in finding.what
