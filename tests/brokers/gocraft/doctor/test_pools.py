"""The doctor on pools: dead ones, those without a heartbeat, those that are not listed, jobs with which pools died."""

from __future__ import annotations

import json
import threading
import time

from tests.brokers.gocraft.doctor.checkups import found, kinds, only, repair, text
from tests.brokers.gocraft.serving.fleet import Namespace

NAME = "export"


def holding(ns: Namespace, *, beat: int | None = None) -> str:
    """Have a Go pool hold three jobs while one waits."""
    for i in range(4):
        ns.push(NAME, text(id=f"{i:024}"))
    id = ns.go_pool(NAME)
    for _ in range(3):
        ns.raw.rpoplpush(ns.keys.queue(NAME), ns.keys.in_progress(NAME, id))
    ns.raw.set(ns.keys.lock(NAME), 3)
    ns.raw.hset(ns.keys.lock_info(NAME), id, 3)
    if beat is not None:
        ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", int(time.time()) - beat)
    return id


def all_back(ns: Namespace) -> bool:
    """Whether the jobs are in the queue, the oldest first in turn, and every slot is free."""
    queue = [int(json.loads(data)["id"]) for data in reversed(ns.raw.lrange(ns.keys.queue(NAME), 0, -1))]
    is_free = ns.raw.get(ns.keys.lock(NAME)) == b"0" and not ns.raw.hgetall(ns.keys.lock_info(NAME))
    is_removed = not ns.raw.keys(f"{ns.name}:worker_pools*")
    return is_free and is_removed and queue == [0, 1, 2, 3]


def test_a_living_go_pool_is_no_finding(ns: Namespace) -> None:
    holding(ns)
    assert "stale" not in kinds(ns)
    assert not [finding for finding in found(ns) if finding.repairs]


def test_the_jobs_of_a_dead_pool_go_back_to_the_head_of_the_queue(ns: Namespace) -> None:
    holding(ns, beat=3600)
    finding = repair(ns, "stale")
    assert finding.what.endswith("has sent no heartbeat for 1 h and holds 3 jobs"), finding.what
    assert all_back(ns)


def test_a_pool_that_beats_again_is_not_reaped(ns: Namespace) -> None:
    id = holding(ns, beat=3600)
    finding = only(ns, "stale")
    ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", int(time.time()))
    assert not ns.producer.doctor.repair(finding)
    assert len(ns.in_progress(NAME, id)) == 3


def test_a_pool_that_is_listed_without_a_heartbeat_is_reaped(ns: Namespace) -> None:
    id = holding(ns)
    ns.raw.delete(ns.keys.worker_pool(id))
    repair(ns, "no-heartbeat")
    assert all_back(ns)


def test_a_pool_whose_heartbeat_was_only_late_is_not_reaped(ns: Namespace) -> None:
    id = holding(ns)
    ns.raw.delete(ns.keys.worker_pool(id))
    finding = only(ns, "no-heartbeat")
    beat = {"heartbeat_at": int(time.time()), "job_names": NAME}
    threading.Timer(0.1, lambda: ns.raw.hset(ns.keys.worker_pool(id), mapping=beat)).start()
    assert "no-heartbeat" not in kinds(ns, patience_ms=400)
    assert not ns.producer.doctor.repair(finding)
    assert len(ns.in_progress(NAME, id)) == 3


def test_jobs_of_a_pool_that_is_not_listed_go_back(ns: Namespace) -> None:
    id = holding(ns)
    ns.raw.srem(ns.keys.worker_pools, id)
    ns.raw.delete(ns.keys.worker_pool(id))
    ns.raw.srem(ns.keys.known_jobs, NAME)
    finding = repair(ns, "unlisted")
    assert finding.about == (id,)
    assert all_back(ns)


def test_a_pool_of_ours_beside_it_runs_what_a_repair_puts_back(ns: Namespace) -> None:
    holding(ns, beat=3600)
    pool = ns.pool(NAME, limits={NAME: 2})
    repair(ns, "stale")
    assert [claim.id[-1] for claim in pool.claim(9).claims] == ["0", "1"]
    assert kinds(ns) == ["overdue"]


def test_jobs_with_which_pools_died_are_named(ns: Namespace) -> None:
    ns.raw.hset(ns.keys.crashes, mapping={"b" * 24: 2, "c" * 24: 1})
    ns.raw.expire(ns.keys.crashes, 60)
    finding = only(ns, "crashed")
    assert (finding.about, finding.repairs) == (("b" * 24,), False)
    assert kinds(ns) == ["crashed"]


def test_a_heartbeat_that_is_no_number_is_named(ns: Namespace) -> None:
    id = ns.go_pool(NAME)
    ns.raw.hset(ns.keys.worker_pool(id), "pid", "many")
    assert only(ns, "heartbeat").what == f'{ns.keys.worker_pool(id)}: its pid is "many", not an integer'
