"""A listener that somebody tells, by the server, to take nothing new of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import events, schedule
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.script import load
from workkit.contract.admin import Quieted
from workkit.errors import NotFound
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 2}


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    handlers.calls.clear()
    return schedule.create(name, redis=server.url)


@pytest.fixture
def heard() -> Iterator[list[tuple[str, str | None]]]:
    found: list[tuple[str, str | None]] = []
    unsubscribe = events.subscribe(lambda event: found.append((event.name, event.schedule)))
    yield found
    unsubscribe()


def test_a_quiet_listener_takes_nothing_new_until_it_listens_again(
    s: Schedule, server: Server, heard: list[tuple[str, str | None]]
) -> None:
    other = schedule.create(f"{s.name}-2", redis=server.url)
    admin = producer_of(s).admin
    with schedule.listener([s, other], **HOW) as listening:
        until(lambda: schedule.listeners(s), what="the listener")
        (info,) = schedule.listeners(s)
        assert admin.steer(Quieted(info.listener, True))
        assert not admin.steer(Quieted(info.listener, True))
        until(lambda: ("quiet", s.name) in heard, what="the order")
        assert [one.state for one in schedule.listeners(s)] == ["quiet"]
        assert [one.state for one in producer_of(s).inspector.pulse().listeners] == ["quiet"]
        schedule.add_now(s, handlers.note, args=[1])
        for number in (2, 3):
            schedule.add_now(other, handlers.note, args=[number])
            until(lambda n=number: len(handlers.calls) == n - 1, what="the job of the other schedule")  # type: ignore[misc]
        assert schedule.counts(s).due == 1
        assert admin.steer(Quieted(info.listener, False))
        until(lambda: len(handlers.calls) == 3, what="the job that waited")
        assert ("resumed", s.name) in heard
        assert admin.steer(Quieted(info.listener, True))
        assert listening is not None
    assert server.client().hgetall(f"{s.name}:control").keys() == {b"v"}


def test_a_listener_that_is_quiet_by_itself_says_so(s: Schedule) -> None:
    with schedule.listener(s, **HOW) as listening:
        until(lambda: [one.state for one in schedule.listeners(s)] == ["listening"], what="the listener")
        listening.quiet()
        until(lambda: [one.state for one in schedule.listeners(s)] == ["quiet"], what="a heartbeat")
        listening.resume()
        until(lambda: [one.state for one in schedule.listeners(s)] == ["listening"], what="another heartbeat")


def test_an_unknown_listener_cannot_be_made_quiet(s: Schedule) -> None:
    with pytest.raises(NotFound, match="host:1:abc does not listen to "):
        producer_of(s).admin.steer(Quieted("host:1:abc", True))


def test_the_order_leaves_with_a_listener_that_died(s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    client.zadd(keys.listeners, {"host:1:abc": 1})
    client.hset(keys.running("host:1:abc"), "@", 1)
    assert producer_of(s).admin.steer(Quieted("host:1:abc", True))
    assert producer_of(s).inspector.control().quiet == {"host:1:abc"}
    reap = load("native")["reap"]
    connect(server.url).call(reap, reap.keys(keys, listener="host:1:abc"), ["host:1:abc", "1", 0, 500])
    assert producer_of(s).inspector.control().quiet == set()
