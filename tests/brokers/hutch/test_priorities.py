"""Priorities: those of `add`, and those that callers of hutch give their messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.brokers.hutch.opened import FAILURE, Opened, claims, one
from tests.processes import until
from workkit import schedule
from workkit.brokers.hutch.broker import HutchBroker
from workkit.jobs.outcome import Again, Done, Released


def order(on: Opened, listener: HutchBroker, count: int) -> list[int]:
    """Claim one by one what waits in the work queue, and return the numbers."""
    until(lambda: on.count(on.names.queue("note")) == count)
    found = []
    for _ in range(count):
        claim = one(listener)
        found.append(claim.args[0]["n"])
        claims(listener, 0, ends=[(claim, Done())])
    return found


@pytest.fixture
def waiting(on: Opened) -> HutchBroker:
    """A listener that has not begun to consume: its queue is there."""
    return on.listener("note")


@pytest.mark.parametrize("layout", ["hutch", "event"])
def test_of_messages_that_wait_the_higher_priority_comes_first(on: Opened, layout: str) -> None:
    on.names = type(on.names)(exchange=on.names.exchange, dialect=layout, prefix="")  # type: ignore[arg-type]
    listener = on.listener("note")
    s = schedule.create(on.names.exchange, amqp=on.url, layout=layout)
    try:
        rows: list[dict[str, Any]] = [
            {"fn": "note", "at": "now", "args": [{"n": n}], "priority": priority}
            for n, priority in enumerate((None, 0, 2, 3, 1))
        ]
        schedule.add_many(s, rows)
        assert order(on, listener, 5) == [3, 2, 4, 0, 1], "equal ones in their order, none is 0"
    finally:
        on.channel.queue_delete(on.names.queue("note"))


def test_a_priority_is_the_property_of_that_name(on: Opened) -> None:
    queue = on.bound("note")
    for layout, expected in (("hutch", 0), ("event", None)):
        s = schedule.create(on.names.exchange, amqp=on.url, layout=layout)
        schedule.add_now(s, "note", args=[{}])
        assert on.got(queue)[1].priority == expected
        schedule.add_now(s, "note", args=[{}], priority=2)
        assert on.got(queue)[1].priority == 2
        schedule.add(s, "note", args=[{}], in_="1 second", priority=3)
        assert on.got(queue)[1].priority == 3


def test_priorities_of_other_callers_hold_and_more_than_3_is_3(on: Opened, waiting: HutchBroker) -> None:
    for n, priority in enumerate((None, 1, 9, 3, 2)):
        on.publish("note", json.dumps({"n": n}).encode(), priority=priority)
    assert order(on, waiting, 5) == [2, 3, 4, 1, 0]


def test_a_message_that_comes_again_keeps_its_priority(on: Opened, waiting: HutchBroker) -> None:
    on.publish("note", b'{"n": 0}', priority=2)
    for outcome in (Again(delay_ms=0, attempt=1, failure=FAILURE), Released(delay_ms=20), Released()):
        claim = one(waiting)
        claims(waiting, 0, ends=[(claim, outcome)])
    assert one(waiting).receipt.message.properties["priority"] == 2
