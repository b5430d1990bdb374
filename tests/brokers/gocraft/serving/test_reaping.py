"""Pools that die: what they hold goes back in its order, and the locks return to what is true."""

from __future__ import annotations

import json
import time

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.processes import until
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.upkeep import Reaper
from workkit.jobs.outcome import Done, Released

PLAIN = {"name": "export", "id": "a" * 24, "t": 1500000000, "args": {"i": 0}}


def jobs(ns: Namespace, count: int) -> None:
    for i in range(count):
        ns.push("export", {**PLAIN, "id": f"{i:024}", "args": {"i": i}})


def reaped(pool: GocraftBroker) -> list[tuple[str, int]]:
    pool.beating()()
    return pool.maintain()


def test_the_jobs_of_a_dead_go_pool_are_first_in_turn_and_its_slots_are_free(ns: Namespace) -> None:
    jobs(ns, 6)
    id = ns.go_pool("export")
    for _ in range(3):
        ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", id))
    ns.raw.set(ns.keys.lock("export"), 4)
    ns.raw.hset(ns.keys.lock_info("export"), id, 4)
    ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", int(time.time()) - 60)
    pool = ns.pool("export")
    assert reaped(pool) == [(id, 3)]
    assert ns.raw.get(ns.keys.lock("export")) == b"0"
    assert ns.raw.smembers(ns.keys.worker_pools) == {pool.listener.encode()}
    assert not ns.raw.exists(ns.keys.worker_pool(id))
    claims = pool.claim(9).claims
    assert [(claim.kwargs or {})["i"] for claim in claims] == list(range(6))
    assert [claim.crashes for claim in claims] == [1, 1, 1, 0, 0, 0]
    end(pool, claims, Done())
    assert ns.lock("export", pool.listener) == (0, 0)


def test_a_job_that_waits_for_its_last_chance_keeps_its_crashes(ns: Namespace) -> None:
    jobs(ns, 1)
    for crashes in range(2):
        gone, other = ns.pool("export"), ns.pool("export")
        (claim,) = gone.claim(1).claims
        assert claim.crashes == crashes
        ns.raw.hset(ns.keys.worker_pool(gone.listener), "heartbeat_at", 1)
        assert reaped(other) == [(claim.receipt.pool, 1)]
        other.leave()
    pool = ns.pool("export")
    end(pool, pool.claim(1).claims, Released(delay_ms=1000))
    (claim,) = pool.claim(1, now_ms=pool.now_ms() + 2000).claims
    assert claim.crashes == 2
    end(pool, [claim], Done())
    assert not ns.raw.exists(ns.keys.crashes)


def unique(n: int) -> dict[str, object]:
    return {**PLAIN, "id": f"{n:024}", "args": {"i": n}, "unique": True}


@pytest.mark.parametrize(
    ("told", "observed", "ran"),
    [
        (0, None, [0]),  # what is not unique leaves its list when it ends
        (1, None, [0]),
        (2, None, [0, 3]),  # of those that are unique, the latest
        (2, 1, [0, 1]),  # a worker says that it runs this one
        (0, 2, [0, 2]),  # a pool that was frozen and reaped counts too few
        (3, 1, [0, 1, 3]),
        (4, None, [0, 1, 2, 3]),
        (9, None, [0, 1, 2, 3]),
        (None, None, [0, 1, 2, 3]),  # another pool has removed the field: nothing says what has ended
    ],
)
def test_what_a_go_pool_has_ended_and_left_in_its_list_is_dead(
    ns: Namespace, told: object, observed: int | None, ran: list[int]
) -> None:
    id, worker = ns.go_pool("export"), "d" * 24
    ns.push("export", {**PLAIN, "id": f"{0:024}"})
    for n in (1, 2, 3):
        ns.push("export", unique(n))
    for _ in range(4):
        ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", id))
    if told is not None:
        ns.raw.hset(ns.keys.lock_info("export"), id, told)
        ns.raw.set(ns.keys.lock("export"), told)
    ns.raw.hset(ns.keys.worker_pool(id), mapping={"heartbeat_at": int(time.time()) - 60, "worker_ids": worker})
    if observed is not None:
        ns.raw.hset(ns.keys.worker(worker), mapping={"job_name": "export", "job_id": f"{observed:024}"})
    pool = ns.pool("export")
    reaped(pool)
    claims = pool.claim(9).claims
    assert [(claim.kwargs or {})["i"] for claim in claims] == ran
    dead = [job.kwargs["i"] for job in ns.producer.inspector.jobs(state="dead") if job.kwargs]
    assert sorted([*dead, *ran]) == [0, 1, 2, 3]
    end(pool, claims, Done())
    assert ns.raw.get(ns.keys.lock("export")) == b"0"


