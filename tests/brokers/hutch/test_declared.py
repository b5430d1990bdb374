"""The pure topology on a real broker: what the ladder does with a message, as another program sends and reads it."""

from __future__ import annotations

import time
from typing import Any

from tests import rabbit
from workkit.brokers.hutch import compose
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import Topology, arrival, dead, delays, first_step, ladder, work

DELAYS_MS = (600, 1, 250, 1000, 100, 400)


def declare(channel: Any, topology: Topology) -> None:
    for exchange in topology.exchanges:
        channel.exchange_declare(exchange.name, "topic", durable=True)
    for queue in topology.queues:
        channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
    for one in topology.bindings:
        bind = channel.exchange_bind if one.to_exchange else channel.queue_bind
        bind(one.destination, one.source, one.key)


def publish(channel: Any, message: Message) -> None:
    from pika import BasicProperties

    properties = BasicProperties(**message.properties, headers=dict(message.headers))
    channel.basic_publish(message.exchange, message.routing_key, message.body, properties, mandatory=True)


def test_no_message_waits_behind_another_one(amqp: str, names: Names) -> None:
    with rabbit.connected(amqp) as channel:
        declare(channel, work(names, ["note"]))
        declare(channel, ladder(names, highest=first_step(500 + max(DELAYS_MS))) + arrival(names, "note"))
        channel.confirm_delivery()
        base_ms = round(time.time() * 1000) + 500  # by then all are published
        for delay_ms in DELAYS_MS:
            now_ms = round(time.time() * 1000)
            due_ms = base_ms + delay_ms
            publish(channel, compose.new(names, "note", str(due_ms).encode(), now_ms=now_ms, due_ms=due_ms))
        arrived: list[tuple[int, float, Any, Any]] = []
        for method, properties, body in channel.consume(names.queue("note"), auto_ack=True, inactivity_timeout=10):
            assert method is not None, f"only {len(arrived)} of {len(DELAYS_MS)} arrived"
            arrived.append((int(body), time.time() * 1000, method, properties))
            if len(arrived) == len(DELAYS_MS):
                break
        channel.cancel()
    latest = 0
    for due, *_ in arrived:  # one whose time is half a second earlier has not waited behind another
        latest = max(latest, due)
        assert due > latest - 500, [due - base_ms for due, *_ in arrived]
    for due, at, method, properties in arrived:
        assert at >= due, f"{due - at} ms early"
        message = Message(exchange=method.exchange, routing_key=method.routing_key, headers=properties.headers)
        assert (message.key, message.due_ms) == ("note", due)


def test_a_retry_reaches_the_one_queue_that_failed(amqp: str, names: Names) -> None:
    with rabbit.connected(amqp) as channel:
        declare(channel, work(names, ["note", "orders.created"]))
        declare(channel, ladder(names, highest=0) + arrival(names, names.private_key(names.queue("note"))))
        channel.confirm_delivery()
        everything = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(everything, names.exchange, "#")
        message = Message(exchange=names.exchange, routing_key="note", body=b"{}")
        for delay_ms in (0, 10):
            publish(
                channel,
                compose.again(names, message, queue=names.queue("note"), attempt=1, now_ms=1, delay_ms=delay_ms),
            )
        for method, _, _ in channel.consume(names.queue("note"), auto_ack=True, inactivity_timeout=10):
            assert method is not None
            if method.delivery_tag == 2:
                break
        channel.cancel()
        for queue in (everything, names.queue("orders.created")):
            assert channel.queue_declare(queue, passive=True).method.message_count == 0


def test_a_dead_message_stays_in_the_dead_queue(amqp: str, names: Names) -> None:
    with rabbit.connected(amqp) as channel:
        declare(channel, work(names, ["note"]) + dead(names) + delays(names))
        declare(channel, dead(names))  # as another program declares them: nothing differs
        channel.confirm_delivery()
        message = Message(exchange=names.exchange, routing_key="x", headers={"CC": ["note"]}, body=b"not json")
        copy = compose.dead(names, message, queue="q", attempts=1, now_ms=5, error="broken", reason="corrupt")
        publish(channel, copy)
        method, properties, body = channel.basic_get(names.dead_queue)
        assert (method.routing_key, body) == ("dead_queue.note", b"not json")
        assert {**properties.headers} == {**copy.headers}
        assert channel.queue_declare(names.queue("note"), passive=True).method.message_count == 0
