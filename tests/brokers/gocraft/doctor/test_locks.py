"""The doctor on locks: it compares them with what is in progress, and sets them right in one step."""

from __future__ import annotations

import threading
import time

import pytest

from tests.brokers.gocraft.doctor.checkups import found, kinds, only, repair, text
from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.processes import until
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.upkeep import Reaper
from workkit.jobs.outcome import Done

NAME = "export"


def go_holds(ns: Namespace, count: int, *, id: str = "a" * 24, told: int | None = None) -> str:
    """Have a Go pool hold jobs, with a lock and a lock_info that are right."""
    ns.go_pool(NAME, id=id)
    for i in range(count):
        ns.raw.lpush(ns.keys.in_progress(NAME, id), text(id=f"{i:024}"))
        ns.raw.incr(ns.keys.lock(NAME))
    ns.raw.hset(ns.keys.lock_info(NAME), id, count if told is None else told)
    ns.raw.sadd(ns.keys.known_jobs, NAME)
    return id


def lock(ns: Namespace) -> bytes:
    value: bytes = ns.raw.get(ns.keys.lock(NAME))
    return value


def test_locks_that_are_right_are_no_finding(ns: Namespace) -> None:
    go_holds(ns, 2)
    pool = ns.pool(NAME)
    ns.push(NAME, text())
    pool.claim(1)
    assert lock(ns) == b"3"
    assert kinds(ns) == []


@pytest.mark.parametrize(
    ("stands", "what"),
    [
        ("20519", "the lock of export is 20519, and 2 jobs are in progress"),
        ("-1", "the lock of export is -1, and 2 jobs are in progress"),
        ("1", "the lock of export is 1, and 2 jobs are in progress"),
        ("x", "the lock of export is x, and 2 jobs are in progress"),
        ("9" * 30, f"the lock of export is {'9' * 30}, and 2 jobs are in progress"),
        (None, "the lock of export is missing, and 2 jobs are in progress"),
    ],
)
def test_a_lock_that_differs_from_what_is_in_progress_is_set_right(
    ns: Namespace, stands: str | None, what: str
) -> None:
    go_holds(ns, 2)
    ns.raw.delete(ns.keys.lock(NAME)) if stands is None else ns.raw.set(ns.keys.lock(NAME), stands)
    assert repair(ns, "lock").what == what
    assert lock(ns) == b"2"
    assert kinds(ns) == []


def test_a_lock_that_changed_meanwhile_is_left_alone(ns: Namespace) -> None:
    id = go_holds(ns, 1)
    ns.raw.set(ns.keys.lock(NAME), 5)
    finding = only(ns, "lock")
    ns.raw.set(ns.keys.lock(NAME), 7)
    assert not ns.producer.doctor.repair(finding)
    assert lock(ns) == b"7"
    ns.raw.set(ns.keys.lock(NAME), 5)
    ns.raw.rpoplpush(ns.keys.in_progress(NAME, id), ns.keys.queue(NAME))
    ns.raw.decr(ns.keys.lock(NAME))
    ns.raw.hincrby(ns.keys.lock_info(NAME), id, -1)
    assert ns.producer.doctor.repair(finding), "jobs that come and go do not change by how much it is wrong"
    assert lock(ns) == b"0"


def test_a_lock_that_is_right_at_the_second_look_is_no_finding(ns: Namespace) -> None:
    go_holds(ns, 1)
    ns.raw.set(ns.keys.lock(NAME), 2)
    looks = ns.producer.doctor.checkup(patience_ms=300)
    began = time.monotonic()
    threading.Timer(0.1, lambda: ns.raw.set(ns.keys.lock(NAME), 1)).start()
    assert [f.kind for f in looks if f.schedule] == []
    assert time.monotonic() - began >= 0.3


def test_fields_of_pools_that_are_gone_are_removed(ns: Namespace) -> None:
    id = go_holds(ns, 1)
    ns.raw.hset(ns.keys.lock_info(NAME), mapping={f"{n:024}": 0 for n in range(3)})
    ns.raw.hset(ns.keys.lock_info(NAME), "b" * 24, 4)
    ns.raw.incrby(ns.keys.lock(NAME), 4)
    assert lock(ns) == b"5"
    repair(ns, "lock")
    assert lock(ns) == b"1"
    assert ns.raw.hgetall(ns.keys.lock_info(NAME)) == {id.encode(): b"1"}
    ns.raw.hset(ns.keys.lock_info(NAME), "c" * 24, 0)
    assert repair(ns, "lock-info").what == f"{ns.keys.lock_info(NAME)} counts 1 pool that is gone"
    assert ns.raw.hgetall(ns.keys.lock_info(NAME)) == {id.encode(): b"1"}


