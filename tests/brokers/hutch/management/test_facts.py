"""Answers of the API that are short, old or odd: each has a value, and none an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workkit.brokers.hutch import broker_facts

READERS: list[tuple[Callable[[dict[str, Any]], Any], Any]] = [
    (broker_facts.read_node, broker_facts.NodeFact(name="")),
    (broker_facts.read_exchange, broker_facts.ExchangeFact(name="")),
    (broker_facts.read_queue, broker_facts.QueueFact(name="")),
    (broker_facts.read_binding, broker_facts.BindingFact(source="", destination="", key="")),
    (broker_facts.read_consumer, broker_facts.ConsumerFact(queue="", tag="")),
    (broker_facts.read_channel, broker_facts.ChannelFact(name="")),
]
FIELDS = (
    "name", "message_stats", "type", "arguments", "state",
    "messages_ready", "messages_unacknowledged", "consumers", "head_message_timestamp", "effective_policy_definition",
    "source", "destination", "routing_key", "queue", "consumer_tag", "channel_details", "user",
    "idle_since",
)  # fmt: skip


@pytest.mark.parametrize(("read", "expected"), READERS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_missing_or_odd_has_its_default(read: Callable[[dict[str, Any]], Any], expected: Any) -> None:
    assert read({}) == expected
    odd: list[Any] = [None, [], 1.5, -3, True]
    for value in odd:
        assert read(dict.fromkeys(FIELDS, value)) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2026-11-22T16:19:31.642+00:00", 1_795_364_371_642),
        ("2026-11-22 16:19:31", 1_795_364_371_000),
        ("soon", None),
        ("", None),
    ],
)
def test_when_a_channel_was_last_busy_is_read(said: str, expected: int | None) -> None:
    assert broker_facts.read_channel({"idle_since": said}).idle_since_ms == expected


def test_a_flag_that_is_written_as_text_counts() -> None:
    assert broker_facts.read_queue({"auto_delete": "true"}).auto_delete
    assert not broker_facts.read_queue({"auto_delete": "false"}).auto_delete
