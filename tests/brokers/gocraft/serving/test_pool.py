"""A pool of ours in a namespace: what it takes, how it ends jobs, and what the keys say on every path."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from workkit.brokers.gocraft.text import read
from workkit.errors import InvalidArguments, InvalidOptions, ServerUnreachable, Unsupported
from workkit.jobs.outcome import Again, Dead, Done, Failure, Released

FAILURE = Failure(type="OSError", message="disk full")
PLAIN = {"name": "export", "id": "a" * 24, "t": 1500000000, "args": {"i": 0}}


def test_a_job_that_go_added_is_run_with_exact_counts(ns: Namespace) -> None:
    raw = ns.push("export", PLAIN)
    pool = ns.pool("export")
    (claim,) = pool.claim(5).claims
    assert (claim.fn, claim.kwargs, claim.id, claim.due_ms) == ("export", {"i": 0}, "a" * 24, 1500000000_000)
    assert ns.in_progress("export", pool.listener) == [raw]
    assert ns.lock("export", pool.listener) == (1, 1)
    assert end(pool, [claim], Done()).refused == []
    assert ns.in_progress("export", pool.listener) == []
    assert ns.lock("export", pool.listener) == (0, 0)


def test_jobs_are_taken_oldest_first(ns: Namespace) -> None:
    for i in range(8):
        ns.push("export", {**PLAIN, "id": f"{i:024}", "args": {"i": i}})
    pool = ns.pool("export", "other")
    ns.push("other", {**PLAIN, "name": "other"})
    taken = [claim.kwargs for claim in (*pool.claim(3).claims, *pool.claim(20).claims) if claim.fn == "export"]
    assert taken == [{"i": i} for i in range(8)]


def test_a_paused_name_is_left_alone_whatever_the_key_holds(ns: Namespace) -> None:
    ns.push("export", PLAIN)
    ns.raw.set(ns.keys.paused("export"), "0")
    pool = ns.pool("export")
    assert pool.claim(5).claims == []
    ns.raw.delete(ns.keys.paused("export"))
    assert len(pool.claim(5).claims) == 1


def test_the_limit_of_a_name_holds_over_all_pools(ns: Namespace) -> None:
    for i in range(9):
        ns.push("export", {**PLAIN, "id": f"{i:024}"})
    one, other = ns.pool("export", limits={"export": 3}), ns.pool("export")
    assert ns.raw.get(ns.keys.max_concurrency("export")) == b"3", "the second pool says no limit"
    held = [*one.claim(2).claims]
    assert [len(held), len(other.claim(9).claims), len(one.claim(9).claims)] == [2, 1, 0]
    end(one, held, Done())
    assert len(one.claim(9).claims) == 2


def test_a_negative_lock_lets_no_more_in(ns: Namespace) -> None:
    for i in range(5):
        ns.push("export", {**PLAIN, "id": f"{i:024}"})
    pool = ns.pool("export", limits={"export": 2})
    ns.raw.set(ns.keys.lock("export"), -3)
    assert len(pool.claim(9).claims) == 2


def test_priorities_draw_names_in_proportion(ns: Namespace) -> None:
    names = {"low": 1, "middle": 10, "high": 100}
    pool = ns.pool(*names, priorities=names)
    for name in names:
        for i in range(600):
            ns.push(name, {**PLAIN, "name": name, "id": f"{i:024}"})
    taken = Counter(claim.fn for _ in range(5) for claim in pool.claim(100).claims)
    assert taken["high"] > 400
    assert 20 < taken["middle"] < 90
    assert taken["low"] < 25


def test_a_failed_job_is_tried_again_with_the_fields_of_go(ns: Namespace) -> None:
    ns.push("export", {**PLAIN, "args": {"big": 9007199254740993}})
    pool = ns.pool("export")
    end(pool, pool.claim(1).claims, Again(delay_ms=20_400, attempt=1, failure=FAILURE))
    ((text, score),) = ns.raw.zrange(ns.keys.retry, 0, -1, withscores=True)
    now = pool.now_ms() // 1000
    found = json.loads(text)
    assert list(found) == ["name", "id", "t", "args", "fails", "err", "failed_at"]
    assert (found["fails"], found["err"], found["args"]) == (1, "OSError: disk full", {"big": 9007199254740993})
    assert abs(found["failed_at"] - now) <= 1
    assert 20 <= score - now <= 22
    assert score == int(score)
    assert ns.lock("export", pool.listener) == (0, 0)


def test_a_job_that_failed_for_good_is_dead_and_a_stray_one_leaves_no_lock(ns: Namespace) -> None:
    ns.push("export", PLAIN)
    ns.push("export", {**PLAIN, "name": "other_name"})
    pool = ns.pool("export")
    first, stray = pool.claim(5).claims
    pool.claim(0, ends=[(first, Dead(failure=FAILURE)), (stray, Released(unknown=True))])
    dead = {read(text).name: read(text) for text in ns.raw.zrange(ns.keys.dead, 0, -1)}
    assert (dead["export"].err, dead["other_name"].err) == ("OSError: disk full", "stray job: no handler")
    assert dead["other_name"].fails == 1
    assert ns.lock("export", pool.listener) == (0, 0)
    assert not ns.raw.exists(ns.keys.lock("other_name"), ns.keys.lock_info("other_name"))


@pytest.mark.parametrize("inner", ["#'tests.handlers/note", "tests.handlers:note", ""])
def test_a_name_that_is_not_plain_is_never_looked_up(ns: Namespace, inner: str) -> None:
    ns.push("export", {**PLAIN, "name": inner})
    (claim,) = ns.pool("export").claim(1).claims
    assert claim.trouble == "foreign"


@pytest.mark.parametrize("poison", [b"{", b"[]", b'{"name":"export","t":1.5}', b"\xff\xfe", b'{"args":[1]}'], ids=repr)
def test_bytes_that_are_no_job_are_set_aside_and_free_their_slot(ns: Namespace, poison: bytes) -> None:
    ns.push("export", poison)
    pool = ns.pool("export")
    (claim,) = pool.claim(5).claims
    assert claim.trouble == "corrupt"
    end(pool, [claim], Done())
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [poison]
    assert ns.lock("export", pool.listener) == (0, 0)
    assert ns.in_progress("export", pool.listener) == []


def test_a_released_job_keeps_its_place(ns: Namespace) -> None:
    for i in range(3):
        ns.push("export", {**PLAIN, "id": f"{i:024}", "args": {"i": i}})
    pool = ns.pool("export")
    end(pool, pool.claim(1).claims, Released())
    assert [claim.kwargs for claim in pool.claim(3).claims] == [{"i": 0}, {"i": 1}, {"i": 2}]


def test_a_pool_that_serves_nothing_is_refused(ns: Namespace) -> None:
    with pytest.raises(InvalidOptions, match="serves"):
        ns.pool()


def test_what_a_job_text_cannot_say_is_refused(ns: Namespace) -> None:
    with pytest.raises(InvalidArguments, match=r'args\["x"\]'):
        ns.add("export", {"x": float("nan")})
    with pytest.raises(Unsupported):
        ns.producer.plans.contents([])


def test_a_clean_stop_leaves_no_trace_of_the_pool(ns: Namespace) -> None:
    ns.push("export", PLAIN)
    pool = ns.pool("export")
    id = pool.listener
    end(pool, pool.claim(1).claims, Done())
    pool.beating()()
    pool.leave()
    assert ns.raw.smembers(ns.keys.worker_pools) == set()
    assert [key for key in ns.raw.keys("*") if id.encode() in key] == []
    assert ns.raw.hgetall(ns.keys.lock_info("export")) == {}


def test_a_stop_that_did_not_reach_the_server_is_repeated(ns: Namespace) -> None:
    pool = ns.pool("export")
    ns.raw.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(ServerUnreachable):
        pool.leave()
    assert ns.raw.scard(ns.keys.worker_pools) == 1
    pool.claim(0)
    pool.leave()
    assert ns.raw.smembers(ns.keys.worker_pools) == set()