def test_a_long_list_of_what_has_ended_is_dead_in_steps(ns: Namespace) -> None:
    id = ns.go_pool("export")
    ns.raw.lpush(ns.keys.in_progress("export", id), *(json.dumps(unique(n)) for n in range(2500)))
    ns.raw.hset(ns.keys.lock_info("export"), id, 1)
    ns.raw.set(ns.keys.lock("export"), 1)
    ns.raw.sadd(ns.keys.known_jobs, "export")
    ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", int(time.time()) - 60)
    pool = ns.pool("export")
    assert reaped(pool) == [(id, 1)]
    assert ns.raw.zcard(ns.keys.dead) == 2499
    assert [(claim.kwargs or {})["i"] for claim in pool.claim(9).claims] == [2499]


def test_a_count_of_a_gone_pool_stays_while_its_list_holds_a_text_that_has_ended(ns: Namespace) -> None:
    """Without the count nothing says that the text has ended."""
    ns.raw.lpush(ns.keys.in_progress("export", "e" * 24), json.dumps(unique(1)))
    ns.raw.hset(ns.keys.lock_info("export"), "e" * 24, 0)
    ns.raw.set(ns.keys.lock("export"), 3)
    pool = ns.pool("export", limits={"export": 2})
    own = Reaper(pool._server, keys=pool._keys, session=pool._session, patience=0.0)
    for _ in range(3):
        own._relock(time.monotonic())
    assert ns.raw.get(ns.keys.lock("export")) == b"0"
    assert ns.raw.hexists(ns.keys.lock_info("export"), "e" * 24)
    own.reap()
    own.reap()
    assert pool.claim(9).claims == []
    assert ns.raw.zcard(ns.keys.dead) == 1


def test_a_living_go_pool_is_left_alone(ns: Namespace) -> None:
    jobs(ns, 1)
    id = ns.go_pool("export")
    ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", id))
    assert reaped(ns.pool("export")) == []
    assert len(ns.in_progress("export", id)) == 1


def test_jobs_of_a_pool_that_nobody_lists_are_found(ns: Namespace) -> None:
    jobs(ns, 2)
    lost = "c" * 24
    for _ in range(2):
        ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", lost))
    ns.raw.set(ns.keys.lock("export"), 2)
    pool = ns.pool("export", timeout_ms=100)
    found: list[tuple[str, int]] = []

    def is_found() -> bool:
        found.extend(reaped(pool))
        return bool(found)

    until(is_found, timeout=10)
    assert found == [(lost, 2)]
    assert ns.raw.get(ns.keys.lock("export")) == b"0"
    assert len(pool.claim(9).claims) == 2


def test_a_listed_pool_without_a_heartbeat_is_reaped_once_it_stays_so(ns: Namespace) -> None:
    jobs(ns, 1)
    id = ns.go_pool("export")
    ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", id))
    ns.raw.delete(ns.keys.worker_pool(id))
    pool = ns.pool("export", timeout_ms=100)
    assert reaped(pool) == [], "its next heartbeat may still come"
    until(lambda: reaped(pool) == [(id, 1)], timeout=10)


def test_a_heartbeat_that_was_deleted_is_written_again(ns: Namespace) -> None:
    pool = ns.pool("export", "other")
    before = ns.raw.hgetall(ns.keys.worker_pool(pool.listener))
    ns.raw.delete(ns.keys.worker_pool(pool.listener))
    pool.beating()()
    after = ns.raw.hgetall(ns.keys.worker_pool(pool.listener))
    assert after.keys() >= before.keys() - {b"started_at"}
    assert after[b"job_names"] == b"export,other"


def test_a_reaped_pool_is_fenced_and_its_endings_change_nothing(ns: Namespace) -> None:
    jobs(ns, 2)
    frozen, other = ns.pool("export"), ns.pool("export")
    held, id = frozen.claim(2).claims, frozen.listener
    ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", 1500000000)
    assert reaped(other) == [(id, 2)]
    again = other.claim(5).claims
    turn = end(frozen, held, Done())
    assert set(turn.fenced) == set(held)
    assert ns.lock("export", other.listener) == (2, 2)
    frozen.beating()()
    assert frozen.listener not in ("", id)
    assert set(end(frozen, held, Done()).refused) == set(held)
    end(other, again, Done())
    assert ns.raw.get(ns.keys.lock("export")) == b"0"
    assert ns.raw.smembers(ns.keys.worker_pools) == {frozen.listener.encode(), other.listener.encode()}


def test_an_ending_while_go_takes_the_job_back_is_refused(ns: Namespace) -> None:
    jobs(ns, 1)
    pool = ns.pool("export")
    (claim,) = pool.claim(1).claims
    ns.raw.rpoplpush(ns.keys.in_progress("export", pool.listener), ns.keys.queue("export"))
    ns.raw.decr(ns.keys.lock("export"))
    ns.raw.hincrby(ns.keys.lock_info("export"), pool.listener, -1)
    assert list(end(pool, [claim], Done()).refused) == [claim]
    assert ns.lock("export", pool.listener) == (0, 0)
