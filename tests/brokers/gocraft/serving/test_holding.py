"""A Go pool that starts when later jobs wait already: what it would bury is put out of its sight before it is due."""

from __future__ import annotations

import json

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from workkit.brokers.gocraft.broker import GocraftBroker

PLACES = [("scheduled", "held"), ("retry", "held_retry")]


def text(name: str, number: int = 0) -> bytes:
    return json.dumps({"name": name, "id": f"{number:024}", "t": 1, "args": {"i": number}}).encode()


def wait_in(ns: Namespace, key: str, name: str, *, seconds: float, count: int = 1) -> dict[bytes, float]:
    """Let jobs wait in a sorted set, and return its members."""
    due = ns.producer.now_ms() // 1000 + seconds
    found = {text(name, n): due for n in range(count)}
    ns.raw.zadd(getattr(ns.keys, key), found)
    return found


def beat(pool: GocraftBroker) -> None:
    """Send the first heartbeat of a pool, and do what follows."""
    pool.beating()()
    pool.maintain()


def members(ns: Namespace, key: str) -> dict[bytes, float]:
    return dict(ns.raw.zrange(getattr(ns.keys, key), 0, -1, withscores=True))


@pytest.mark.parametrize(("shared", "own"), PLACES)
def test_what_a_new_go_pool_would_bury_is_held(ns: Namespace, shared: str, own: str) -> None:
    waiting = wait_in(ns, shared, "export", seconds=6)
    beat(ns.pool("export", "both"))
    assert members(ns, shared) == waiting, "no Go pool is there"
    ns.go_pool("both")
    beat(ns.pool("export", "both"))
    assert (members(ns, shared), members(ns, own)) == ({}, waiting)


def test_all_pages_are_looked_at(ns: Namespace) -> None:
    both, export = (wait_in(ns, "scheduled", name, seconds=5, count=1700) for name in ("both", "export"))
    ns.go_pool("both")
    beat(ns.pool("export", "both"))
    assert (members(ns, "scheduled"), members(ns, "held")) == (both, export)


@pytest.mark.parametrize("why", ["all pools serve it", "no pool of ours serves it", "it is due later", "no job text"])
def test_all_else_stays(ns: Namespace, why: str) -> None:
    name = {"all pools serve it": "both", "no pool of ours serves it": "other"}.get(why, "export")
    wait_in(ns, "scheduled", name, seconds=60 if why == "it is due later" else 5)
    if why == "no job text":
        ns.raw.delete(ns.keys.scheduled)
        ns.raw.zadd(ns.keys.scheduled, {b"{oops": ns.producer.now_ms() // 1000 + 5})
    waiting = members(ns, "scheduled")
    ns.go_pool("both")
    beat(ns.pool("export", "both"))
    assert members(ns, "scheduled") == waiting
    assert not ns.raw.exists(ns.keys.held)


def test_a_pool_of_ours_or_a_dead_one_buries_nothing(ns: Namespace) -> None:
    waiting = wait_in(ns, "scheduled", "export", seconds=5)
    ns.pool("both")
    dead = ns.go_pool("both")
    ns.raw.hset(ns.keys.worker_pool(dead), "heartbeat_at", 1)
    beat(ns.pool("export"))
    assert members(ns, "scheduled") == waiting


def test_a_lock_that_a_frozen_go_pool_left_too_low_is_corrected(ns: Namespace) -> None:
    ns.raw.set(ns.keys.lock("export"), -1)
    ns.raw.hset(ns.keys.lock_info("export"), mapping={"a" * 24: -2, "b" * 24: 1, "c" * 24: 0})
    pool = ns.pool("export", "other")
    beat(pool)
    assert ns.lock("export", "a" * 24) == (1, 0)
    assert ns.lock("export", "b" * 24) == (1, 1)
    assert not ns.raw.exists(ns.keys.lock("other"))


def test_a_reaped_pool_takes_what_it_owes_the_lock_along(ns: Namespace) -> None:
    dead = ns.go_pool("export")
    ns.raw.set(ns.keys.lock("export"), 1)
    ns.raw.hset(ns.keys.lock_info("export"), mapping={dead: -1, "b" * 24: 2})
    ns.raw.hset(ns.keys.worker_pool(dead), "heartbeat_at", 1)
    beat(ns.pool("export"))
    assert ns.lock("export", dead) == (2, 0)


def test_an_idle_pool_asks_for_no_lock_of_a_name_without_a_limit(ns: Namespace) -> None:
    pool = ns.pool("export", "other", "third", limits={"third": 2}, timeout_ms=100)
    ns.raw.config_resetstat()

    def scripts() -> int:
        pool.maintain()
        return int(ns.raw.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"])

    assert until(scripts, timeout=10) <= 2, "one, or one more if the server did not know it"
