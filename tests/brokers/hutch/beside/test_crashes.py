"""Runs that began and did not end: they are counted by queue and message, and only where a process has died."""

from __future__ import annotations

import pytest

from tests import handlers
from tests.brokers.hutch.beside.pair import Pair, meet, taken
from tests.brokers.hutch.relay import Relay
from workkit import schedule
from workkit.brokers.hutch.broker import HutchBroker
from workkit.contract.listener import Claim
from workkit.errors import ServerError
from workkit.jobs.outcome import DONE, Again, Released


def dies(listener: HutchBroker) -> None:
    """The process is gone: RabbitMQ sees that at once, Redis hears nothing."""
    listener._in.close()
    listener._out.close()


def test_each_listener_that_dies_with_a_message_counts_at_once(pair: Pair) -> None:
    pair.listener().leave()  # so that its queue is there
    for crashes in range(3):
        listener = pair.listener()
        if not crashes:
            pair.on.publish("note", b"{}", message_id="m1")
        (claim,) = taken(listener, 1)
        assert (claim.id, claim.crashes) == ("m1", crashes)
        dies(listener)
    handlers.calls.clear()
    schedule.drain(pair.create(), imports=["tests.handlers"], folder=None, jobs=["note"])
    assert handlers.calls == []
    method, properties, _ = pair.on.got(pair.on.names.dead_queue)
    assert method.routing_key == "dead_queue.note"
    assert properties.headers["workkit-reason"] == "crashed"
    assert properties.headers["workkit-error"] == "Crashed: crashed its listener 3 times"
    assert pair.client.hlen(pair.keys.crashes) == 0


def test_a_crash_that_was_counted_is_not_counted_again_by_the_reaper(pair: Pair) -> None:
    first, second = pair.listener(patience=1.0), pair.listener(patience=1.0)
    pair.on.publish("note", b"{}", message_id="m1")
    assert taken(first, 1)
    dies(first)
    (claim,) = taken(second, 1)
    assert claim.crashes == 1

    def reaped() -> bool:
        second.beating()()
        return bool(second.maintain())

    meet(reaped)
    second.claim(0, ends=[(claim, Released())])
    assert taken(second, 1)[0].crashes == 1
    assert pair.client.hlen(pair.keys.counted) == 0


def test_a_listener_that_only_lost_its_connection_counts_nothing(pair: Pair) -> None:
    other = pair.listener()
    with Relay(int(pair.on.url.rpartition(":")[2].rstrip("/"))) as relay:
        cut = pair.listener(amqp_port=relay.port)
        pair.on.publish("note", b"{}", message_id="m1")
        taken(cut, 1)
        relay.cut()
        (claim,) = taken(other, 1)
        assert claim.crashes == 1, "nobody can know yet"

        def is_fenced() -> bool:
            try:
                return bool(cut.beating()().fenced)
            except ServerError:
                return False

        meet(is_fenced)
        cut.beating()()
    other.claim(0, ends=[(claim, Released())])
    again = taken(other, 1)[0]
    assert again.crashes == 0
    assert pair.client.hlen(pair.keys.counted) == 0


@pytest.mark.parametrize("ending", [Released(), Released(delay_ms=20), Again(delay_ms=0, attempt=1)], ids=str)
def test_what_is_given_back_is_no_crash(pair: Pair, ending: Released | Again) -> None:
    listener = pair.listener()
    pair.on.publish("note", b"{}", message_id="m1")
    claim: Claim
    for _ in range(3):
        (claim,) = taken(listener, 1)
        assert claim.crashes == 0
        listener.claim(0, ends=[(claim, ending)])
    (claim,) = taken(listener, 1)
    listener.leave()
    (claim,) = taken(pair.listener(), 1)
    assert claim.crashes == 0


def test_a_message_that_ends_well_forgets_its_crashes(pair: Pair) -> None:
    first = pair.listener()
    pair.on.publish("note", b"{}", message_id="m1")
    taken(first, 1)
    dies(first)
    second = pair.listener()
    (claim,) = taken(second, 1)
    assert claim.crashes == 1
    second.claim(0, ends=[(claim, DONE)])
    pair.on.publish("note", b"{}", message_id="m1")
    assert taken(second, 1)[0].crashes == 0
