"""Our delays on a real broker: no message waits behind another."""

from __future__ import annotations

import json
from contextlib import closing

from tests import rabbit
from tests.brokers.hutch.opened import FAILURE, Opened, new, one
from tests.processes import until
from tests.rabbit import Rabbit
from workkit.brokers.hutch import compose
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.contract.doctor import Finding
from workkit.jobs.outcome import Again

APART_MS = 300
DELAYS = (5, 1, 4, 0.5, 3, 2)  # in units of APART_MS; 0.5 comes first


def test_a_short_delay_does_not_wait_behind_a_long_one(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    broker.adding([new({"n": 0}, due_ms=broker.now_ms() + 60_000)])()  # the whole ladder is declared now
    long_ms = broker.now_ms() + 60_000
    broker.adding([new({"n": n}, due_ms=long_ms) for n in range(50)])()
    now_ms = broker.now_ms()
    due = {round(10 * delay): now_ms + round(delay * APART_MS) for delay in DELAYS}
    for n, due_ms in due.items():
        body = json.dumps({"n": n}).encode()
        on.publish_message(compose.new(on.names, "note", body, now_ms=now_ms, due_ms=due_ms))
    arrived = []
    for _ in due:
        n = json.loads(on.got(queue)[2])["n"]
        assert broker.now_ms() >= due[n], "before its time"
        arrived.append(n)
    assert arrived == sorted(due)
    assert broker.now_ms() < long_ms - 20_000, "only as late as a busy machine is"
    assert on.count(queue) == 0


def test_messages_that_no_queue_takes_block_no_others(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    now_ms = broker.now_ms()
    broker.adding([new({}, key, due_ms=now_ms + 1000) for key in ("nobody", "note")])()  # the ladder is declared now
    on.got(queue)
    now_ms = broker.now_ms()
    for key in [*["nobody"] * 100, "note"]:
        on.publish_message(compose.new(on.names, key, b"{}", now_ms=now_ms, due_ms=now_ms + 20))
    assert on.got(queue)[2] == b"{}"


def test_a_delayed_message_that_no_queue_takes_waits_for_one(on: Opened, management: str) -> None:
    """RabbitMQ keeps it, `stats` counts it, the doctor names it, and it comes to the queue that is bound at last."""
    broker = on.broker(management=management)
    (added,) = broker.adding([new({"n": 1}, "nobody", due_ms=broker.now_ms() + 20)])()

    def undelivered() -> list[Finding]:
        return [found for found in broker.doctor.checkup(patience_ms=0) if found.kind == "undelivered"]

    (found,) = until(undelivered, timeout=20, what="the doctor to name it")
    assert found.about == (on.names.arrival_queue("nobody"),)
    assert "1 message of" in found.what
    assert "routing key nobody leads to no queue" in found.what
    assert broker.inspector.counts().waiting == 1
    method, properties, body = on.got(on.bound("nobody"))
    assert (method.routing_key, properties.message_id, body) == ("nobody", added.id, b'{"n":1}')
    assert undelivered() == []


def test_a_delayed_retry_whose_queue_is_deleted_waits_for_it(on: Opened, management: str) -> None:
    listener = on.listener()
    on.publish("note", b"{}", message_id="m1")
    claim = one(listener)
    listener.claim(0, ends=[(claim, Again(delay_ms=1000, attempt=1, failure=FAILURE))])
    listener.leave()
    on.channel.queue_delete(on.names.queue("note"))
    looks = on.broker(management=management)

    def undelivered() -> list[Finding]:
        return [found for found in looks.doctor.checkup(patience_ms=0) if found.kind == "undelivered"]

    (found,) = until(undelivered, timeout=20, what="the doctor to name it")
    assert f"queue {on.names.queue('note')} is gone" in found.what
    again = one(on.listener())
    assert (again.id, again.attempt) == ("m1", 1)


def test_delays_survive_a_broker_that_is_killed(own_rabbit: Rabbit, name: str) -> None:
    names, numbers = Names(exchange=name, dialect="hutch"), range(1500)
    with closing(HutchBroker(read_address(own_rabbit.url), names=names)) as broker:
        with rabbit.connected(own_rabbit.url) as channel:
            channel.exchange_declare(names.exchange, "topic", durable=True)
            channel.queue_declare(name, durable=True)
            channel.queue_bind(name, names.exchange, "note")
        broker.adding([new({}, "nobody", due_ms=broker.now_ms() + 4000)])()  # the ladder is declared now
        now_ms = broker.now_ms()
        broker.adding([new({"n": n}, due_ms=now_ms + 1000 + 2 * n) for n in numbers])()
        with rabbit.connected(own_rabbit.url) as channel:
            until(lambda: channel.queue_declare(name, passive=True).method.message_count > len(numbers) // 2)
        own_rabbit.kill()
        own_rabbit.start()
        with rabbit.connected(own_rabbit.url) as channel:
            arrived: set[int] = set()
            for _, _, body in channel.consume(name, auto_ack=True, inactivity_timeout=10):
                assert body is not None, f"{len(numbers) - len(arrived)} of {len(numbers)} are lost"
                arrived.add(json.loads(body)["n"])
                if arrived == set(numbers):
                    break
