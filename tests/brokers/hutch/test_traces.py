"""The trace context in messages: ours and that of any other producer, through retries and into the dead queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.brokers.hutch.opened import FAILURE, Opened, new, one
from workkit.brokers.hutch.message import Message
from workkit.jobs.outcome import Again, Dead
from workkit.tracing import TraceContext

IDS = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
TRACE = TraceContext(f"00-{IDS}-01", "vendor=1")


@pytest.mark.parametrize(
    ("parent", "is_read"),
    [
        (TRACE.parent, True),
        (TRACE.parent.encode(), True),
        (f"01-{IDS}-00", True),
        (f"01-{IDS}-00-more", True),
        (f"00-{IDS}-01-more", False),
        (f"ff-{IDS}-01", False),
        (f"00-{IDS}", False),
        (TRACE.parent.upper(), False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01", False),
        (f"{TRACE.parent}\n", False),
        ("", False),
        (7, False),
        ([TRACE.parent], False),
        (None, False),
    ],
)
def test_a_traceparent_of_any_producer_is_read_and_nothing_else(parent: object, is_read: bool) -> None:
    found = Message(exchange="", routing_key="note", headers={"traceparent": parent, "tracestate": "a=1"}).trace
    assert (found is not None) == is_read
    assert found is None or found.state == "a=1"


def test_a_message_carries_the_context_in_headers_and_is_the_same_without_it(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    job = replace(new({"id": 1}), identity="s job@1")
    for trace in (None, TRACE, TraceContext(TRACE.parent)):
        broker.adding([replace(job, trace=trace)])()
    (_, plain, body), (_, traced, same_body), (_, stateless, _) = (on.got(queue) for _ in range(3))
    assert (same_body, traced.message_id) == (body, plain.message_id)
    assert traced.headers.keys() - plain.headers.keys() == {"traceparent", "tracestate"}
    assert (traced.headers["traceparent"], traced.headers["tracestate"]) == TRACE
    assert stateless.headers.keys() - plain.headers.keys() == {"traceparent"}, "no empty tracestate"


def test_each_copy_of_a_message_keeps_the_context(on: Opened) -> None:
    listener = on.listener()
    listener.adding([replace(new({"id": 1}), trace=TRACE)])()
    first = one(listener)
    listener.claim(0, ends=[(first, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    second = one(listener)
    listener.claim(0, ends=[(second, Again(delay_ms=20, attempt=2, failure=FAILURE))])
    third = one(listener)
    assert [claim.attempt for claim in (first, second, third)] == [0, 1, 2]
    assert listener.traces_of([first, second, third]) == [TRACE] * 3
    listener.claim(0, ends=[(third, Dead(failure=FAILURE))])
    _, dead, _ = on.got(on.names.dead_queue)
    assert (dead.headers["traceparent"], dead.headers["tracestate"]) == TRACE


def test_the_context_of_a_foreign_producer_is_found(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", headers={"traceparent": TRACE.parent, "baggage": "user=7"})
    on.publish("note")
    claims = [one(listener), one(listener)]
    assert listener.traces_of(claims) == [TraceContext(TRACE.parent), None]
