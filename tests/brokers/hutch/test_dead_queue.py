"""The dead queue of a real broker: read without a trace, messages run again, or are forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest

from tests.brokers.hutch.opened import FAILURE, Opened, claims, new, one
from tests.processes import until
from workkit.brokers.hutch import held
from workkit.brokers.hutch.admin import HutchAdmin
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.topology import dead as dead_topology
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.errors import InvalidArguments, ServerError
from workkit.jobs.job import Job
from workkit.jobs.outcome import Dead


def listed(broker: HutchBroker) -> list[Job]:
    return list(broker.inspector.jobs(state="dead"))


def filled(on: Opened, n: int, *, key: str = "orders.created") -> HutchBroker:
    """Put messages into the dead queue as event does, with the bodies 0, 1, ..."""
    broker = on.broker()
    broker._out.run(lambda wire: wire.declare(dead_topology(on.names)))
    on.channel.confirm_delivery()
    for number in range(n):
        on.publish(f"dead_queue.{key}", b'{"n":%d}' % number, message_id=f"m{number}", delivery_mode=1)
    return broker


def failed(on: Opened, n: int = 1) -> HutchBroker:
    """Let messages of ours fail for good, with the bodies 0, 1, ..."""
    listener = on.listener()
    listener.adding([new({"n": number}) for number in range(n)])()
    for _ in range(n):
        listener.claim(0, ends=[(one(listener), Dead(failure=FAILURE))])
    listener.leave()
    return listener


def numbers(jobs: Sequence[Job]) -> list[Any]:
    return [job.args[0]["n"] for job in jobs]


def test_a_dead_queue_is_read_page_by_page_and_stays_as_it_was(on: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FIRST": 4, "DEAD_PAGE": 3, "GROWTH": 2}.items():
        monkeypatch.setattr(held, name, value)
    broker = filled(on, 30)
    found = listed(broker)
    assert numbers(found) == list(range(30))
    assert len({job.dead_id for job in found}) == 30
    assert {(job.fn, job.state, job.queue) for job in found} == {("orders.created", "dead", None)}
    assert on.count(on.names.dead_queue) == 30
    assert [json.loads(on.got(on.names.dead_queue)[2])["n"] for _ in range(30)] == list(range(30))


def test_large_messages_are_read_in_smaller_pages(on: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST_BYTES", 3000)
    monkeypatch.setattr(held, "STEP", 2)
    broker = filled(on, 0)
    for number in range(20):
        on.publish("dead_queue.orders.created", json.dumps({"n": number, "text": "x" * 1000}).encode())
    with held.Held(broker._aside, on.names.dead_queue) as first:
        assert 3 <= len(first.more(100)) <= 6
    assert numbers(listed(broker)) == list(range(20))
    assert broker.admin.discard(listed(broker)) == 20


def test_a_list_that_is_not_read_to_its_end_holds_nothing(on: Opened) -> None:
    broker = filled(on, 5)
    pages = broker.inspector.jobs(state="dead")
    assert numbers(list(islice(pages, 2))) == [0, 1]
    assert on.count(on.names.dead_queue) == 5
    assert numbers(list(pages)) == [2, 3, 4]


def test_a_queue_that_does_not_exist_holds_nothing(on: Opened) -> None:
    assert listed(on.broker()) == []
    assert on.broker().admin.discard([Job(id="x", schedule="s", fn="f", dead_id="x:0")]) == 0


def test_a_retried_message_reaches_only_the_queue_it_came_from(on: Opened) -> None:
    broker, other = failed(on, 2), on.bound("note")
    first, second = listed(broker)
    assert (first.fn, first.error, first.why, first.attempt) == ("note", FAILURE.line, "failed", 0)
    assert first.queue == on.names.queue("note")
    assert broker.admin.retry([second]) == ["revived"]
    assert broker.admin.retry([second]) == ["gone"]
    assert numbers(listed(broker)) == [0]
    claim = one(on.listener())
    assert (claim.id, claim.args, claim.attempt, claim.crashes) == (second.id, second.args, 0, 0)
    assert on.count(other) == 0, "another consumer of the key got it again"


def test_a_retried_message_of_event_goes_by_its_key_and_does_not_come_back(on: Opened) -> None:
    broker, queue = filled(on, 0), on.bound("orders.created")
    on.publish("dead_queue.orders.created", b"[1]", message_id="e1", headers={"CC": [], "own": 1})
    (job,) = listed(broker)
    assert broker.admin.retry([job]) == ["revived"]
    method, properties, body = on.got(queue)
    assert (method.routing_key, properties.message_id, properties.delivery_mode, body) == (
        "orders.created", "e1", 2, b"[1]",
    )  # fmt: skip
    assert set(properties.headers) == {"own", "workkit-due"}
    assert on.count(on.names.dead_queue) == 0


def test_a_message_whose_queue_is_gone_stays_dead(on: Opened) -> None:
    broker = failed(on, 2)
    on.channel.queue_delete(on.names.queue("note"))
    assert broker.admin.retry(listed(broker)) == ["unroutable", "unroutable"]
    assert numbers(listed(broker)) == [0, 1]


def test_a_message_without_a_key_can_only_be_discarded(on: Opened) -> None:
    broker = filled(on, 1)
    on.channel.basic_publish("", on.names.dead_queue, b"?")
    found = listed(broker)
    assert [job.fn for job in found] == ["orders.created", "?"]
    on.bound("orders.created")
    assert broker.admin.retry(found) == ["revived", "unreadable"]
    assert broker.admin.discard(found) == 1
    assert listed(broker) == []


def test_of_equal_messages_as_many_are_retried_as_were_chosen(on: Opened) -> None:
    broker, queue = filled(on, 0), on.bound("orders.created")
    for _ in range(3):
        on.publish("dead_queue.orders.created")
    found = listed(broker)
    assert len({job.dead_id for job in found}) == 3
    assert broker.admin.retry(found[1:2]) == ["revived"]
    assert len(listed(broker)) == 2
    assert broker.admin.retry(found) == ["revived", "revived", "gone"]
    assert on.count(queue) == 3


def test_a_message_that_another_program_looks_at_is_waited_for(on: Opened) -> None:
    broker = filled(on, 1)
    (job,) = listed(broker)
    elsewhere = on.channel.basic_get(on.names.dead_queue)[0]
    found: list[int] = []
    change = threading.Thread(target=lambda: found.append(broker.admin.discard([job])))
    change.start()
    change.join(0.05)  # its first look finds nothing
    on.channel.basic_nack(elsewhere.delivery_tag)
    on.channel.connection.process_data_events(0)
    change.join(10)
    assert found == [1]


def test_two_operators_at_once_retry_each_message_once(on: Opened) -> None:
    broker, queue = filled(on, 300), on.bound("orders.created")
    found = listed(broker)
    answers: list[list[str]] = []
    others = [on.broker() for _ in range(2)]
    threads = [threading.Thread(target=lambda b=b: answers.append(b.admin.retry(found))) for b in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [sorted(pair) for pair in zip(*answers, strict=True)] == [["gone", "revived"]] * 300
    assert (on.count(queue), on.count(on.names.dead_queue)) == (300, 0)


def test_a_crash_after_the_copy_leaves_both(on: Opened) -> None:
    broker, queue = filled(on, 3), on.bound("orders.created")
    found = listed(broker)

    class Crashes(Outlet):
        def publish(self, messages: Sequence[Message]) -> list[str | None]:
            troubles = super().publish(messages)
            wire = broker._aside.wire
            assert wire is not None
            broker._aside.post(wire.abort)
            until(lambda: broker._aside.wire is None, what="the connection to be lost")
            return troubles

    outlet = Crashes(broker._out, names=on.names)
    admin = HutchAdmin(link=broker._aside, outlet=outlet, names=on.names, delayed=broker._delayed)
    with pytest.raises(ServerError):
        admin.retry(found[:1])
    assert on.count(queue) == 1
    assert numbers(listed(broker)) == [0, 1, 2]


def test_retried_messages_may_be_spread_over_time(on: Opened) -> None:
    broker = failed(on, 2)
    assert broker.admin.retry(listed(broker), delays_ms=[0, 60_000]) == ["revived", "revived"]
    assert broker.inspector.counts().waiting == 1
    listener = on.listener()
    assert one(listener).args == ({"n": 0},)
    assert claims(listener) == []


@pytest.mark.parametrize("args", [[], [{}, {}], {"n": 1}, [[1]]])
def test_arguments_that_fit_no_message_change_nothing(on: Opened, args: Any) -> None:
    broker = filled(on, 1)
    with pytest.raises(InvalidArguments):
        broker.admin.retry(listed(broker), args=args)
    assert len(listed(broker)) == 1
