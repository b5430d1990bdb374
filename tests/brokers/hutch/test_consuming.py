"""A listener on a real broker: what it reads of other programs, and what becomes of each message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch import session_time
from tests.brokers.hutch.opened import FAILURE, Opened, claims, new, one
from tests.brokers.hutch.relay import HEARTBEAT, Relay
from tests.brokers.hutch.test_declared import declare
from tests.processes import until
from workkit import schedule
from workkit.brokers.hutch.topology import delays
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import InvalidOptions, ServerError, ServerRefused, Unsupported
from workkit.jobs.outcome import Again, Dead, Done, Released
from workkit.jobs.run_options import RunOptions

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "jobs": ["note"]}


def test_a_message_without_properties_is_a_job(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b'{"n":1}')
    claim = one(listener)
    assert (claim.fn, claim.args, claim.attempt, claim.trouble) == ("note", ({"n": 1},), 0, None)
    assert abs(claim.due_ms - listener.now_ms()) < 60_000
    assert claims(listener, ends=[(claim, Done())]) == []
    listener.leave()
    assert on.count(on.names.queue("note")) == 0


def test_a_delay_of_another_program_is_honoured(on: Opened) -> None:
    listener = on.listener("orders.created")
    declare(on.channel, delays(on.names))
    on.publish(
        on.names.level_key(5), b'{"n":1}', exchange=on.names.schedule_exchange, expiration="100",
        headers={"CC": ["orders.created"], "h": 1.5 > 1},
    )  # fmt: skip
    claim = one(listener)
    assert (claim.fn, claim.args, claim.attempt) == ("orders.created", ({"n": 1},), 0)
    assert claim.receipt.message.key == "orders.created"
    listener.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    assert on.got(on.names.dead_queue)[0].routing_key == "dead_queue.orders.created"
    listener.leave()
    assert on.count(on.names.queue("orders.created")) == 0, "the dead message came back"


def test_a_failed_message_returns_to_its_queue_alone_with_its_attempt(on: Opened) -> None:
    listener, other = on.listener(), on.bound("note", "#")
    on.publish("note", b'{"n":1}', message_id="m1", correlation_id="c", headers={"f": 1, "CC": []})
    first = one(listener)
    listener.claim(0, ends=[(first, Again(delay_ms=60, attempt=1, failure=FAILURE))])
    second = one(listener)
    assert (second.id, second.attempt, second.args) == ("m1", 1, first.args)
    assert second.receipt.message.properties["correlation_id"] == "c"
    listener.claim(0, ends=[(second, Again(delay_ms=0, attempt=2))])
    third = one(listener)
    assert (third.id, third.attempt, third.receipt.message.key) == ("m1", 2, "note")
    listener.claim(0, ends=[(third, Done())])
    assert on.count(other) == 1, "another consumer got it again"


def test_a_dead_message_says_why(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b'{"n":1}', message_id="m1", delivery_mode=1)
    listener.claim(0, ends=[(one(listener), Dead(failure=FAILURE))])
    method, properties, body = on.got(on.names.dead_queue)
    assert (method.routing_key, body, properties.message_id) == ("dead_queue.note", b'{"n":1}', "m1")
    said = dict(properties.headers)
    assert abs(said.pop("workkit-failed-at") - listener.now_ms()) < 60_000
    assert said == {
        "workkit-key": "note", "workkit-attempt": 1, "workkit-error": "OSError: disk full (app.py:3)",
        "workkit-reason": "failed", "workkit-queue": on.names.queue("note"),
    }  # fmt: skip


@pytest.mark.parametrize("body", [b"not json", b"", b"[1]", b"null", b"\xff"])
def test_a_malformed_body_goes_to_the_dead_queue_with_the_reason(on: Opened, body: bytes) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    on.listener().leave()  # its queue stays
    on.publish("note", body)
    on.publish("note", b'{"n":1}')
    handlers.calls.clear()
    schedule.drain(s, **HOW)
    assert handlers.calls == [({"n": 1},)]
    _, properties, dead = on.got(on.names.dead_queue)
    assert dead == body
    assert properties.headers["workkit-reason"] == "corrupt"
    assert "its body" in properties.headers["workkit-error"]
    assert on.count(on.names.queue("note")) == 0


def test_a_released_message_comes_again_with_no_attempt_spent(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b'{"n":1}', message_id="m1")
    listener.claim(0, ends=[(one(listener), Released())])
    again = one(listener)
    assert (again.id, again.attempt) == ("m1", 0)
    listener.claim(0, ends=[(again, Released(delay_ms=20))])
    later = one(listener)
    assert (later.id, later.attempt) == ("m1", 0)
    listener.claim(0, ends=[(later, Done())])


def test_a_connection_that_is_lost_fences_what_was_held(on: Opened) -> None:
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        listener = on.listener(port=relay.port)
        on.publish("note", b'{"n":1}', message_id="m1")
        held = one(listener)
        relay.cut()
        fenced: list[Any] = []

        def is_fenced() -> bool:
            try:
                fenced.extend(listener.beating()().fenced)
            except ServerError:
                return False
            return bool(fenced)

        until(is_fenced)
        assert fenced == [held]
        again = one(listener)
        assert (again.id, again.crashes) == ("m1", 1)
        turn = listener.claim(0, ends=[(held, Done()), (again, Done())])
        assert list(turn.refused) == [held]
        listener.leave()
        assert on.count(on.names.queue("note")) == 0


def test_a_queue_that_is_deleted_is_declared_again(on: Opened) -> None:
    listener = on.listener()
    assert claims(listener) == []
    on.channel.queue_delete(on.names.queue("note"))
    assert listener.wait(10), "it was not told"
    listener.beating()()
    on.publish("note", b'{"n":1}')
    assert one(listener).args == ({"n": 1},)


def test_what_leads_to_the_dead_queue_is_declared_again(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b'{"n":1}')
    claim = one(listener)
    on.channel.queue_delete(on.names.dead_queue)
    listener.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    assert on.got(on.names.dead_queue)[2] == b'{"n":1}'


def test_a_message_that_waits_for_a_free_thread_goes_to_another_listener(
    on: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, free = on.listener(), on.listener()
    assert claims(busy, 1) == []  # it may be pushed one from now on
    on.publish("note", b'{"n":1}')
    assert busy.wait(10)
    session_time.hoard_for(monkeypatch, seconds=0.0)
    assert busy.beating()().look
    assert one(free).args == ({"n": 1},)


def test_a_listener_that_stops_gives_back_what_it_has_not_begun(on: Opened) -> None:
    stops, stays = on.listener(), on.listener()
    for n in range(4):
        on.publish("note", json.dumps({"n": n}).encode())
    (held,) = claims(stops, 1)
    stops.claim(0, ends=[(held, Done())])
    stops.leave()
    assert sorted(claim.args[0]["n"] for claim in claims(stays)) == [1, 2, 3]


def test_listeners_with_other_namespaces_each_get_every_message(on: Opened) -> None:
    both = [
        schedule.create(on.names.exchange, amqp=on.url, layout="hutch", namespace=f"{on.names.exchange}-{letter}")
        for letter in "ab"
    ]
    handlers.calls.clear()
    try:
        for s in both:
            schedule.drain(s, **HOW)
        on.broker().adding([new({"n": 1})])()
        for s in both:
            schedule.drain(s, **HOW)
    finally:
        for s in both:
            on.channel.queue_delete(f"{s.namespace}:note")
    assert handlers.calls == [({"n": 1},), ({"n": 1},)]


def test_a_work_queue_with_other_arguments_is_refused_with_both_values(on: Opened) -> None:
    on.channel.queue_declare(on.names.queue("note"), durable=True, arguments={"x-max-priority": 10})
    with pytest.raises(
        ServerRefused, match=r"PRECONDITION_FAILED - inequivalent arg 'x-max-priority'.*'3'.*'10'.*Delete it, or"
    ) as no:
        on.listener()
    assert no.value.lasting


def test_what_a_listener_cannot_keep_is_refused(on: Opened) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    with pytest.raises(InvalidOptions, match="names no registered job"):
        schedule.drain(s, **{**HOW, "jobs": ["nobody"]})
    with pytest.raises(Unsupported, match='jobs="note:5" cannot have a priority here'):
        schedule.drain(s, **{**HOW, "jobs": ["note:5"]})
    limited = Serving(options=RunOptions(rate_ms=100.0))
    info = ListenerInfo(listener="", host="", pid=1, version="0", schedules={}, threads=1, serves={"note": limited})
    with pytest.raises(Unsupported, match=r'rate= of @job\("note"\) cannot be kept by RabbitMQ alone. Name a Redis'):
        on.broker().register(info)
    with pytest.raises(Unsupported, match="cannot be pretended here"):
        on.listener().claim(1, now_ms=5)


def test_what_was_pushed_of_a_queue_that_is_not_served_any_more_goes_back(on: Opened) -> None:
    gives_up, other = on.listener("note", "orders.created"), on.listener()
    assert claims(gives_up, 4) == []  # so many may be pushed to it now
    for n in range(4):
        on.publish("note", json.dumps({"n": n}).encode())
    held = [one(gives_up), one(gives_up)]
    left = claims(gives_up, 10, ends=[(claim, Released(unknown=True)) for claim in held])
    gives_up.claim(0, ends=[(claim, Released(unknown=True)) for claim in left])
    found: list[int] = []

    def all_came() -> bool:
        found.extend(claim.args[0]["n"] for claim in claims(other))
        return len(found) == 4

    until(all_came)
    on.publish("orders.created", b'{"n":9}')
    assert one(gives_up).args == ({"n": 9},)


def test_a_malformed_message_that_is_given_back_is_not_dead(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b"not json")
    claim = one(listener)
    assert claim.trouble == "corrupt"
    listener.claim(0, ends=[(claim, Released())])
    again = one(listener)
    assert on.count(on.names.dead_queue) == 0
    listener.claim(0, ends=[(again, Done())])
    assert on.got(on.names.dead_queue)[2] == b"not json"


def test_an_idle_listener_sends_nothing_but_heartbeats(on: Opened) -> None:
    handlers.calls.clear()
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        url = f"amqp://guest:guest@127.0.0.1:{relay.port}/?heartbeat=1"
        s = schedule.create(on.names.exchange, layout="hutch", namespace=on.names.prefix, amqp=url)
        with schedule.listener(s, **HOW):
            on.publish("note", b'{"n":1}')
            until(lambda: handlers.calls)
            begun = [+relay.sent]

            def is_quiet() -> bool:
                """Whether six heartbeats, of 0.5 s each, came one after the other."""
                new = relay.sent - begun[-1]
                if set(new) - {HEARTBEAT}:
                    begun.append(+relay.sent)
                return new[HEARTBEAT] >= 6

            until(is_quiet, timeout=20, what="3 s without a command")


def test_a_listener_runs_what_others_publish(on: Opened) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    handlers.calls.clear()
    with schedule.listener(s, threads=4, **HOW) as listener:
        for n in range(200):
            on.publish("note", json.dumps({"n": n}).encode())
        until(lambda: len(handlers.calls) >= 200)
        on.publish("note", b'{"n":200}')
        until(lambda: len(handlers.calls) >= 201)
        tally = listener.stop()
    assert tally.ran == 201
    assert sorted(call[0]["n"] for call in handlers.calls) == list(range(201))
    assert on.count(on.names.queue("note")) == 0


def test_endings_in_another_order_acknowledge_no_other_message(on: Opened) -> None:
    listener, other = on.listener(), on.listener()
    for n in range(6):
        on.publish("note", json.dumps({"n": n}).encode())
    held: dict[int, Any] = {}

    def all_came() -> bool:
        held.update({claim.args[0]["n"]: claim for claim in claims(listener, 6 - len(held))})
        return len(held) == 6

    until(all_came)
    listener.claim(0, ends=[(held[n], Done()) for n in (4, 1, 2)])
    listener.claim(0, ends=[(held[n], Done()) for n in (0,)])
    listener.leave()
    assert sorted(claim.args[0]["n"] for claim in (one(other), one(other))) == [3, 5]
    assert claims(other) == []


def test_a_queue_that_was_given_up_is_consumed_again_and_again(on: Opened) -> None:
    listener = on.listener("note")
    listener.adding([new({"n": 1})])()
    for _ in range(3):  # such as while the event loop does not answer
        listener.claim(0, ends=[(one(listener), Released(unknown=True))])
        assert claims(listener) == []
        listener.maintain(reconsider=True)
    assert one(listener).args == ({"n": 1},)
