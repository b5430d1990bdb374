"""Forwarding to an exchange: each message is confirmed by itself, so one that is refused concerns no other."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests import rabbit
from tests.brokers.hutch.opened import Opened, opened
from tests.brokers.hutch.relay import Relay
from tests.processes import until
from tests.rabbit import Rabbit
from tests.servers import Server
from workkit import errors, schedule
from workkit.brokers.hutch.names import Names
from workkit.events import Event


@pytest.fixture
def on(amqp: str, name: str) -> Iterator[Opened]:
    names = Names(exchange=f"{name}-ex", dialect="hutch")
    with opened(amqp, names) as made:
        yield made
    rabbit.forget(amqp, names)


@pytest.fixture
def to(on: Opened) -> schedule.Schedule:
    return schedule.create(on.names.exchange, amqp=on.url, layout="hutch")


def burst(s: schedule.Schedule, to: schedule.Schedule) -> Any:
    return schedule.forward(s, to=to, burst=True)


def bodies(on: Opened, queue: str) -> list[Any]:
    """Take all that is in a queue."""
    found = []
    while (got := on.channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append((got[1], json.loads(got[2])))
    return found


@pytest.mark.parametrize("layout", ["hutch", "event"])
def test_due_jobs_become_messages(on: Opened, s: schedule.Schedule, layout: str) -> None:
    queue = on.bound("orders.created", "note")
    to = schedule.create(on.names.exchange, amqp=on.url, layout=layout)
    schedule.add_now(s, "@orders.created", args=[{"id": 1}])
    schedule.add_now(s, "note", args=[{"id": 2}], priority=2)
    schedule.add(s, "note", args=[{"id": 3}], at="7pm tomorrow")
    tally = burst(s, to)
    assert (tally.ran, tally.failed) == (2, 0)
    found = sorted((body["id"], properties.priority) for properties, body in bodies(on, queue))
    assert found == [(1, 0 if layout == "hutch" else None), (2, 2)]
    assert [job.state for job in schedule.jobs(s)] == ["waiting"]


def test_each_occurrence_of_a_week_is_published_once_under_an_id_of_its_own(
    on: Opened, s: schedule.Schedule, to: schedule.Schedule
) -> None:
    queue = on.bound("report.hourly")
    job = schedule.add(s, "@report.hourly", every="hour", args=[{"of": "each"}])
    assert job.due is not None
    tally = schedule.drain(s, to=to, now=job.due + timedelta(days=7) - timedelta(seconds=1))
    found = bodies(on, queue)
    assert tally.ran == len(found) == len({properties.message_id for properties, _ in found}) == 24 * 7
    assert all(UUID(properties.message_id).version == 4 for properties, _ in found)
    assert [job.fn for job in schedule.jobs(s)] == ["report.hourly"]


def test_jobs_that_are_refused_are_dead_with_the_reason_and_all_others_are_published_once(
    on: Opened, s: schedule.Schedule, to: schedule.Schedule
) -> None:
    queue = on.bound("note")
    rows: list[dict[str, Any]] = [{"fn": "note", "at": "now", "args": [{"n": n}]} for n in range(300)]
    rows.insert(150, {"fn": "@nobody.listens", "at": "now", "args": [{"n": -1}]})
    rows.insert(80, {"fn": "note", "at": "now", "kwargs": {"n": -2}})
    rows.insert(40, {"fn": "note", "at": "now", "args": [7]})
    schedule.add_many(s, rows)
    tally = burst(s, to)
    assert (tally.ran, tally.failed) == (300, 3)
    assert Counter(body["n"] for _, body in bodies(on, queue)) == Counter(range(300))
    reasons = sorted(job.error or "" for job in schedule.dead(s))
    assert reasons[0].startswith("InvalidArguments: args[0] is a number")
    assert reasons[1].startswith("InvalidArguments: kwargs={'n': -2} does not fit: a message has one body")
    assert reasons[2] == (
        f'ServerRefused: "nobody.listens" leads to no queue of exchange {to.name}: nobody consumes it. '
        "Start a listener for it first, or correct the name."
    )


def test_a_message_without_a_consumer_is_published_by_retry_once_there_is_one(
    on: Opened, s: schedule.Schedule, to: schedule.Schedule
) -> None:
    schedule.add_now(s, "note", args=[{"n": 1}])
    assert burst(s, to).failed == 1
    queue = on.bound("note")
    assert schedule.retry(s) == 1
    assert burst(s, to).ran == 1
    assert [body for _, body in bodies(on, queue)] == [{"n": 1}]


def test_a_queue_that_takes_nothing_more_buries_what_is_for_it_and_nothing_else(
    on: Opened, s: schedule.Schedule, to: schedule.Schedule
) -> None:
    queue = on.bound("note")
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    small = on.channel.queue_declare("", exclusive=True, arguments=full).method.queue
    on.channel.queue_bind(small, on.names.exchange, "small")
    rows = [{"fn": "small" if n % 10 == 0 else "note", "at": "now", "args": [{"n": n}]} for n in range(40)]
    schedule.add_many(s, rows)
    with schedule.forwarder(s, to=to):
        until(lambda: len(schedule.dead(s)) == 3, what="the tries to end")
        until(lambda: schedule.counts(s).running == 0)
    assert len(bodies(on, queue)) == 36
    assert len(bodies(on, small)) == 1
    assert all("was not taken by" in (job.error or "") for job in schedule.dead(s))


def test_a_cut_connection_loses_nothing_and_what_was_confirmed_is_not_published_again(
    on: Opened, s: schedule.Schedule, seen: list[Event]
) -> None:
    queue = on.bound("note")
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        to = schedule.create(on.names.exchange, amqp=f"amqp://guest:guest@127.0.0.1:{relay.port}/", layout="hutch")
        with schedule.forwarder(s, to=to):
            for part in range(4):
                rows = [{"fn": "note", "at": "now", "args": [{"n": 500 * part + n}]} for n in range(500)]
                adding = threading.Thread(target=schedule.add_many, args=(s, rows))
                adding.start()
                until(lambda part=part: on.count(queue) > 500 * part + 50)  # type: ignore[misc]
                relay.cut()
                adding.join()
            until(lambda: on.count(queue) >= 2000 and not list(schedule.jobs(s)), timeout=30)
    found = Counter(body["n"] for _, body in bodies(on, queue))
    assert set(found) == set(range(2000))
    assert not schedule.dead(s)
    assert len([event for event in seen if event.name == "lost"]) == len([e for e in seen if e.name == "back"])


def test_a_broker_that_is_away_is_waited_for(server: Server, own_rabbit: Rabbit, s: schedule.Schedule, name: str,
                                             seen: list[Event]) -> None:  # fmt: skip
    to = schedule.create(name, amqp=own_rabbit.url, layout="event")
    schedule.drain(to, imports=["tests.handlers"], folder=None, jobs=["note"])  # so that its queue is there
    with schedule.forwarder(s, to=to) as ours:
        own_rabbit.kill()
        schedule.add_many(s, [{"fn": "note", "at": "now", "args": [{"n": n}]} for n in range(50)])
        until(lambda: ours.unready(), what="the loss")
        assert "without amqp://" in (ours.unready() or "")
        assert schedule.counts(s).running >= 1
        own_rabbit.start()
        until(lambda: not list(schedule.jobs(s)), timeout=30)
        assert ours.unready() is None
    lost, back = ([event for event in seen if event.name == word] for word in ("lost", "back"))
    assert (len(lost), len(back), lost[0].schedule) == (1, 1, name)
    assert not schedule.dead(s)
    with rabbit.connected(own_rabbit.url) as channel:
        assert channel.queue_declare(f"{name}.workkit.note", passive=True).method.message_count == 50


@pytest.mark.parametrize("own_rabbit", ["max_message_size = 2000"], indirect=True)
def test_a_broker_without_memory_is_waited_for_and_one_message_that_it_never_takes_is_dead(
    own_rabbit: Rabbit, s: schedule.Schedule, name: str, seen: list[Event]
) -> None:
    to = schedule.create(name, amqp=own_rabbit.url, layout="hutch")
    schedule.drain(to, imports=["tests.handlers"], folder=None, jobs=["note"])
    rows: list[dict[str, Any]] = [{"fn": "note", "at": "now", "args": [{"n": n}]} for n in range(50)]
    with schedule.forwarder(s, to=to) as ours:
        own_rabbit.control("set_vm_memory_high_watermark", "absolute", "1MB")
        schedule.add_many(s, rows)
        until(lambda: ours.unready(), what="the loss")
        assert [event.fields["reason"] for event in seen if event.name == "lost"] == [
            "takes no messages for now: its memory or disk is full"
        ]
        own_rabbit.control("set_vm_memory_high_watermark", "0.9")
        until(lambda: not list(schedule.jobs(s)), timeout=30)
        assert ours.unready() is None
        assert [event.name for event in seen if event.name in ("lost", "back")] == ["lost", "back"]
        with rabbit.connected(own_rabbit.url) as channel:
            queue = f"{name}.workkit:note"
            assert channel.queue_purge(queue).method.message_count == 50, "each once"
            rows.insert(25, {"fn": "note", "at": "now", "args": [{"n": "x" * 3000}]})
            schedule.add_many(s, rows)
            until(lambda: not list(schedule.jobs(s, state="due")) and schedule.counts(s).running == 0)
            (dead,) = schedule.dead(s)
            assert "message size" in (dead.error or "")
            assert channel.queue_declare(queue, passive=True).method.message_count >= 50


def test_a_forwarder_begins_only_where_the_broker_answers(s: schedule.Schedule) -> None:
    to = schedule.create("hutch", amqp="amqp://guest:guest@127.0.0.1:1/", layout="hutch")
    with pytest.raises(errors.ServerUnreachable, match="connection refused"):
        burst(s, to)
