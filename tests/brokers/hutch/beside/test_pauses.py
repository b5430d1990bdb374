"""Pauses over all listeners: nothing of what is paused is taken, and its order stays."""

from __future__ import annotations

import json
import time

import pytest

from tests.brokers.hutch.beside.pair import Pair, meet, taken
from workkit import schedule
from workkit.brokers.hutch.broker import HutchBroker
from workkit.contract.admin import Paused, Resumed
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause
from workkit.jobs.outcome import DONE


def two(pair: Pair) -> HutchBroker:
    broker = pair.broker()
    serves = {"note": Serving(), "orders.created": Serving()}
    broker.register(ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=4, serves=serves))
    return broker


def publish(pair: Pair, key: str, n: int) -> None:
    pair.on.publish(key, json.dumps({"n": n}).encode())


def test_a_listener_that_comes_while_a_function_is_paused_takes_only_others(pair: Pair) -> None:
    s = pair.create()
    schedule.pause(s, fn="note", reason="migration")
    listener = two(pair)
    publish(pair, "note", 1)
    publish(pair, "orders.created", 2)
    (other,) = taken(listener, 1)
    listener.claim(0, ends=[(other, DONE)])
    assert other.fn == "orders.created"
    assert listener.claim(5).claims == []
    assert pair.on.count(pair.on.names.queue("note")) == 1
    schedule.resume(s, fn="note")
    listener.beating()()
    assert taken(listener, 1)[0].args == ({"n": 1},)


def test_what_had_arrived_goes_back_in_its_order_when_a_schedule_is_paused(pair: Pair) -> None:
    s, listener = pair.create(), two(pair)
    for n in range(4):
        publish(pair, "note", n)
    (first,) = taken(listener, 1, limit=1)
    assert listener.claim(1).claims
    schedule.pause(s)
    listener.beating()()
    assert listener.claim(5).claims == []
    meet(lambda: pair.on.count(pair.on.names.queue("note")) == 2)
    listener.claim(0, ends=[(first, DONE)])
    schedule.resume(s)
    listener.beating()()
    assert [claim.args[0]["n"] for claim in taken(listener, 2)] == [2, 3]


def test_a_message_that_is_taken_as_the_pause_begins_does_not_start(pair: Pair) -> None:
    s, listener = pair.create(), two(pair)
    assert listener.claim(5).claims == []
    schedule.pause(s, fn="note")
    publish(pair, "note", 1)
    meet(lambda: listener.claim(5).claims or listener._session._closed, wait=lambda: listener.wait(0.1))
    assert listener._session._held == {}
    meet(lambda: pair.on.count(pair.on.names.queue("note")) == 1)
    assert pair.client.hlen(pair.keys.begun) == 0


def test_a_pause_ends_at_its_time(pair: Pair) -> None:
    listener = two(pair)
    listener.admin.steer(Paused("schedule", Pause(until_ms=listener.now_ms() + 150)))
    listener.beating()()
    publish(pair, "note", 1)
    assert listener.claim(5).claims == []

    def resumed() -> bool:
        listener.beating()()
        listener.maintain()
        return not pair.client.hexists(pair.keys.control, "paused:schedule")

    meet(resumed, wait=lambda: time.sleep(0.02))
    listener.beating()()
    assert len(taken(listener, 1)) == 1
    assert listener.admin.steer(Resumed("schedule")) is False


def test_one_message_cannot_be_paused(pair: Pair) -> None:
    admin = two(pair).admin
    with pytest.raises(Unsupported, match=r"one job cannot be paused by itself: .* Pause its function"):
        admin.steer(Paused("job:m1", Pause()))
    with pytest.raises(Unsupported, match="one job cannot be paused by itself"):
        admin.steer(Resumed("job:m1"))


def test_a_pattern_is_paused_by_its_name_and_what_runs_is_listed_by_its_key(pair: Pair) -> None:
    s, listener = pair.create(), pair.broker()
    serves = {"note": Serving(), "note.#": Serving()}
    listener.register(
        ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=4, serves=serves)
    )
    schedule.pause(s, fn="@note.#")
    publish(pair, "note", 1)
    publish(pair, "note.a", 2)
    (other,) = taken(listener, 1)
    assert (other.fn, listener.claim(5).claims) == ("note", [])
    queue = pair.on.names.queue("note.#")
    assert pair.on.count(queue) == 2
    schedule.resume(s, fn="@note.#")
    listener.beating()()
    taken(listener, 2)
    assert sorted(job.fn for job in schedule.jobs(s, state="running")) == ["note", "note", "note.a"]
    pair.on.channel.queue_delete(queue)
