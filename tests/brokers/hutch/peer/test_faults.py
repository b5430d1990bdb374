"""The faults of hutch, hutch-schedule and event (spec/layouts/hutch.md, section 9): the peer has them, and beside it a
workkit listener on the same keys does not.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch.opened import FAILURE, Opened, claims, new, one
from tests.brokers.hutch.peer.conftest import Beside
from tests.brokers.hutch.peer.ruby_peer import RubyPeer
from tests.processes import until
from workkit import schedule
from workkit.brokers.hutch.message import failures_elsewhere
from workkit.brokers.hutch.topology import delay_key, delays, step_exchange, waiting_key
from workkit.jobs.outcome import Again, Dead, Done

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "jobs": ["note"]}
FAILS = {"fail": -1}


def consumers(on: Opened, queue: str) -> int:
    return int(on.channel.queue_declare(queue, passive=True).method.consumer_count)


def test_a_dead_message_of_event_returns_for_ever_and_ours_stays_dead(on: Opened, beside: Beside) -> None:
    """A delay counts as a failure with event, so the only run of this message is its last. Its dead copy keeps `CC`."""
    listener = on.listener()
    event = beside.event(consumer={"max_fails": 1})
    event.delay(5, "note", FAILS)
    claim = one(listener)
    assert (claim.args, claim.attempt) == ((FAILS,), 0), "a delay is no failure with us"
    event.ran(20)
    assert on.count(on.names.dead_queue) >= 10
    event.close()
    on.channel.queue_purge(on.names.dead_queue)
    listener.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    until(lambda: on.count(on.names.dead_queue) == 1)
    assert on.got(on.names.dead_queue)[0].routing_key == "dead_queue.note"
    assert claims(listener) == [], "a dead copy came to our work queue, and was to run"


def test_a_rejection_ends_the_consumer_of_event_and_no_answer_ends_ours(on: Opened, beside: Beside) -> None:
    listener = on.listener()
    event = beside.event()
    for answer in ("reject", None):
        event.publish("note", {"answer": answer})
    until(lambda: consumers(on, event.queue) == 0, what="the channel to be closed after the second acknowledgement")
    first = one(listener)
    listener.claim(0, ends=[(first, Done())])
    assert list(listener.claim(0, ends=[(first, Dead(failure=FAILURE))]).refused) == [first]
    second = one(listener)
    listener.claim(0, ends=[(second, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    assert list(listener.claim(0, ends=[(second, Done())]).refused) == [second]
    third = one(listener)
    assert (third.attempt, third.crashes) == (1, 0), "the channel was closed meanwhile"
    assert consumers(on, on.names.queue("note")) == 1


def test_a_retry_of_theirs_reaches_all_and_ours_reaches_one(on: Opened, beside: Beside) -> None:
    fails = beside.event(consumer={"wait": 5, "fail": 1})
    healthy = beside.hutch()
    listener = on.listener()
    on.broker().adding([new({"n": 1})])()
    first = one(listener)
    listener.claim(0, ends=[(first, Again(delay_ms=50, attempt=1, failure=FAILURE))])
    second = one(listener)
    assert (second.id, second.attempt) == (first.id, 1)
    listener.claim(0, ends=[(second, Again(delay_ms=0, attempt=2, failure=FAILURE))])
    third = one(listener)
    assert (third.id, third.attempt) == (first.id, 2)
    listener.claim(0, ends=[(third, Done())])
    assert len(healthy.runs()) == len(fails.runs()) == 1, "our retry reached another queue"
    assert [said["ran"] for said in healthy.ran(2)] == ["note", on.names.level_key(5)]
    foreign = one(listener)
    assert (foreign.attempt, foreign.receipt.message.key) == (0, "note")
    listener.claim(0, ends=[(foreign, Done())])


def test_attempts_count_where_x_death_does_not(on: Opened) -> None:
    """Newer brokers do not go on counting in an `x-death` that a program publishes. Each of our retries comes with the
    deaths of its own delay only, as there; so a program that counts deaths would try for ever.
    """
    listener = on.listener()
    on.publish("note", b"{}", headers={"x-death": [{"count": 50, "reason": "expired", "queue": "q"}]})
    seen: list[tuple[int, int]] = []
    for attempt in range(4):
        claim = one(listener)
        seen.append((claim.attempt, len(claim.receipt.message.headers.get("x-death", []))))
        again = Again(delay_ms=16, attempt=attempt + 1, failure=FAILURE)
        listener.claim(0, ends=[(claim, again if attempt < 3 else Dead(failure=FAILURE))])
    assert seen == [(0, 1), (1, 2), (2, 2), (3, 2)]  # a step and the end of its delay
    assert on.got(on.names.dead_queue)[1].headers["workkit-attempt"] == 4


def test_the_broker_drops_a_message_with_old_deaths_and_ours_has_none(on: Opened) -> None:
    """48 ms are two steps. A message that has died in both before is dropped at the second: the cycle check."""
    listener = on.listener()
    on.publish("note", b"{}", message_id="m1")
    first = one(listener)
    listener.claim(0, ends=[(first, Again(delay_ms=48, attempt=1, failure=FAILURE))])
    second = one(listener)
    message = second.receipt.message
    assert len(message.headers["x-death"]) == 3  # in two steps, and at the end of the delay
    assert failures_elsewhere(message.headers) == 0
    on.publish(
        delay_key(48),
        b"dropped",
        exchange=step_exchange(on.names, 1),
        headers={**message.headers, "CC": [waiting_key(message.routing_key)]},
    )
    on.publish(delay_key(48), b'{"n":2}', exchange=step_exchange(on.names, 1),
               headers={"CC": [waiting_key(message.routing_key)]})  # fmt: skip
    fresh = one(listener)
    assert fresh.args == ({"n": 2},)
    listener.claim(0, ends=[(second, Again(delay_ms=48, attempt=2, failure=FAILURE)), (fresh, Done())])
    third = one(listener)
    assert (third.id, third.attempt) == ("m1", 2)


def test_mixed_expirations_wait_for_the_head_of_their_queue_and_ours_do_not(on: Opened, beside: Beside) -> None:
    program = beside.hutch("theirs", schedule=True)
    listener = on.listener()
    broker = on.broker()
    broker.adding([new({"n": 0}, due_ms=broker.now_ms() + 1100)])()  # so that the ladder is declared
    began = broker.now_ms()
    for expiration in ("1500", "100"):
        on.publish(on.names.level_key(5), b"{}", exchange=on.names.schedule_exchange, expiration=expiration,
                   headers={"CC": ["theirs"]})  # fmt: skip
    due = {n: began + delay for n, delay in ((1, 1500), (2, 100))}
    broker.adding([new({"n": n}, due_ms=at) for n, at in due.items()])()
    late: dict[int, float] = {}
    while len(late) < 3:
        claim = one(listener)
        late[claim.args[0]["n"]] = broker.now_ms() - claim.due_ms
        listener.claim(0, ends=[(claim, Done())])
    assert list(late) == [2, 0, 1]
    assert late[2] < 1000
    assert min(said["at"] for said in program.ran(2)) >= began + 1400


def test_a_stray_message_stays_with_event_for_ever_and_ours_runs(on: Opened, beside: Beside) -> None:
    """A consumer of event with a wildcard finds no handler. With us, all that reaches a work queue is its job."""
    event = beside.event("multi.#")
    listener = on.listener()
    listener.claim(0)
    on.channel.queue_bind(on.names.queue("note"), on.names.exchange, "multi.a.b")
    event.publish("multi.a.b", {"n": 1})
    claim = one(listener)
    assert (claim.fn, claim.args) == ("note", ({"n": 1},))
    listener.claim(0, ends=[(claim, Done())])
    listener.leave()
    assert on.got(on.names.dead_queue)[0].routing_key == "dead_queue.multi.a.b"
    assert on.count(on.names.queue("note")) == 0
    event.close()
    until(lambda: on.count(event.queue) == 1, what="the stray message to come again")


def test_a_body_that_is_no_object_stays_with_hutch_schedule_and_ours_is_dead(on: Opened, beside: Beside) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    keeps = beside.hutch(schedule=True)
    drops = beside.hutch(name="two")
    on.listener().leave()  # its queue stays
    on.publish("note", b"[1]")
    schedule.drain(s, **HOW)
    _, properties, body = on.got(on.names.dead_queue)
    assert (body, properties.headers["workkit-reason"]) == (b"[1]", "corrupt")
    for program in (keeps, drops):
        program.close()
    until(lambda: on.count(keeps.queue) == 1, what="the message to come again")
    assert on.count(drops.queue) == on.count(on.names.queue("note")) == 0
    assert not keeps.runs()


def test_two_sets_of_delay_queues_double_messages_of_theirs_and_none_of_ours(on: Opened, beside: Beside) -> None:
    one_set, other = on.names.exchange, f"{on.names.exchange}-b"
    for namespace in (one_set, other):
        beside.open("hutch", schedule=True, namespace=namespace)
        for queue in delays(on.names).queues:
            beside.doomed(f"{namespace}:{queue.name}")
    program = beside.hutch("theirs", schedule=True)
    listener = on.listener()
    program.delay(1, "theirs", {"n": 1})
    broker = on.broker()
    broker.adding([new({"n": 2}, due_ms=broker.now_ms() + 100)])()
    claim = one(listener)
    listener.claim(0, ends=[(claim, Again(delay_ms=100, attempt=1, failure=FAILURE))])
    again = one(listener)
    assert (again.id, again.attempt) == (claim.id, 1)
    listener.claim(0, ends=[(again, Done())])
    found = program.ran(2)
    assert found[0]["id"] == found[1]["id"]
    assert claims(listener) == []


def test_delays_of_ours_hold_beside_delay_queues_that_lose_all(on: Opened, beside: Beside) -> None:
    """As hutch-schedule declares them with hutch 1.4.0. Where they are right already, such a program does not start."""
    broken = beside.hutch("theirs", schedule=True, version="1.4.0")
    beside.open("hutch", namespace=None)
    broken.delay(1, "theirs", {"n": 1})
    listener = on.listener()
    broker = on.broker()
    broker.adding([new({"n": 2}, due_ms=broker.now_ms() + 100)])()
    assert one(listener).args == ({"n": 2},)
    until(lambda: on.count(on.names.delay_queue(5)) == 0, what="the message to expire")
    assert not broken.runs()


def test_a_second_start_of_a_program_with_other_delay_queues_fails_and_ours_does_not(
    on: Opened, beside: Beside
) -> None:
    beside.open("event")
    with pytest.raises(AssertionError, match="PRECONDITION_FAILED"):
        beside.open("hutch", schedule=True, version="1.4.0")
    on.publish("note", b'{"n":1}')
    broker, listener = on.broker(), on.listener()
    broker.adding([new({"n": 2}, due_ms=broker.now_ms() + 50)])()
    assert one(listener).args == ({"n": 2},)


def test_a_queue_that_is_deleted_leaves_hutch_deaf_and_ours_comes_back(on: Opened, beside: Beside) -> None:
    program, listener = beside.hutch(), on.listener()
    assert claims(listener) == []  # from now on it consumes
    for queue in (program.queue, on.names.queue("note")):
        on.channel.queue_delete(queue)
    assert listener.wait(10), "it was not told"
    listener.beating()()
    on.broker().adding([new({"n": 1})])()
    assert one(listener).args == ({"n": 1},)
    assert not program.runs()


def test_a_crash_at_a_failure_loses_the_message_of_hutch_schedule_and_not_ours(on: Opened, beside: Beside) -> None:
    """It gives the message up before it publishes the retry."""
    listener = on.listener()
    queue = beside.doomed(f"{on.names.exchange}:one")
    with closing(RubyPeer()) as alone:
        names = {"exchange": on.names.exchange, "namespace": on.names.exchange}
        program = alone.open("a", "hutch", on.url, schedule=True, crash_at="after-nack", **names)
        for one_queue in delays(on.names).queues:
            beside.doomed(f"{on.names.exchange}:{one_queue.name}")
        program.consume({"queue_name": "one", "keys": ["note"], "attempts": 3, "fail": -1})
        on.publish("note", b'{"n":1}', message_id="m1")
        assert alone.process.wait() < 0
    until(lambda: consumers(on, queue) == 0)
    assert on.count(queue) == on.count(f"{on.names.exchange}:{on.names.delay_queue(5)}") == 0, "it is not lost"
    assert one(listener).id == "m1"
    listener.close()  # without a word about the message
    again = on.listener()
    assert (one(again).id, again.schedule) == ("m1", on.names.exchange)


def test_hutch_takes_all_that_waits_and_ours_what_it_has_room_for(on: Opened, beside: Beside) -> None:
    program = beside.hutch(consumer={"sleep_ms": 60_000})
    listener = on.listener()
    for _ in range(64):
        on.publish("note", b'{"n":1}')
    until(lambda: on.count(program.queue) == 0, what="all messages to be with one program")
    assert len(claims(listener, 1)) == 1
    assert on.count(on.names.queue("note")) >= 60
    program.close()


def test_what_others_publish_by_the_schedule_key_alone_runs_nowhere(on: Opened, beside: Beside) -> None:
    """A level that does not exist: the broker drops the message without a word. A delay of ours has no levels."""
    program = beside.hutch("theirs", schedule=True)
    listener = on.listener()
    on.publish(on.names.level_key(7), b"{}", exchange=on.names.schedule_exchange, expiration="50",
               headers={"CC": ["theirs"]})  # fmt: skip
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    began = time.time()
    schedule.add(s, "note", in_="0.7 seconds", args=[{"n": 1}])
    assert one(listener).args == ({"n": 1},)
    assert 0.7 <= time.time() - began < 5
    assert not program.runs()


def test_a_dead_copy_that_event_sends_to_all_is_not_run(on: Opened) -> None:
    """Its `CC` leads it to every work queue of the key, each time that event fails."""
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    on.listener().leave()
    on.publish("dead_queue.note", b'{"n":1}', headers={"CC": ["note"]})
    on.publish("note", b'{"n":2}')
    handlers.calls.clear()
    schedule.drain(s, **HOW)
    assert handlers.calls == [({"n": 2},)]
    assert on.count(on.names.queue("note")) == 0
    assert on.got(on.names.dead_queue)[2] == b'{"n":1}'


def test_event_gives_up_a_message_that_it_could_not_send_again_and_ours_is_kept(on: Opened, beside: Beside) -> None:
    """An operator has deleted what leads to the delays."""
    event, listener = beside.event(consumer={"prefetch": 1}), on.listener()
    on.publish("note", b'{"n":1,"fail":-1}', message_id="m1")
    claim = one(listener)
    waiting = [queue.name for queue in delays(on.names).queues]
    until(lambda: sum(map(on.count, waiting)) == 1, what="the first delay of event")
    for exchange in (on.names.schedule_exchange, on.names.own_exchange):
        on.channel.exchange_delete(exchange)
    listener.claim(0, ends=[(claim, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    again = one(listener)
    assert (again.id, again.attempt) == ("m1", 1)
    for body in (b'{"n":2,"fail":-1}', b'{"n":3}'):
        on.publish("note", body)
    event.ran(3)  # one at a time: the second was acknowledged
    event.close()
    returned = [on.got(event.queue)[2] for _ in range(on.count(event.queue))]
    assert returned in ([], [b'{"n":3}']), "the third, if it was not acknowledged"
    assert on.count(on.names.dead_queue) == 0
    assert [json.loads(said["body"])["n"] for said in event.runs()] == [1, 2, 3]
