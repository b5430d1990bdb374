"""The doctor over every recorded namespace of real Go pools: it finds their defects, and repairs lose nothing."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.brokers.gocraft import go_peer, vectors
from tests.brokers.gocraft.namespace import moved
from tests.servers import Server
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.doctor.survey import survey
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import ENDED
from workkit.brokers.redis_server.connecting import connect

DEFECTS = [
    ("frozen_pool", "both have run it; the lock is off by one", ["lock"]),
    ("frozen_pool", "process 2 finished too: the lock is negative", ["lock"]),
    ("stray", "stray job", ["lock", "lock"]),
    ("stray", "unreadable job: it stays in progress and keeps its lock", ["lock", "lock", "unreadable"]),
]
KEYS = Keys("gv")
NOT_NOW = {
    "overdue",
    "no-listener",
    "nobody-runs",
    "dead",
    "paused",
}  # about jobs that wait; nothing is wrong with them


def scenes() -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for file in sorted(vectors.FOLDER.glob("*.json")):
        found = json.loads(file.read_text())
        if not isinstance(found, dict):
            continue
        for recording in found.get("recordings", [found]):
            if recording.get("namespace", found.get("namespace", "gv")) in ("gv", "gv:"):
                for place, step in enumerate(recording.get("steps", ())):
                    if "dump" in step:
                        yield file.stem, place, step


@pytest.fixture
def client(go_server: Server) -> Iterator[Any]:
    with go_peer.database(go_server, 9) as opened:
        opened.flushdb()
        yield opened


@pytest.fixture
def broker(go_server: Server) -> Iterator[GocraftBroker]:
    opened = GocraftBroker(connect(f"redis://127.0.0.1:{go_server.port}/9"), schedule="gv")
    yield opened
    opened.close()


def write(client: Any, step: Mapping[str, Any]) -> None:
    """Write a recorded namespace as if it was now."""
    by = round(time.time() - step["at"])

    def now(text: str) -> bytes:
        return moved(text, at=step["at"], by=by).encode()

    for key, entry in step["dump"].items():
        key, value = now(key), entry["value"]
        match entry["type"]:
            case "list":
                client.rpush(key, *map(now, value))
            case "set":
                client.sadd(key, *map(now, value))
            case "zset":
                client.zadd(key, {now(member): now(score) for member, score in value})
            case "hash":
                client.hset(key, mapping={now(field): now(text) for field, text in value.items()})
            case _:
                client.set(key, now(value), ex=entry["ttl"])


def texts(broker: GocraftBroker) -> Counter[bytes]:
    """Every text in the namespace, with those that were set aside."""
    made = survey(broker.doctor.server, KEYS)
    found = Counter(text.data for text in made.texts())
    return found + Counter(text.data for place in made.of("unreadable") for text in made.texts_in(place))


def kinds(broker: GocraftBroker) -> list[str]:
    findings = broker.doctor.checkup(patience_ms=0)
    return sorted(f.kind for f in findings if f.schedule and f.kind not in NOT_NOW)


@pytest.mark.parametrize(("name", "at", "expected"), DEFECTS)
def test_a_defect_of_go_pools_is_found(
    client: Any, broker: GocraftBroker, name: str, at: str, expected: list[str]
) -> None:
    write(client, next(step for step in vectors.steps(name) if step.get("step") == at))
    assert kinds(broker) == expected


def test_repairs_of_every_recorded_namespace_lose_nothing_and_leave_the_locks_right(
    client: Any, broker: GocraftBroker
) -> None:
    seen: set[str] = set()
    for name, place, step in scenes():
        client.flushdb()
        write(client, step)
        before = texts(broker)
        for finding in broker.doctor.checkup(patience_ms=0):
            if finding.repairs:
                seen.add(finding.kind)
                broker.doctor.repair(finding)
        again = [f for f in broker.doctor.checkup(patience_ms=0) if f.repairs]
        assert not again, f"{name}, step {place}: {again}"
        after = texts(broker)
        lost, fresh = before - after, after - before
        assert lost.total() == fresh.total(), f"{name}, step {place}"
        assert all(ENDED.encode() in text for text in fresh), f"{name}, step {place}: {fresh}"
        for key in client.keys("gv:jobs:*:lock"):
            job = key.decode()[len("gv:jobs:") : -len(":lock")]
            running = sum(client.llen(each) for each in client.keys(f"gv:jobs:{job}:*:inprogress"))
            assert int(client.get(key)) == running, f"{name}, step {place}: {key!r}"
    assert seen >= {"lock", "lock-info", "unended", "unreadable", "stale"}, seen