@pytest.mark.parametrize("told", ["-3", "7", "x"])
def test_a_count_of_a_living_pool_is_set_right(ns: Namespace, told: str) -> None:
    id = go_holds(ns, 2)
    ns.raw.hset(ns.keys.lock_info(NAME), id, told)
    repair(ns, "lock-info")
    assert ns.raw.hget(ns.keys.lock_info(NAME), id) == b"2"
    assert lock(ns) == b"2"


def test_a_text_that_a_go_pool_left_in_progress_is_not_counted_and_goes_to_the_dead_set(ns: Namespace) -> None:
    id = go_holds(ns, 0, told=0)
    left = text(unique=True, unique_key=f"{ns.keys.unique(NAME, '1')}")
    ns.raw.lpush(ns.keys.in_progress(NAME, id), left)
    ns.raw.hset(ns.keys.worker_pool(id), "worker_ids", "b" * 24)
    ns.raw.set(ns.keys.lock(NAME), 0)
    repair(ns, "unended")
    assert lock(ns) == b"0"
    assert ns.in_progress(NAME, id) == []
    assert kinds(ns) == ["dead"]


def test_a_text_that_a_dead_go_pool_left_in_progress_does_not_run_again(ns: Namespace) -> None:
    id = go_holds(ns, 0, told=0)
    left = text(unique=True)
    ns.raw.lpush(ns.keys.in_progress(NAME, id), left)
    ns.raw.hset(ns.keys.worker_pool(id), mapping={"worker_ids": "b" * 24, "heartbeat_at": 1})
    ns.raw.set(ns.keys.lock(NAME), 0)
    for finding in found(ns):
        ns.producer.doctor.repair(finding)
    assert kinds(ns) == ["dead"]
    assert not ns.raw.exists(ns.keys.queue(NAME))


def test_a_unique_job_that_runs_is_counted(ns: Namespace) -> None:
    """After another pool has reaped a frozen one, the frozen one may still run its job. Then its count is too low."""
    id = go_holds(ns, 0, told=0)
    ns.raw.lpush(ns.keys.in_progress(NAME, id), text(unique=True))
    ns.raw.hset(ns.keys.worker_pool(id), "worker_ids", "b" * 24)
    ns.raw.hset(ns.keys.worker("b" * 24), mapping={"job_name": NAME, "job_id": "a" * 24})
    ns.raw.set(ns.keys.lock(NAME), -1)
    assert {finding.kind for finding in found(ns)} == {"lock"}
    repair(ns, "lock")
    assert lock(ns) == b"1"
    assert ns.raw.hget(ns.keys.lock_info(NAME), id) == b"1"


def test_a_repair_beside_a_working_pool_keeps_the_limit(ns: Namespace) -> None:
    pool = ns.pool(NAME, limits={NAME: 3})
    for i in range(30):
        ns.push(NAME, text(id=f"{i:024}"))
    ns.raw.set(ns.keys.lock(NAME), 2)
    claims = list(pool.claim(9).claims)
    assert len(claims) == 1
    repair(ns, "lock")
    more = list(pool.claim(9).claims)
    assert len(more) == 2
    end(pool, claims + more, Done())
    assert lock(ns) == b"0"


def reaper(pool: GocraftBroker) -> Reaper:
    """The reaper of a pool, without the time between its looks."""
    return Reaper(pool._server, keys=pool._keys, session=pool._session, patience=0.0)


def test_a_pool_of_ours_repairs_a_lock_of_a_limited_name_by_itself(ns: Namespace) -> None:
    pool = ns.pool(NAME, "free", limits={NAME: 3})
    ns.push(NAME, text())
    (claim,) = pool.claim(1).claims
    ns.raw.set(ns.keys.lock(NAME), 20519)
    ns.raw.set(ns.keys.lock("free"), 4)
    own = reaper(pool)
    own.reap()
    assert lock(ns) == b"20519", "it waits until the lock was wrong for a while"
    own.reap()
    assert lock(ns) == b"1"
    assert ns.raw.get(ns.keys.lock("free")) == b"4", "without a limit no pool waits for it"
    end(pool, [claim], Done())
    assert lock(ns) == b"0"


def test_a_pool_of_ours_leaves_a_lock_that_others_change(ns: Namespace) -> None:
    pool = ns.pool(NAME, limits={NAME: 3})
    own = reaper(pool)
    for value in range(5, 10):
        ns.raw.set(ns.keys.lock(NAME), value)
        own.reap()
        assert lock(ns) == b"%d" % value
    own.reap()
    assert lock(ns) == b"0"


def test_a_listener_looks_at_locks_as_often_as_it_is_patient(ns: Namespace) -> None:
    pool = ns.pool(NAME, limits={NAME: 3}, timeout_ms=0)
    ns.raw.set(ns.keys.lock(NAME), 2)

    def is_right() -> bool:
        pool.beating()()
        pool.maintain()
        return lock(ns) == b"0"

    assert not is_right()
    until(is_right, timeout=10)
