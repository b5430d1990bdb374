"""Jobs that are due later: where they are kept, who moves them, and what is left alone."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from workkit.jobs.outcome import Again, Failure

FAILURE = Failure(type="OSError", message="disk full")
ARGS = rb'{"f":0.30000000000000004,"l":[],"n":9007199254740993,"u":"\u003c/"}'
BIG = b'{"name":"export","id":"%s","t":1500000000,"args":' + ARGS + b"}"


def due_in(ns: Namespace, seconds: int) -> int:
    return ns.producer.now_ms() + 1000 * seconds


@pytest.mark.parametrize("key", ["scheduled", "retry", "held", "held_retry"])
def test_a_due_job_keeps_every_byte_but_its_time(ns: Namespace, key: str) -> None:
    raw = BIG % (b"b" * 24)
    ns.raw.zadd(getattr(ns.keys, key), {raw: 1500000000})
    pool = ns.pool("export")
    (claim,) = pool.claim(5).claims
    (moved,) = ns.in_progress("export", pool.listener)
    assert moved == raw.replace(b"1500000000", b"%d" % claim.receipt.text.t)
    assert abs(claim.receipt.text.t - pool.now_ms() // 1000) <= 1


def test_there_may_be_more_after_a_page_of_due_jobs(ns: Namespace) -> None:
    ns.raw.zadd(ns.keys.scheduled, {BIG % (b"%024d" % i): 1000 + i for i in range(150)})
    assert ns.pool("export").claim(100).wake_in_ms == 0


def test_what_no_living_pool_serves_is_left_and_blocks_nothing(ns: Namespace) -> None:
    foreign = {b'{"name":"other","id":"%d","t":1,"args":null}' % i: 1000 + i for i in range(250)}
    ns.raw.zadd(ns.keys.scheduled, foreign)
    ns.raw.zadd(ns.keys.scheduled, {BIG % (b"b" * 24): 5000})
    pool = ns.pool("export")
    taken = [claim.fn for _ in range(6) for claim in pool.claim(5).claims]
    assert taken == ["export"]
    assert ns.raw.zcard(ns.keys.scheduled) == 250
    assert ns.raw.zcard(ns.keys.dead) == 0


def test_a_job_of_another_living_pool_is_moved_for_it(ns: Namespace) -> None:
    ns.raw.zadd(ns.keys.scheduled, {b'{"name":"other","id":"x","t":1,"args":null}': 1000})
    ns.go_pool("other")
    ns.pool("export").claim(5)
    assert ns.raw.llen(ns.keys.queue("other")) == 1


def test_unreadable_members_block_nothing_and_keep_their_bytes(ns: Namespace) -> None:
    poison = {b"{": 1.0, b'{"id":"nameless","t":1,"args":null}': 2.0, b'{"name":"export","t":"x"}': 3.0}
    ns.raw.zadd(ns.keys.retry, {**poison, BIG % (b"b" * 24): 4.0})
    pool = ns.pool("export")
    assert [claim.fn for claim in pool.claim(5).claims] == ["export"]
    assert set(ns.raw.zrange(ns.keys.unreadable, 0, -1)) == set(poison)


def test_a_later_job_is_shared_where_all_pools_serve_its_name(ns: Namespace) -> None:
    ns.go_pool("export", "other")
    ns.pool("export")
    due = due_in(ns, 90)
    ns.add("export", due_ms=due)
    ((_, score),) = ns.raw.zrange(ns.keys.scheduled, 0, -1, withscores=True)
    assert score == -(-due // 1000)


def test_a_later_job_is_held_where_a_go_pool_would_bury_it(ns: Namespace) -> None:
    ns.go_pool("other")
    pool = ns.pool("export")
    ns.add("export", due_ms=due_in(ns, 90))
    assert (ns.raw.zcard(ns.keys.scheduled), ns.raw.zcard(ns.keys.held)) == (0, 1)
    assert [claim.fn for claim in pool.claim(5, now_ms=due_in(ns, 92)).claims] == ["export"]


def test_a_later_job_is_shared_where_no_pool_of_ours_would_take_it(ns: Namespace) -> None:
    ns.go_pool("other")
    ns.add("export", due_ms=due_in(ns, 90))
    assert (ns.raw.zcard(ns.keys.scheduled), ns.raw.zcard(ns.keys.held)) == (1, 0)


def test_a_failed_job_is_held_where_a_go_pool_would_bury_it(ns: Namespace) -> None:
    ns.go_pool("other")
    pool = ns.pool("export")
    ns.add("export")
    end(pool, pool.claim(1).claims, Again(delay_ms=60_000, attempt=1, failure=FAILURE))
    assert (ns.raw.zcard(ns.keys.retry), ns.raw.zcard(ns.keys.held_retry)) == (0, 1)
    (claim,) = pool.claim(5, now_ms=due_in(ns, 62)).claims
    assert claim.attempt == 1


def test_a_dead_go_pool_holds_nothing_up(ns: Namespace) -> None:
    id = ns.go_pool("other")
    ns.raw.hset(ns.keys.worker_pool(id), "heartbeat_at", 1500000000)
    ns.pool("export")
    ns.add("export", due_ms=due_in(ns, 90))
    assert ns.raw.zcard(ns.keys.scheduled) == 1
