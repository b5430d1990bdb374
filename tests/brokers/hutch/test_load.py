"""Listeners with more messages than threads: they share a queue, they stop soon, and they keep nothing after a loss."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from tests.brokers.hutch import load_cast
from tests.brokers.hutch.opened import Opened
from tests.brokers.hutch.relay import Relay
from tests.processes import until
from workkit import schedule
from workkit.worker import counting

HOW: dict[str, Any] = {
    "imports": ["tests.brokers.hutch.load_cast"], "folder": None, "jobs": ["load.note"], "threads": 4,
}  # fmt: skip


@pytest.fixture(autouse=True)
def fresh() -> None:
    load_cast.runs.clear()


def fill(s: schedule.Schedule, numbers: range, *, ms: float = 0) -> None:
    schedule.add_many(s, [{"fn": "load.note", "at": "now", "args": [{"n": n, "ms": ms}]} for n in numbers])


def test_a_listener_that_stops_with_many_messages_loses_none_and_runs_none_twice(on: Opened) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    schedule.drain(s, **HOW)  # so that its queue is there
    fill(s, range(1500))
    fill(s, range(1500, 1900), ms=5)
    with schedule.listener(s, **HOW) as listener:
        until(lambda: len(load_cast.runs) > 1510)  # it was fast, so the broker has pushed it hundreds
        began = time.monotonic()
        tally = listener.stop()
        assert time.monotonic() - began < 10, "it waits for 5 ms, and no more runs begin"
    assert tally.given_back > 0
    until(lambda: tally.ran + on.count(on.names.queue("load.note")) == 1900)
    schedule.drain(s, **HOW)
    assert sorted(load_cast.runs.elements()) == list(range(1900))


def test_listeners_share_a_queue_of_long_runs_although_one_was_fast_before(on: Opened) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    schedule.drain(s, **HOW)
    fill(s, range(1500))
    with schedule.listener(s, **HOW) as fast:
        until(lambda: len(load_cast.runs) == 1500)
        with schedule.listener(s, **HOW) as other:
            fill(s, range(1500, 1700), ms=100)
            until(lambda: len(load_cast.runs) == 1700)
            tally = other.stop()
        assert fast.stop().ran + tally.ran == 1700
    assert tally.ran >= 20, "one took all"


def pushed_at_most(listener: Any) -> int:
    """Tell how many messages each queue may push to a listener now."""
    (lane,) = listener._loop._lanes
    return int(lane.broker._session._prefetch)


@pytest.mark.parametrize("was_fast", [True, False])
def test_a_listener_holds_at_most_one_more_than_its_threads_until_it_knows_how_long_runs_take(
    on: Opened, was_fast: bool
) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    how = {**HOW, "threads": 1}
    schedule.drain(s, **how)
    with schedule.listener(s, **how) as first:
        if was_fast:
            fill(s, range(1500))
            until(lambda: len(load_cast.runs) == 1500)
        time.sleep(2 * counting.PAUSE)
        until(lambda: pushed_at_most(first) <= 2)
        with schedule.listener(s, **how) as second:
            fill(s, range(2000, 2030), ms=400)
            until(lambda: len(load_cast.runs) >= 1500 * was_fast + 4)
            left = on.count(on.names.queue("load.note"))
            ended = len(load_cast.runs) - 1500 * was_fast  # read after the count, so that a slow machine is no fault
            assert 30 - left - ended <= 2 * 2, "messages that the two hold and have not run"
            ran = [listener.stop().ran - before for listener, before in ((second, 0), (first, 1500 * was_fast))]
    assert min(ran) >= 2, "one took all"


def test_connections_that_are_lost_leave_no_descriptor_and_no_thread(on: Opened) -> None:
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        s = schedule.create(on.names.exchange, amqp=f"amqp://guest:guest@127.0.0.1:{relay.port}/", layout="hutch")
        with schedule.listener(s, **HOW):
            counts = []
            for n in range(8):
                until(lambda n=n: _is_added(s, n))  # type: ignore[misc]
                until(lambda n=n: load_cast.runs[n])  # type: ignore[misc]
                counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
                relay.cut()
    early, late = counts[3], counts[-1]
    assert late[0] <= early[0] + 4
    assert late[1] <= early[1] + 4


def _is_added(s: schedule.Schedule, n: int) -> bool:
    try:
        fill(s, range(n, n + 1))
    except ConnectionError:
        return False
    return True
