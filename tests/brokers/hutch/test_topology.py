"""What is declared: equal to the recorded listings where other programs declare it too, and our ladder."""

from __future__ import annotations

from typing import Any

import pytest

from tests.brokers.hutch import vectors
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import (
    LONGEST_MS,
    STEPS,
    UNIT_MS,
    Topology,
    dead,
    delay_key,
    delays,
    first_step,
    is_delay_key,
    ladder,
    main,
    step_exchange,
    work,
)

NAMES = Names(exchange="hutch", dialect="hutch")
EVENT = Names(exchange="hutch", dialect="event", prefix="work")


def listed(topology: Topology) -> dict[str, list[dict[str, Any]]]:
    """What a management listing says of it, in one order."""
    return sorted_listing(
        {
            "exchanges": [
                {
                    "name": one.name, "type": "topic", "durable": True, "auto_delete": False, "internal": False,
                    "arguments": {},
                }
                for one in topology.exchanges
            ],
            "queues": [
                {
                    "name": one.name, "durable": True, "auto_delete": False, "exclusive": False,
                    "arguments": dict(one.arguments), "type": "classic",
                }
                for one in topology.queues
            ],
            "bindings": [
                {
                    "source": one.source, "destination": one.destination, "routing_key": one.key, "arguments": {},
                    "destination_type": "exchange" if one.to_exchange else "queue",
                }
                for one in topology.bindings
            ],
        }
    )  # fmt: skip


def sorted_listing(listing: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {
        kind: sorted(listing[kind], key=lambda one: sorted((name, str(value)) for name, value in one.items()))
        for kind in ("exchanges", "queues", "bindings")
    }


def test_the_delay_queues_are_those_of_hutch_schedule() -> None:
    assert listed(delays(NAMES)) == sorted_listing(vectors.deployments()["hutch_schedule"]["listing"])


def test_the_queues_of_a_deployment_are_those_of_event() -> None:
    recorded = sorted_listing(vectors.deployments()["event"]["listing"])
    ours = listed(delays(EVENT) + dead(EVENT) + work(EVENT, ["test.ok", "Test.Upper", "multi.#", "test.fail"]))
    for kind, objects in recorded.items():
        extra = [one for one in ours[kind] if one not in objects]
        assert [one for one in ours[kind] if one in objects] == objects
        assert all("hutch.workkit" in (one.get("name"), one.get("source")) for one in extra)


def test_plain_hutch_declares_one_exchange() -> None:
    assert listed(main(NAMES))["exchanges"] == vectors.deployments()["hutch_1_4_0"]["listing"]["exchanges"]


def test_the_broken_delay_queues_are_not_copied() -> None:
    broken = vectors.deployments()["hutch_1_4_0_with_schedule_broken"]["listing"]["queues"]
    ours = {queue["name"]: queue for queue in listed(delays(NAMES))["queues"]}
    assert all(ours[queue["name"]] != queue for queue in broken)


def test_a_work_queue_is_bound_by_its_key_and_by_a_private_one() -> None:
    bound = [(one.source, one.destination, one.key) for one in work(NAMES, ["orders.created"]).bindings]
    queue = "hutch.workkit:orders.created"
    assert bound == [
        ("hutch", queue, "orders.created"),
        ("hutch.workkit", queue, "workkit.queue.hutch.workkit:orders.created"),
    ]


def test_a_work_queue_knows_priorities_unless_event_may_declare_it_too() -> None:
    for dialect, prefix, expected in (
        ("hutch", "", 3), ("hutch", "billing", 3), ("event", "", 3), ("event", "billing", None),
    ):  # fmt: skip
        (queue,) = work(Names(exchange="hutch", dialect=dialect, prefix=prefix), ["orders.created"]).queues  # type: ignore[arg-type]
        assert queue.arguments.get("x-max-priority") == expected
        assert queue.shared is (expected is None)


def matches(pattern: str, key: str) -> bool:
    """Match as a topic exchange does."""

    def match(patterns: list[str], words: list[str]) -> bool:
        if not patterns:
            return not words
        if patterns[0] == "#":
            return any(match(patterns[1:], words[n:]) for n in range(len(words) + 1))
        return bool(words) and patterns[0] in ("*", words[0]) and match(patterns[1:], words[1:])

    return match(pattern.split("."), key.split("."))


def travel(key: str, copy: str, *, step: int) -> tuple[int, str]:
    """Let a message go down the ladder: how long it waits, and where it leaves."""
    topology = ladder(NAMES, highest=step)
    queues = {queue.name: queue.arguments for queue in topology.queues}
    place, waited = step_exchange(NAMES, step), 0
    while place.startswith("hutch.workkit.delay."):
        (binding,) = [
            b for b in topology.bindings if b.source == place and (matches(b.key, key) or matches(b.key, copy))
        ]
        if binding.to_exchange:
            place = binding.destination
        else:
            waited += int(queues[binding.destination]["x-message-ttl"])
            place = str(queues[binding.destination]["x-dead-letter-exchange"])
    leaves = [b.destination for b in topology.bindings if b.source == place and b.to_exchange and matches(b.key, key)]
    return waited, leaves[0] if leaves else place


@pytest.mark.parametrize(
    ("delay_ms", "waits"),
    [
        (0.5, 16),
        (1, 16),
        (16, 16),
        (17, 32),
        (1000, 1008),
        (60_000, 60_000),
        (86_400_000, 86_400_000),
        (LONGEST_MS, LONGEST_MS),
    ],
)
def test_a_message_waits_as_long_as_its_key_says(delay_ms: float, waits: int) -> None:
    key = delay_key(delay_ms)
    assert is_delay_key(key)
    for step in {first_step(delay_ms), STEPS - 1}:
        assert travel(key, "orders.1.created", step=step) == (waits, "hutch.workkit.arrivals")


def test_each_queue_of_the_ladder_has_one_time() -> None:
    *queues, _ = ladder(NAMES).queues
    assert [queue.arguments["x-message-ttl"] for queue in queues] == [UNIT_MS * 2**step for step in range(STEPS)]
    assert len({queue.name for queue in queues}) == STEPS


def test_every_message_that_leaves_the_ladder_is_routed() -> None:
    (end,) = [queue for queue in ladder(NAMES).queues if queue.name == "hutch_workkit_delay_end"]
    bound = [one.key for one in ladder(NAMES).bindings if one.destination == end.name]
    assert end.arguments == {"x-max-length": 0}
    assert [matches(key, delay_key(LONGEST_MS)) for key in bound] == [True]


def test_a_key_of_the_ladder_fits_into_a_routing_key() -> None:
    assert len(delay_key(LONGEST_MS)) <= 255
