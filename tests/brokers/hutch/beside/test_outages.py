"""A Redis that goes away, or forgets: messages wait, and none is lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch.beside.pair import Pair, admitted, meet, taken
from tests.brokers.hutch.relay import Relay
from workkit import events, schedule
from workkit.brokers.hutch.beside.guard import RedisGate
from workkit.brokers.hutch.beside.place import Beside, listeners, running
from workkit.errors import ServerError, ServerUnreachable
from workkit.jobs.outcome import DONE, Again
from workkit.jobs.run_options import RunOptions

ONE = RunOptions(limit=1)


def redis_port(pair: Pair) -> int:
    return int(pair.server.url.rpartition(":")[2].partition("/")[0])


def test_what_a_listener_cannot_note_goes_back_to_others(pair: Pair) -> None:
    with Relay(redis_port(pair)) as relay:
        listener = pair.listener(redis_port=relay.port)
        pair.on.publish("note", b"{}", message_id="m1")
    with pytest.raises(ServerUnreachable, match="connection"):
        listener.claim(5)
    with pytest.raises(ServerUnreachable) as caught:
        listener.beating()()
    assert "the Redis beside it, redis://" in (caught.value.trouble or "")
    assert taken(pair.listener(), 1)[0].id == "m1"


def test_an_ending_waits_for_redis_and_its_copy_is_published_once(pair: Pair) -> None:
    with Relay(redis_port(pair)) as relay:
        listener = pair.listener(redis_port=relay.port, options=ONE)
        pair.on.publish("note", b"{}", message_id="m1")
        (claim,) = admitted(listener, taken(listener, 1), ONE)
    with pytest.raises(ServerUnreachable):
        listener.claim(0, ends=[(claim, Again(delay_ms=0, attempt=1))])
    for _ in range(2):
        with pytest.raises(ServerUnreachable):
            listener.claim(5)
    with Relay(redis_port(pair), at=relay.port):
        (again,) = taken(listener, 1)
        assert (again.id, again.attempt) == ("m1", 1)
        listener.claim(0, ends=[(again, DONE)])
        assert listener.claim(5).claims == [], "the copy was published twice"
        assert pair.client.exists(pair.keys.slots, pair.keys.begun) == 0


class Deaf(Beside):
    """Runs every script, and loses the answers of `admit`."""

    def call(self, verb: str, args: Sequence[Any], **of: str) -> Any:
        answer = super().call(verb, args, **of)
        if verb == "admit":
            raise ServerUnreachable("the answer was lost")
        return answer


def test_a_slot_whose_answer_was_lost_is_free_when_its_message_ends(pair: Pair) -> None:
    listener = pair.listener(options=ONE)
    pair.on.publish("note", b"{}", message_id="m1")
    (claim,) = taken(listener, 1)
    gate = listener._gate
    assert isinstance(gate, RedisGate)
    beside = gate._beside
    gate._beside = Deaf(beside.server, beside.keys)
    with pytest.raises(ServerUnreachable):
        admitted(listener, [claim], ONE)
    assert pair.client.zcard(pair.keys.slots) == 1
    gate._beside = beside
    listener.leave()
    assert pair.client.zcard(pair.keys.slots) == 0


def test_a_listener_that_was_taken_for_dead_says_what_it_holds_and_goes_on(pair: Pair) -> None:
    listener, other = pair.listener(patience=1.0), pair.listener(patience=1.0)
    pair.on.publish("note", b"{}", message_id="m1")
    (claim,) = admitted(listener, taken(listener, 1), ONE)

    def reaped() -> bool:
        other.beating()()
        return bool(other.maintain())

    meet(reaped)
    assert pair.client.zcard(pair.keys.slots) == 0
    listener.beating()()
    assert pair.client.zcard(pair.keys.slots) == 1
    assert pair.client.hlen(pair.keys.crashes) == 0, "it was no crash"
    assert [one.job.id for one in running(listener._beside, pair.on.names)] == ["m1"]  # type: ignore[arg-type]
    listener.claim(0, ends=[(claim, DONE)])
    assert pair.client.exists(pair.keys.slots, pair.keys.begun, pair.keys.counted) == 0


def test_a_redis_that_forgot_everything_learns_what_is_held(pair: Pair) -> None:
    listener = pair.listener()
    for id in ("m1", "m2"):
        pair.on.publish("note", b"{}", message_id=id)
    first, second = taken(listener, 2)
    assert [claim.id for claim in admitted(listener, [first], ONE)] == ["m1"]
    pair.client.flushall()
    assert admitted(listener, [second], ONE) == [], "the slot of the first is taken again"
    listener.claim(0, ends=[(first, DONE)])
    (now,) = taken(listener, 1)
    listener.claim(0, ends=[(now, DONE)])
    listener.leave()
    assert pair.client.dbsize() == 0


def test_a_whole_listener_reports_that_redis_is_lost_and_back_and_runs_everything(pair: Pair) -> None:
    pair.listener().leave()
    seen: list[events.Event] = []

    def told(name: str) -> list[str]:
        return [event.fields.get("reason", "") for event in seen if event.name == name]

    handlers.calls.clear()
    with Relay(redis_port(pair)) as relay:
        s = schedule.create(
            pair.on.names.exchange, amqp=pair.on.url, redis=f"redis://127.0.0.1:{relay.port}/", layout="hutch"
        )
        unsubscribe = events.subscribe(seen.append)
        try:
            with schedule.listener(s, imports=["tests.handlers"], folder=None, jobs=["note"]):
                for n in range(30):
                    pair.on.publish("note", b'{"n":%d}' % n, message_id=f"m{n}")
                    if n % 10 == 5:
                        relay.cut()
                meet(lambda: {call[0]["n"] for call in handlers.calls} == set(range(30)))
                while not told("lost"):
                    relay.cut()
                    time.sleep(0.02)
                meet(lambda: told("back"))
        finally:
            unsubscribe()
    assert all("the Redis beside it" in reason for reason in told("lost"))
    assert pair.on.count(pair.on.names.queue("note")) == 0
    assert listeners(pair.beside(), pair.on.names) == []


def test_an_addition_needs_redis_only_for_a_unique_key(pair: Pair) -> None:
    pair.listener()
    with Relay(redis_port(pair)) as relay:
        url = f"redis://127.0.0.1:{relay.port}/"
    s = schedule.create(pair.on.names.exchange, amqp=pair.on.url, redis=url, layout="hutch")
    assert schedule.add_now(s, "note", args=[{}]).new
    with pytest.raises(ServerError):
        schedule.add_now(s, "note", args=[{}], unique_key="k")
