"""Which routing keys a binding takes: the rules of topic exchanges, and a broker that has the last word."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests import rabbit
from workkit.brokers.hutch.topology import takes
from workkit.jobs.names import has_wildcard


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a", False),
        ("a.*", "a.b.c", False),
        ("a.#", "a", True),
        ("a.#", "a.b.c", True),
        ("#", "", True),
        ("#.b", "a.a.b", True),
        ("#.b.#", "a.b", True),
        ("*.#", "a", True),
        ("*.#", "", False),
        ("a*", "ab", False),
    ],
)
def test_a_pattern_takes_a_key(pattern: str, key: str, expected: bool) -> None:
    assert takes(pattern, key) is expected


def test_only_whole_words_are_wildcards() -> None:
    assert [pattern for pattern in ("a.*", "#", "a.b", "a*", "a#.b") if has_wildcard(pattern)] == ["a.*", "#"]


def test_a_long_key_is_judged_at_once() -> None:
    assert takes(".".join(["#"] * 100), ".".join(["a"] * 120))
    assert not takes(".".join(["#", "a"] * 60), ".".join(["a"] * 120) + ".b")


def test_the_broker_says_the_same(amqp: str, name: str) -> None:
    patterns = ["a", "a.*", "a.#", "#.a", "*.a.#", "#.*", "*.#.a", "#.a.#.b", "*.*"]
    keys = [".".join(words) for length in range(4) for words in itertools.product(("a", "b"), repeat=length)]
    with rabbit.connected(amqp) as channel:
        channel.confirm_delivery()  # or the count of a queue may come before a message
        channel.exchange_declare(name, "topic", auto_delete=True)
        told: dict[str, Any] = {}
        for pattern in patterns:
            queue = channel.queue_declare("", exclusive=True).method.queue
            channel.queue_bind(queue, name, pattern)
            told[pattern] = queue
        for key in keys:
            channel.basic_publish(name, key, key.encode())
        for pattern, queue in told.items():
            count = channel.queue_declare(queue, passive=True).method.message_count
            got = [channel.basic_get(queue, auto_ack=True)[2].decode() for _ in range(count)]
            assert got == [key for key in keys if takes(pattern, key)], pattern
