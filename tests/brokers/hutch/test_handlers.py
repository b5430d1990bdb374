"""What handlers answer, through a whole listener: errors, Retry and Discard."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.brokers.hutch import consumers
from tests.brokers.hutch.opened import Opened, new
from tests.brokers.hutch.relay import HEARTBEAT, Relay
from tests.processes import until
from workkit import schedule
from workkit.worker.listener import Listener

NAMES = ("hutch.fails", "hutch.answers")
HOW: dict[str, Any] = {"imports": ["tests.brokers.hutch.consumers"], "folder": None, "jobs": NAMES, "threads": 2}


@pytest.fixture(params=["hutch", "event"])
def listening(request: pytest.FixtureRequest, on: Opened) -> Iterator[Listener]:
    consumers.seen.clear()
    s = schedule.create(on.names.exchange, amqp=on.url, layout=request.param)
    separator = ":" if request.param == "hutch" else "."
    try:
        with schedule.listener(s, **HOW) as listener:
            yield listener
    finally:
        for name in NAMES:
            on.channel.queue_delete(f"{on.names.namespace}{separator}{name}")


def test_a_handler_that_fails_runs_again_until_its_retries_are_spent(on: Opened, listening: Listener) -> None:
    broker = on.broker()
    broker.adding([new({"n": 1, "until": 2}, "hutch.fails"), new({"n": 2, "until": 9}, "hutch.fails")])()
    method, properties, _ = on.got(on.names.dead_queue)
    until(lambda: len(consumers.seen) == 6)
    tally = listening.stop()
    assert sorted(consumers.seen) == [(n, attempt) for n in (1, 2) for attempt in range(3)]
    assert (method.routing_key, properties.headers["workkit-attempt"]) == ("dead_queue.hutch.fails", 3)
    assert properties.headers["workkit-error"].startswith("OSError: disk full (consumers.py:")
    assert (tally.ran, tally.retried, tally.failed) == (1, 4, 1)


def test_what_a_message_says_of_its_retries_wins_over_its_handler(on: Opened, listening: Listener) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    soon = timedelta(milliseconds=20)
    schedule.add_now(s, "hutch.fails", args=[{"n": 0, "until": 9}], retries=0)
    schedule.add_now(s, "hutch.fails", args=[{"n": 1, "until": 9}], retries=1)
    schedule.add_now(s, "hutch.fails", args=[{"n": 2, "until": 9}], backoff="linear", base=soon, jitter=False)
    died = {on.got(on.names.dead_queue)[1].headers["workkit-attempt"] for _ in range(3)}
    listening.stop()
    assert died == {1, 2, 3}
    assert sorted(consumers.seen) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]


def test_retry_and_discard_are_answers(on: Opened, listening: Listener) -> None:
    on.broker().adding([new({"n": "discard"}, "hutch.answers"), new({"n": "retry"}, "hutch.answers")])()
    until(lambda: len(consumers.seen) == 3)
    listening.stop()
    assert sorted(consumers.seen) == [("discard", 0), ("retry", 0), ("retry", 1)]
    assert on.count(on.names.dead_queue) == 0


def test_heartbeats_pass_while_a_handler_runs(on: Opened) -> None:
    """The broker would close the connection after two seconds without one, and deliver the message again."""
    consumers.seen.clear()
    consumers.gate.clear()
    queue = f"{on.names.namespace}:hutch.waits"
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        url = f"amqp://guest:guest@127.0.0.1:{relay.port}/?heartbeat=1"
        s = schedule.create(on.names.exchange, amqp=url, layout="hutch")
        try:
            with schedule.listener(s, **{**HOW, "jobs": ["hutch.waits"]}) as listener:
                on.broker().adding([new({"n": 1}, "hutch.waits")])()
                until(lambda: len(consumers.seen) == 1)
                before, began = relay.sent[HEARTBEAT], time.monotonic()
                until(lambda: time.monotonic() - began > 3 and relay.sent[HEARTBEAT] > before + 2)
                consumers.gate.set()
                tally = listener.stop()
        finally:
            consumers.gate.set()
            on.channel.queue_delete(queue)
    assert (tally.ran, consumers.seen) == (1, [(1, 0)])
