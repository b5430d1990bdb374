"""What is read of a dead message, ours and event's, and the copy by which it runs again. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.brokers.hutch.vectors import message, records
from workkit.brokers.hutch import compose
from workkit.brokers.hutch.codec import NO_KEY, DeadMessage, numbered
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Dialect, Names

OURS = {
    "workkit-key": "orders.created", "workkit-attempt": 3, "workkit-error": "OSError: disk full", "workkit-due": 5,
    "workkit-reason": "failed", "workkit-queue": "NS:orders.created", "workkit-failed-at": 1_700_000_000_123,
    "trace": "t-1",
}  # fmt: skip
DEATHS = [
    {"queue": "hutch_delay_queue_5s", "reason": "expired", "count": 2, "routing-keys": ["hutch.schedule.5s", "a.b"]},
    {"queue": "q", "reason": "rejected", "count": 9, "routing-keys": ["a.b"]},
]
OF_EVENT = {"CC": ["a.b"], "x-death": DEATHS, "x-first-death-queue": "q", "own": 1}


def dead(headers: dict[str, Any], *, key: str = "dead_queue.a.b", body: bytes = b"{}", **properties: Any) -> Message:
    return Message(exchange="hutch", routing_key=key, properties=properties, headers=headers, body=body)


def names(dialect: Dialect = "hutch") -> Names:
    return Names(exchange="hutch", dialect=dialect)


def test_a_dead_message_of_ours_says_all() -> None:
    gone = dead(OURS, key="dead_queue.cut", body=b'{"id":1}', message_id="m1", timestamp=7)
    job = DeadMessage(gone).job(schedule="hutch")
    assert (job.id, job.fn, job.args, job.attempt) == ("m1", "orders.created", ({"id": 1},), 2)
    assert (job.error, job.why, job.queue, job.state) == ("OSError: disk full", "failed", "NS:orders.created", "dead")
    assert job.due is not None
    assert job.due.timestamp() == 1_700_000_000.123


def test_a_dead_message_of_event_says_what_event_wrote() -> None:
    job = DeadMessage(dead(OF_EVENT, body=b"[1]", message_id="e1", timestamp=1_700_000_000)).job(schedule="hutch")
    assert (job.id, job.fn, job.args, job.attempt, job.error, job.queue) == ("e1", "a.b", ([1],), 2, None, None)
    assert job.due is not None
    assert job.due.timestamp() == 1_700_000_000


@pytest.mark.parametrize("headers", [
    {}, {"workkit-reason": 1}, {"workkit-reason": "failed", "workkit-attempt": -4, "workkit-failed-at": 10**20},
    {"workkit-reason": "failed", "workkit-key": 5, "workkit-queue": [1], "workkit-error": b"\xff", "x-death": 1},
])  # fmt: skip
@pytest.mark.parametrize("key", ["dead_queue.a", "dead_queue.", "a.b", ""])
@pytest.mark.parametrize("body", [b"", b"\xff", b"not json", b'{"a":1}'])
def test_whatever_stands_in_the_dead_queue_is_shown(headers: dict[str, Any], key: str, body: bytes) -> None:
    job = DeadMessage(dead(headers, key=key, body=body)).job(schedule="hutch")
    assert job.fn == (key.removeprefix("dead_queue.") if key.startswith("dead_queue.a") else "?")
    assert job.attempt == 0
    assert job.id
    assert job.error is not None or (job.fn != "?" and job.args)
    if job.fn == "?" and job.args and not headers:
        assert job.error == NO_KEY


@pytest.mark.parametrize("record", records(), ids=lambda record: str(record["case"]))
def test_every_recorded_message_is_shown_and_may_run_again(record: dict[str, Any]) -> None:
    found = DeadMessage(message(record))
    job = found.job(schedule="hutch")
    key = record["routing_key"]
    assert job.fn == (key.removeprefix("dead_queue.") if key.startswith("dead_queue.") else "?")
    assert job.args
    copy = compose.revived(names(), found.message, key=job.fn, queue=None, now_ms=9)
    assert (copy.body, copy.key) == (found.message.body, job.fn)
    assert not [name for name in copy.headers if name in ("CC", "BCC") or "-death" in name]


def test_equal_messages_are_told_apart_by_their_place() -> None:
    seen: Counter[str] = Counter()
    one, other = dead({"x-delivery-count": 1}), dead({"a": 1})
    first = numbered([one, other, dead({"x-delivery-count": 2})], seen)
    (later,) = numbered([one], seen)
    assert [found.number for found in first] == [0, 0, 1]
    assert later.number == 2
    assert len({found.mark for found in (*first, later)}) == 4


def test_a_message_of_ours_runs_again_in_the_one_queue_it_came_from() -> None:
    gone = dead(OURS, message_id="m1", correlation_id="c", expiration="5", user_id="u", delivery_mode=1)
    copy = compose.revived(names(), gone, key="orders.created", queue="NS:orders.created", now_ms=9)
    assert (copy.exchange, copy.routing_key) == ("hutch.workkit", "workkit.queue.NS:orders.created")
    assert copy.properties == {"message_id": "m1", "correlation_id": "c", "delivery_mode": 2}
    assert copy.headers == {"trace": "t-1", "workkit-key": "orders.created", "workkit-attempt": 0, "workkit-due": 9}
    assert (copy.key, copy.attempt, copy.due_ms) == ("orders.created", 0, 9)


def test_a_message_of_event_runs_again_by_its_real_key_alone() -> None:
    copy = compose.revived(names("event"), dead(OF_EVENT, message_id="e1"), key="a.b", queue=None, now_ms=9)
    assert (copy.exchange, copy.routing_key) == ("hutch", "a.b")
    assert copy.headers == {"own": 1, "workkit-due": 9}
    assert (copy.key, copy.properties["message_id"]) == ("a.b", "e1")


@pytest.mark.parametrize(("queue", "key"), [("q", "workkit.after.q"), (None, "a.b")])
def test_a_delayed_retry_goes_down_the_ladder(queue: str | None, key: str) -> None:
    copy = compose.revived(names(), dead({}), key="a.b", queue=queue, now_ms=1000, delay_ms=480)
    assert copy.exchange == "hutch.workkit.delay.4"
    assert (copy.headers["CC"], copy.headers["workkit-due"]) == ([key], 1480)


def test_other_arguments_make_another_message() -> None:
    gone = dead(OURS, message_id="m1", correlation_id="c")
    copy = compose.revived(names(), gone, key="a.b", queue="q", now_ms=9, body=b'{"n":2}')
    assert copy.body == b'{"n":2}'
    assert copy.properties["message_id"] != "m1"
    assert "trace" not in copy.headers
    assert "correlation_id" not in copy.properties
