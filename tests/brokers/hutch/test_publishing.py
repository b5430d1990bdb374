"""What a producer publishes, as other programs see it; and what it refuses."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from tests.brokers.hutch.opened import Opened, new
from tests.brokers.hutch.relay import Relay
from workkit import schedule
from workkit.errors import Invalid, ServerRefused, ServerUnreachable, Unsupported


def test_a_job_is_a_message_with_its_argument_as_body(on: Opened) -> None:
    queue = on.bound("orders.created")
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    job = schedule.add_now(s, "orders.created", args=[{"id": 1, "名": "é"}])
    method, properties, body = on.got(queue)
    assert (method.exchange, method.routing_key) == (on.names.exchange, "orders.created")
    assert body == '{"id":1,"名":"é"}'.encode()
    assert (properties.message_id, properties.content_type, properties.delivery_mode) == (job.id, "application/json", 2)
    assert abs(properties.timestamp - time.time()) < 60
    assert job.new


def test_event_takes_any_json_and_has_short_ids(on: Opened) -> None:
    queue = on.bound("orders.created")
    s = schedule.create(on.names.exchange, amqp=on.url, layout="event")
    schedule.add_now(s, "orders.created", args=[[1, "two"]])
    _, properties, body = on.got(queue)
    assert body == b'[1,"two"]'
    assert re.fullmatch("[0-9a-f]{24}", properties.message_id)
    assert properties.priority is None
    with pytest.raises(Invalid, match=r'Write "orders\.created"'):
        schedule.add_now(s, "Orders.Created", args=[{}])


def test_a_message_that_leads_nowhere_is_an_error_to_the_producer(on: Opened) -> None:
    on.bound("known")
    broker = on.broker()
    with pytest.raises(ServerRefused, match=f'"nobody" leads to no queue of exchange {on.names.exchange}') as refused:
        broker.adding([new({}, "nobody")])()
    assert (refused.value.given, refused.value.lasting) == ("nobody", False)
    assert broker.adding([new({}, "known")])()[0].new
    with pytest.raises(ServerRefused, match="Of 3 messages 1 was refused, and the others are published"):
        broker.adding([new({}, "known"), new({}, "nobody"), new({}, "known")])()


def test_many_messages_arrive_in_their_order(on: Opened) -> None:
    queue = on.bound("note")
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    tally = schedule.add_many(s, [{"fn": "note", "at": "now", "args": [{"n": n}]} for n in range(1200)])
    assert tally.new == 1200
    assert [json.loads(on.got(queue)[2])["n"] for _ in range(1200)] == list(range(1200))


def test_rows_that_are_refused_are_named_and_all_others_are_published(on: Opened) -> None:
    queue = on.bound("note")
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    rows: list[dict[str, Any]] = [{"fn": "note", "at": "now", "args": [{"n": n}]} for n in range(1, 1701)]
    for number in (3, 17, 301):
        rows[number - 1]["fn"] = "nobody"
    with pytest.raises(ServerRefused) as refused:
        schedule.add_many(s, rows)
    error = refused.value
    assert str(error).startswith(f'row 3: "nobody" leads to no queue of exchange {s.name}: nobody consumes it.')
    assert "Not added: 3 rows, 3, 17 and 301. All other rows up to 400 are added, and none after it." in str(error)
    assert sorted(error.refused) == [2, 16, 300]
    assert {json.loads(on.got(queue)[2])["n"] for _ in range(397)} == set(range(1, 401)) - {3, 17, 301}
    assert on.count(queue) == 0


def test_a_bulk_that_loses_its_connection_says_what_is_not_known(on: Opened) -> None:
    queue = on.bound("note")
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        s = schedule.create(on.names.exchange, amqp=f"amqp://guest:guest@127.0.0.1:{relay.port}/", layout="hutch")

        def rows() -> Any:
            for n in range(20_000):
                if n == 5000:
                    relay.cut()
                yield {"fn": "note", "at": "now", "args": [{"n": n}]}

        with pytest.raises(ServerUnreachable) as lost:
            schedule.add_many(s, rows())
    last = int(re.search(r"rows up to ([\d,]+) are added, and none after it", str(lost.value))[1].replace(",", ""))  # type: ignore[index]
    unknown = re.search(r"not known whether rows ([\d,]+) to ([\d,]+) are added", str(lost.value))
    sure = last if unknown is None else int(unknown[1].replace(",", "")) - 1
    found = {json.loads(on.got(queue)[2])["n"] for _ in range(on.count(queue))}
    assert set(range(sure)) <= found
    assert max(found) < last <= 6000


def test_a_later_job_is_published_when_it_is_due(on: Opened) -> None:
    queue = on.bound("note")
    broker = on.broker()
    broker.adding([new({"n": 0}, due_ms=broker.now_ms() + 500)])()  # so that the ladder is declared
    on.got(queue)
    due_ms = broker.now_ms() + 500
    (added,) = broker.adding([new({"n": 1}, due_ms=due_ms)])()
    assert added.due_ms == due_ms
    assert on.count(queue) == 0
    method, properties, _ = on.got(queue)
    assert broker.now_ms() >= due_ms
    assert (properties.message_id, method.routing_key) == (added.id, "note")
    assert "CC" not in properties.headers


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"args": [{}], "every": "minute"}, "cannot recur here"),
        (
            {"args": [{}], "at": "now", "unique_key": "a"},
            "unique_key= cannot be kept by RabbitMQ alone",
        ),
        ({"args": [{}], "at": "now", "unique": True}, "unique= cannot be kept"),
        ({"args": [{}], "at": "now", "name": "nightly"}, "name= cannot be kept"),
        (
            {"args": [{}], "at": "now", "timeout": "5m", "retries": 3},
            r"^timeout= cannot be kept in a message of RabbitMQ\. Give it to @job",
        ),
        ({"args": [{}], "at": "now", "throttle": "1m"}, "throttle= cannot be kept"),
    ],
)
def test_what_amqp_cannot_do_is_refused_at_add(on: Opened, given: dict[str, Any], says: str) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    with pytest.raises(Unsupported, match=says):
        schedule.add(s, "orders.created", **given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"args": []}, r"args=\[\] does not fit: a message has one body"),
        ({"args": [{}, {}]}, "does not fit: a message has one body"),
        ({"kwargs": {"id": 1}}, "kwargs=.* does not fit"),
        ({"args": [5]}, r"args\[0\] is a number, and its readers need an object"),
        ({"args": [{}], "at": "2099-01-01 09:00"}, "the queues hold 3181"),
        ({"args": [{}], "fn": "orders.*"}, r'fn="orders\.\*" holds a wildcard: it is a pattern'),
        ({"args": [{}], "fn": "orders.#"}, r'fn="orders\.#" holds a wildcard: it is a pattern'),
        ({"args": [{}], "fn": "dead_queue.x"}, 'begins with "dead_queue."'),
    ],
)
def test_what_a_message_cannot_say_is_refused(on: Opened, given: dict[str, Any], says: str) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    with pytest.raises(Invalid, match=says):
        schedule.add(s, **{"fn": "orders.created", **({} if "at" in given else {"at": "now"}), **given})


def test_changes_that_rabbitmq_cannot_make_are_refused(on: Opened) -> None:
    s = schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    for change in (schedule.cancel, schedule.run):
        with pytest.raises(Unsupported):
            change(s, "abcdef01")
    with pytest.raises(Unsupported, match=r"a pause cannot be kept by RabbitMQ alone\. Name a Redis"):
        schedule.pause(s)


def test_a_producer_connects_again_after_a_loss(on: Opened) -> None:
    queue = on.bound("note")
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        broker = on.broker(port=relay.port)
        broker.adding([new({"n": 1})])()
        relay.cut()
        deadline = time.monotonic() + 10
        while True:  # an addition on its way may be lost, and says so
            try:
                broker.adding([new({"n": 2})])()
                break
            except ServerUnreachable:
                assert time.monotonic() < deadline
    assert [json.loads(on.got(queue)[2])["n"] for _ in range(2)] == [1, 2]


def test_a_lost_connection_says_what_became_of_the_job(on: Opened) -> None:
    """Before it is sent, it is not added. After that nobody knows. Nothing is asked again by itself."""
    on.bound("note")
    with Relay(int(on.url.rpartition(":")[2].rstrip("/"))) as relay:
        s = schedule.create(on.names.exchange, amqp=f"amqp://127.0.0.1:{relay.port}/", layout="hutch")
        schedule.add_now(s, "note", args=[{"n": 1}])
        relay.cut_next()
        with pytest.raises(ServerUnreachable) as lost:
            schedule.add_now(s, "note", args=[{"n": 2}])
    assert (lost.value.unanswered, lost.value.added, lost.value.refused) == (True, frozenset(), {})
    assert str(lost.value).endswith("RabbitMQ may have the job, or not: added again, it may run twice.")
    with pytest.raises(ServerUnreachable) as refused:
        schedule.add_now(s, "note", args=[{"n": 3}])
    assert (refused.value.unanswered, refused.value.added) == (False, frozenset())
    assert str(refused.value).endswith("The job was not sent.")
    for error in (lost.value, refused.value):
        assert "asked again" not in str(error)


def test_an_exchange_with_other_arguments_stays_as_it_is(on: Opened) -> None:
    on.channel.exchange_delete(on.names.exchange)
    other = {"alternate-exchange": "amq.fanout"}
    on.channel.exchange_declare(on.names.exchange, "topic", durable=True, arguments=other)
    queue = on.bound("note")
    on.broker().adding([new({"n": 1})])()
    on.got(queue)
    on.channel.exchange_declare(on.names.exchange, "topic", durable=True, arguments=other)
