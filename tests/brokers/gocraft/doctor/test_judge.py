"""The judge: one table of texts and values, each with its faults. No server."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft.doctor.checkups import text
from workkit.brokers.gocraft.doctor.judge import FAULTS, judge_fields, judge_life, judge_list, judge_text, judge_value
from workkit.brokers.gocraft.doctor.survey import TYPES, Place, place_of, places
from workkit.brokers.gocraft.keys import Keys

QUEUE = Place("app:jobs:export", "queue", "export")
SCHEDULED, DEAD = Place("app:scheduled", "scheduled"), Place("app:dead", "dead")
POOL = "a" * 24


@pytest.mark.parametrize(
    ("place", "data", "score", "kinds"),
    [
        (QUEUE, text(), None, []),
        (SCHEDULED, text(), 1.0, []),
        (QUEUE, text(args={"n": 2**53, "x": 1e300, "s": str(2**99), "list": []}), None, []),
        (QUEUE, b"{", None, ["unreadable"]),
        (QUEUE, text(args=[]), None, ["unreadable"]),
        (QUEUE, text(t=1.0), None, ["unreadable"]),
        (QUEUE, text(name="mail"), None, ["stray"]),
        (QUEUE, b"null", None, ["stray", "no-id"]),
        (SCHEDULED, b"{}", 1.0, ["nameless", "no-id"]),
        (SCHEDULED, text(name="a:lock"), 1.0, ["name"]),
        (SCHEDULED, text(), float("inf"), ["score"]),
        (QUEUE, text(args={"a": [{"b": 2**53 + 1}]}), None, ["number"]),
        (SCHEDULED, text(args={"a": [{"b": 10**15}], "c": []}), 1.0, ["number", "empty-list"]),
        (DEAD, text(args={"c": []}), 1.0, []),
        (QUEUE, text(more=1), None, ["own-fields"]),
    ],
)
def test_each_fault_of_a_text_has_its_name(place: Place, data: bytes, score: float | None, kinds: list[str]) -> None:
    faults = list(judge_text(place, data, score))
    assert [fault.kind for fault in faults] == kinds
    assert all(fault.of in FAULTS and fault.what and fault.why for fault in faults)


@pytest.mark.parametrize(
    ("kind", "value", "kinds"),
    [
        ("lock", b"-1", []),
        ("lock", b"1.5", ["lock"]),
        ("lock", b"9" * 30, ["lock"]),
        ("max_concurrency", b"0", []),
        ("max_concurrency", b"-1", ["limit"]),
        ("max_concurrency", b"x", ["limit"]),
        ("last_periodic_enqueue", b"1e9", ["heartbeat"]),
    ],
)
def test_each_fault_of_a_value_has_its_name(kind: str, value: bytes, kinds: list[str]) -> None:
    place = Place("app:jobs:export:x", kind, "export")  # type: ignore[arg-type]
    assert [fault.kind for fault in judge_value(place, value)] == kinds


def test_a_list_of_a_pool_that_is_not_listed_has_no_owner() -> None:
    place = Place("app:jobs:export:a:inprogress", "in_progress", "export", POOL)
    assert list(judge_list(place, {POOL})) == []
    (fault,) = judge_list(place, {"b" * 24})
    assert (fault.kind, fault.severity, fault.repairs) == ("ownerless", "orphan", True)


def test_each_fault_of_a_hash_or_of_a_life_has_its_name() -> None:
    beat = Place("app:worker_pools:x", "worker_pool", of="x")
    assert [f.kind for f in judge_fields(beat, {"pid": b"7", "heartbeat_at": b"1.5", "host": b"\xff"})] == ["heartbeat"]
    assert [f.kind for f in judge_fields(Place("x", "lock_info", "x"), {"a": b"1", "b": b""})] == ["lock-info"]
    assert [f.kind for f in judge_life(Place("x", "unique"), -1)] == ["endless"]
    assert [f.kind for f in judge_life(Place("x", "record"), -1)] == ["own-expiry"]
    assert list(judge_life(Place("x", "record"), 5)) == []
    assert list(judge_life(Place("x", "paused"), -1)) == []


@pytest.mark.parametrize("namespace", ["app", "", "a:b:", "jobs"])
def test_every_key_that_the_layout_makes_is_known_by_its_name(namespace: str) -> None:
    keys = Keys(namespace)
    made = {
        keys.queue("export"): Place(keys.queue("export"), "queue", "export"),
        keys.in_progress("a:b", POOL): Place(keys.in_progress("a:b", POOL), "in_progress", "a:b", POOL),
        keys.paused("export"): Place(keys.paused("export"), "paused", "export"),
        keys.max_concurrency("export"): Place(keys.max_concurrency("export"), "max_concurrency", "export"),
        keys.lock("export"): Place(keys.lock("export"), "lock", "export"),
        keys.lock_info("export"): Place(keys.lock_info("export"), "lock_info", "export"),
        keys.unique("export", '{"a:b":1}\n'): Place(
            keys.unique("export", '{"a:b":1}\n'), "unique", of='export:{"a:b":1}\n'
        ),
        keys.worker_pool(POOL): Place(keys.worker_pool(POOL), "worker_pool", of=POOL),
        keys.worker(POOL): Place(keys.worker(POOL), "worker", of=POOL),
        keys.record(POOL): Place(keys.record(POOL), "record", of=POOL),
        keys.taken(POOL): Place(keys.taken(POOL), "taken", of=POOL),
        keys.cancelled(POOL): Place(keys.cancelled(POOL), "cancelled", of=POOL),
        keys.producer("t"): Place(keys.producer("t"), "producer", of="t"),
        keys.wake("export"): Place(keys.wake("export"), "wake", "export"),
        keys.cancelled(POOL): Place(keys.cancelled(POOL), "cancelled", of=POOL),
        **places(keys),
    }
    assert {key: place_of(keys, key) for key in made} == made
    assert {place.kind for place in made.values()} == set(TYPES)
    assert place_of(keys, f"{keys.prefix}other") is None
