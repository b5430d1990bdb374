"""Unique keys: one message of a key waits or runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch.beside.pair import Pair, admitted, taken
from tests.brokers.hutch.relay import Relay
from tests.processes import until
from workkit import schedule
from workkit.brokers.hutch.addition import RESERVED_MS
from workkit.brokers.hutch.beside.keys import UNIQUE_MS
from workkit.errors import ServerRefused, ServerUnreachable, Unsupported
from workkit.jobs.outcome import DONE, Again, Dead, Done, Failure, Outcome, Released
from workkit.jobs.run_options import UNSAID

FAILURE = Failure(type="OSError", message="disk full")


def add(pair: Pair, n: int = 1, **options: Any) -> Any:
    return schedule.add_now(pair.create(), "note", args=[{"n": n}], **{"unique_key": "order-7", **options})


@pytest.mark.parametrize(
    "ending", [DONE, Done(discarded="no"), Dead(failure=FAILURE)], ids=["done", "discarded", "dead"]
)
def test_a_key_is_free_when_its_run_has_ended_for_good(pair: Pair, ending: Outcome) -> None:
    listener = pair.listener()
    first, twin = add(pair, 1), add(pair, 2)
    assert (first.new, twin.new, twin.id, twin.due) == (True, False, first.id, None)
    (claim,) = taken(listener, 1)
    assert (claim.args, claim.terms.unique_key) == (({"n": 1},), "order-7")
    (running,) = admitted(listener, [claim], UNSAID)
    assert not add(pair).new
    listener.claim(0, ends=[(running, ending)])
    assert add(pair, 3).new
    assert taken(listener, 1)[0].args == ({"n": 3},)


@pytest.mark.parametrize("ending", [Again(delay_ms=0, attempt=1), Released(), Released(delay_ms=20)], ids=str)
def test_a_key_is_kept_while_its_message_comes_again(pair: Pair, ending: Outcome) -> None:
    listener = pair.listener()
    first = add(pair)
    listener.claim(0, ends=[(admitted(listener, taken(listener, 1), UNSAID)[0], ending)])
    assert not add(pair).new
    (again,) = taken(listener, 1)
    assert again.id == first.id
    listener.claim(0, ends=[(again, DONE)])
    assert add(pair).new


def test_a_key_may_be_free_when_the_run_starts(pair: Pair) -> None:
    listener = pair.listener()
    add(pair, unique_until="started")
    (claim,) = taken(listener, 1)
    assert not add(pair).new
    (running,) = admitted(listener, [claim], UNSAID)
    assert add(pair, unique_until="started").new
    listener.claim(0, ends=[(running, Again(delay_ms=0, attempt=1))])
    assert not add(pair).new, "the second message holds the key, and the first does not take it back"


def test_equal_content_is_unique_where_that_is_asked(pair: Pair) -> None:
    pair.listener()
    assert add(pair, 1, unique_key=None, unique=True).new
    assert not add(pair, 1, unique_key=None, unique=True).new
    assert add(pair, 2, unique_key=None, unique=True).new
    assert add(pair, 1, unique_key=None).new, "it did not ask"


def test_of_two_rows_of_one_call_with_one_key_the_first_is_published(pair: Pair) -> None:
    listener = pair.listener()
    rows = [{"fn": "note", "args": [{"n": n}], "at": "now", "unique_key": "k"} for n in (1, 2)]
    tally = schedule.add_many(pair.create(), rows)
    assert (tally.new, tally.known) == (1, 1)
    assert taken(listener, 1)[0].args == ({"n": 1},)


def test_a_message_that_leads_nowhere_leaves_its_key_free(pair: Pair) -> None:
    with pytest.raises(ServerRefused, match="leads to no queue"):
        add(pair)
    assert pair.client.hlen(pair.keys.unique) == 0


@pytest.mark.parametrize("side", ["producer", "broker"])
def test_a_job_whose_confirm_is_lost_is_made_sure_of_by_its_key(pair: Pair, side: str) -> None:
    """The connection ends before the broker has the message, or before the producer has its confirm."""
    listener = pair.listener()
    with Relay(int(pair.on.url.rpartition(":")[2].rstrip("/"))) as relay:
        s = schedule.create(
            pair.on.names.exchange, amqp=f"amqp://127.0.0.1:{relay.port}/", redis=pair.server.url, layout="hutch"
        )
        schedule.add_now(s, "note", args=[{"n": 0}])
        relay.cut_next(behind=side == "broker")
        added = schedule.add_now(s, "note", args=[{"n": 1}], unique_key="order-7")
        assert added.new
        assert not add(pair, 2).new
    seen = []

    def all_came() -> bool:
        for claim in listener.claim(10).claims:
            seen.append(claim)
            (running,) = admitted(listener, [claim], UNSAID)
            listener.claim(0, ends=[(running, DONE)])
        return len(seen) >= 2

    until(all_came)
    add(pair, 3)
    until(lambda: all_came() and len(seen) >= 3)
    assert [claim.args[0]["n"] for claim in seen] == [0, 1, 3]
    assert seen[1].id == added.id
    listener.leave()
    assert pair.on.count(pair.on.names.queue("note")) == 0, "the second one was dropped"


def test_what_was_not_sent_leaves_its_key_free(pair: Pair) -> None:
    pair.listener()
    s = schedule.create(pair.on.names.exchange, amqp="amqp://127.0.0.1:1/", redis=pair.server.url, layout="hutch")
    with pytest.raises(ServerUnreachable) as error:
        schedule.add_now(s, "note", args=[{}], unique_key="order-7")
    assert not error.value.unanswered
    assert add(pair).new


def test_a_producer_that_dies_before_the_message_is_confirmed_locks_the_key_for_a_minute_at_most(pair: Pair) -> None:
    pair.listener()
    pair.beside().call("reserve", [RESERVED_MS, "order-7", "an-id"])
    ends, now = pair.client.zscore(pair.keys.unique_until, "order-7"), pair.broker().now_ms()
    assert ends - now <= RESERVED_MS
    assert not add(pair).new
    pair.client.zadd(pair.keys.unique_until, {"order-7": now - 1})
    assert add(pair).new, "its time has passed, though nobody has freed it"
    ends = pair.client.zscore(pair.keys.unique_until, "order-7")
    assert UNIQUE_MS - 60_000 < ends - now < UNIQUE_MS + 60_000


def test_a_delayed_message_keeps_its_key_for_its_delay_too(pair: Pair) -> None:
    pair.listener()
    broker = pair.broker()
    schedule.add(pair.create(), "note", args=[{}], in_="3 days", unique_key="order-7")
    ends = pair.client.zscore(pair.keys.unique_until, "order-7")
    assert ends - broker.now_ms() > 3 * 86_400_000


def test_the_key_travels_in_a_header_of_ours(pair: Pair) -> None:
    queue = pair.on.bound("note")
    add(pair, unique_until="started")
    _, properties, body = pair.on.got(queue)
    said = {name: value for name, value in properties.headers.items() if name != "workkit-due"}
    assert said == {"workkit-unique": "order-7", "workkit-unique-until": "started"}
    assert json.loads(body) == {"n": 1}


def test_a_listener_without_a_redis_runs_a_unique_message(pair: Pair) -> None:
    pair.listener().leave()
    add(pair, 5)
    handlers.calls.clear()
    s = schedule.create(pair.on.names.exchange, amqp=pair.on.url, layout="hutch")
    schedule.drain(s, imports=["tests.handlers"], folder=None, jobs=["note"])
    assert handlers.calls == [({"n": 5},)]


def test_a_key_is_free_when_its_delayed_message_is_cancelled(pair: Pair) -> None:
    pair.on.bound("note")
    s, alone = pair.create(), pair.on.broker()
    first = schedule.add(s, "note", args=[{"n": 1}], in_="1 hour", unique_key="order-7")
    assert not add(pair).new
    (job,) = alone.inspector.jobs(state="waiting")
    with pytest.raises(Unsupported, match=r"the unique key of .* cannot be kept by RabbitMQ alone"):
        alone.admin.cancel(job)
    assert schedule.cancel(s, first.id).id == first.id
    assert add(pair).new
