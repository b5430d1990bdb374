"""Messages: every recorded one is read, headers of any kind are tolerated, and our copies lead nowhere else."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.brokers.hutch import vectors
from workkit.brokers.hutch import compose
from workkit.brokers.hutch.message import Message, deaths, failures_elsewhere, read_body, write_body
from workkit.brokers.hutch.names import Dialect, Names
from workkit.brokers.hutch.topology import waiting_key
from workkit.errors import CorruptRecord, InvalidArguments

NAMES = Names(exchange="hutch", dialect="hutch")
EVENT = Names(exchange="hutch", dialect="event")
NOW = 1_795_218_400_123
RECORDS = vectors.records()
DELIVERED = next(r for r in RECORDS if r["case"] == "delay of 3 seconds asked, as delivered")


def told(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record.get("read", {})
    return found


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['published_by']}: {record['case']}")
def test_a_recorded_message_is_read(record: dict[str, Any]) -> None:
    message, expected = vectors.message(record), told(record)
    copies = message.headers.get("CC")
    key = expected.get("event_name") or expected.get("original_routing_key") or (copies or [record["routing_key"]])[0]
    assert message.key == key
    assert message.id == record["properties"]["message_id"]
    assert (message.attempt, message.is_private) == (0, False)
    if "failures" in expected:
        assert failures_elsewhere(message.headers) == expected["failures"]
    died = record["headers"] and record["headers"].get("x-death")
    due = died["v"][0]["v"]["time"]["v"] if died else record["properties"]["timestamp"]
    assert message.due_ms == due * 1000
    value = json.loads(record["body"])
    assert read_body(message.body, "event") == value
    if isinstance(value, dict):
        assert read_body(message.body, "hutch") == value
    if "job_class" in expected:
        assert value["job_class"] == expected["job_class"]


def test_integers_of_any_length_are_read() -> None:
    assert read_body(b'{"big":123456789012345678901234567890}', "hutch") == {"big": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "its body is empty"),
        (b"not json", r"is not JSON: Expecting value \(character 0\)"),
        (b'{"a":1', r"is not JSON: .* \(character 6\)"),
        (b'{"a":1} x', r"Extra data \(character 8\)"),
        (b'{"a":NaN}', "NaN is no value of JSON"),
        (b'\xff\xfe{"a":1}', r"is not UTF-8 \(byte 0\)"),
        ('{"a":1}'.encode("utf-16"), "is not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"n":' + b"9" * 5000 + b"}", "digits"),
    ],
)
@pytest.mark.parametrize("dialect", ["hutch", "event"])
def test_a_malformed_body_is_refused_with_the_reason(body: bytes, reason: str, dialect: Dialect) -> None:
    with pytest.raises(CorruptRecord, match=reason):
        read_body(body, dialect)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"[1,2]", "an array"), (b'"s"', "a text"), (b"null", "null"), (b"1.5", "a number"), (b"true", "true or false")],
)
def test_hutch_reads_objects_only_and_event_any_json(body: bytes, kind: str) -> None:
    with pytest.raises(CorruptRecord, match=f"its body is {kind}, and hutch reads objects only"):
        read_body(body, "hutch")
    assert read_body(body, "event") == json.loads(body)


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ({"b": 1, "a": [1.5, None, True]}, '{"b":1,"a":[1.5,null,true]}'),
        ({"名": "é<&>\u2028"}, '{"名":"é<&>\u2028"}'),
        ({}, "{}"),
        ({"n": 12345678901234567890}, '{"n":12345678901234567890}'),
        ({"t": (1, 2)}, '{"t":[1,2]}'),
    ],
)
def test_a_body_is_compact_json_in_the_order_of_its_keys(value: Any, body: str) -> None:
    assert write_body(value, needs_object=True) == body.encode()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, r'args\[0\]\["at"\] is a datetime, which JSON cannot carry'),
        ({"a": {1: 2}}, r'args\[0\]\["a"\] has the key 1'),
        ({"a": [float("nan")]}, r'args\[0\]\["a"\]\[0\] is nan'),
        ({"a": "\ud800"}, "lone surrogate"),
        ([1], "is an array, and its readers need an object"),
        ("x", "is a text, and its readers need an object"),
    ],
)
def test_what_a_body_cannot_carry_is_refused_with_its_place(value: Any, says: str) -> None:
    with pytest.raises(InvalidArguments, match=says):
        write_body(value, needs_object=True)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(InvalidArguments, match="holds itself"):
        write_body(value, needs_object=True)


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"CC": ["a.b"]}, "a.b"),
        ({"CC": ["a.b", "c.d"]}, "a.b"),
        ({"CC": [b"a.b"]}, "a.b"),
        ({"CC": [None, 5, "a.b"]}, "a.b"),
        ({"CC": []}, "real.key"),
        ({"CC": "a.b"}, "real.key"),
        ({"CC": None}, "real.key"),
        ({"BCC": ["a.b"]}, "real.key"),
        ({"workkit-key": "forged"}, "real.key"),
    ],
)
def test_the_real_key_is_the_first_text_of_cc(headers: dict[str, Any], key: str) -> None:
    assert Message(exchange="hutch", routing_key="real.key", headers=headers).key == key


@pytest.mark.parametrize(
    "death",
    [
        None,
        "expired",
        [],
        [None],
        [{}],
        [{"count": "many", "reason": 5, "routing-keys": "x"}],
        [{"count": -4}],
        {"a": 1},
    ],
)
def test_deaths_that_say_nothing_count_nothing(death: Any) -> None:
    assert failures_elsewhere({"x-death": death}) == 0
    assert Message(exchange="", routing_key="a", headers={"x-death": death}).due_ms is None


@pytest.mark.parametrize("timestamp", [None, -1, "now", 10**18, True, 1.5])
def test_a_timestamp_that_is_none_says_nothing(timestamp: Any) -> None:
    assert Message(exchange="", routing_key="a", properties={"timestamp": timestamp}).due_ms is None


def test_a_message_without_an_id_has_that_of_its_content() -> None:
    one, same, other = (Message(exchange="", routing_key="a", body=body) for body in (b"1", b"1", b"2"))
    assert one.id == same.id != other.id
    assert re.fullmatch("[0-9a-f]{40}", one.id)


def test_a_new_message_has_the_properties_of_its_dialect() -> None:
    hutch, event = (compose.new(names, "a.b", b"{}", now_ms=NOW) for names in (NAMES, EVENT))
    for message, library in ((hutch, "hutch 1.4.0"), (event, "event")):
        recorded = next(r["properties"] for r in RECORDS if r["published_by"] == library)
        assert set(message.properties) == set(recorded)
        assert len(message.properties["message_id"]) == len(recorded["message_id"])
        fixed = {"content_type", "delivery_mode", "priority"}
        assert {k: v for k, v in message.properties.items() if k in fixed} == {
            k: v for k, v in recorded.items() if k in fixed
        }
        assert message.properties["timestamp"] == NOW // 1000
        assert (message.exchange, message.routing_key, message.key, message.due_ms) == ("hutch", "a.b", "a.b", NOW)


def test_a_delayed_message_has_its_key_in_cc() -> None:
    message = compose.new(NAMES, "a.b", b"{}", now_ms=NOW, due_ms=NOW + 60_000)
    assert message.exchange == "hutch.workkit.delay.11"
    assert message.headers["CC"] == ["a.b"]
    assert "expiration" not in message.properties
    assert (message.key, message.due_ms, message.is_private) == ("a.b", NOW + 60_000, False)


def failed(message: Message, **given: Any) -> Message:
    told = {"queue": "workkit:job.one", "attempt": 1, "now_ms": NOW, "delay_ms": 0, **given}
    return compose.again(NAMES, message, **told)


@pytest.mark.parametrize("delay_ms", [0, 2000])
def test_a_retry_reaches_one_queue_and_keeps_what_the_message_says(delay_ms: int) -> None:
    record = next(r for r in RECORDS if r["case"] == "message with all properties set by the caller")
    message = vectors.message(record)
    copy = failed(message, delay_ms=delay_ms, error="OSError: disk full")
    private = "workkit.queue.workkit:job.one"
    assert (copy.headers["CC"] if delay_ms else [copy.routing_key]) == [waiting_key(private) if delay_ms else private]
    assert copy.exchange.startswith("hutch.workkit")
    assert (copy.key, copy.attempt, copy.id, copy.body) == ("wild.a.b", 1, "my-id", message.body)
    kept = {name: value for name, value in record["properties"].items() if name != "expiration"}
    assert dict(copy.properties) == kept
    assert (copy.headers["h1"], copy.headers["i"]) == ("v1", 5)
    assert copy.headers["workkit-error"] == "OSError: disk full"
    assert copy.due_ms == (NOW + delay_ms if delay_ms else message.due_ms)


def test_a_retry_of_a_retry_counts_on_and_keeps_the_real_key() -> None:
    first = failed(vectors.message(DELIVERED), delay_ms=5000, error="first")
    second = failed(first, attempt=first.attempt + 1, delay_ms=0)
    assert (second.key, second.attempt, second.routing_key) == ("test.ok", 2, "workkit.queue.workkit:job.one")
    assert not {"CC", "workkit-error"} & set(second.headers)


def test_attempts_that_another_program_sends_again_do_not_count() -> None:
    copy = failed(vectors.message(DELIVERED), attempt=3)
    sent_again = Message(exchange="hutch", routing_key="test.ok", headers=copy.headers, body=copy.body)
    assert (sent_again.attempt, sent_again.key) == (0, "test.ok")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['published_by']}: {record['case']}")
def test_no_copy_carries_routing_keys_or_deaths(record: dict[str, Any]) -> None:
    message = vectors.message(record)
    died = compose.dead(
        NAMES, message, queue="workkit:job.one", attempts=1, now_ms=NOW, error="x" * 5000, reason="failed"
    )
    for copy in (died, failed(message)):
        assert not [name for name in copy.headers if name in ("CC", "BCC") or name.startswith("x-")]
        assert list(deaths(copy.headers)) == []
        assert copy.body == message.body
        assert copy.id == message.id
        assert not {"expiration", "user_id"} & set(copy.properties)
    assert (died.exchange, died.routing_key) == ("hutch", f"dead_queue.{message.key}")
    assert died.headers["workkit-reason"] == "failed"
    assert len(died.headers["workkit-error"]) == 2000
    assert died.properties["delivery_mode"] == 2


def test_floats_of_headers_become_text() -> None:
    message = Message(exchange="", routing_key="a", headers={"f": 1.5, "in": [{"f": 0.1}], "i": 2})
    assert {k: v for k, v in failed(message).headers.items() if k in ("f", "in", "i")} == {
        "f": "1.5", "in": [{"f": "0.1"}], "i": 2,
    }  # fmt: skip
