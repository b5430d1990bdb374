"""Jobs that are changed by hand: retry, discard, run, cancel; each from every place, with its bytes (section 11)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from workkit.brokers.gocraft.text import read
from workkit.contract.producer import NewJob
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released

ID = "0123456789abcdef01234567"
# What a mover of Go changes: a field that it does not know, blanks, an empty list, digits beyond those of a float.
ODD = b'{ "x":[],"name":"export","id":"%s","t":1500000000, "args":{"n":123456789012345678,"f":0.30000000000000004}'
FAILED = ODD % ID.encode() + b',"fails":3,"err":"boom","failed_at":1500000000,"y":{} }'
FAILURE = Failure(type="OSError", message="disk full")
SETS = ("scheduled", "retry", "held", "held_retry", "dead")


def put(ns: Namespace, place: str, raw: bytes = FAILED, *, at: float = 4e9) -> None:
    ns.raw.zadd(getattr(ns.keys, place), {raw: at})


def job(ns: Namespace, id: str = ID) -> Job:
    return ns.producer.inspector.job(id)


def queued(ns: Namespace, name: str = "export") -> list[bytes]:
    return list(ns.raw.lrange(ns.keys.queue(name), 0, -1))


def without_t(raw: bytes) -> bytes:
    return re.sub(rb'"t":\d+', b'"t"', raw)


def dead(ns: Namespace) -> list[Job]:
    return list(ns.producer.inspector.jobs(state="dead"))


def test_a_retried_job_keeps_its_bytes_but_for_its_time_and_its_failures(ns: Namespace) -> None:
    put(ns, "dead")
    assert ns.producer.admin.retry(dead(ns)) == ["revived"]
    (raw,) = queued(ns)
    assert without_t(raw) == without_t(ODD % ID.encode() + b',"y":{} }')
    assert abs(read(raw).t - ns.producer.now_ms() / 1000) <= 2
    assert ns.raw.smembers(ns.keys.known_jobs) == {b"export"}
    assert ns.raw.exists(ns.keys.wake("export"))
    assert not ns.raw.exists(ns.keys.dead)


def test_dead_jobs_are_told_apart_by_their_bytes(ns: Namespace) -> None:
    other = FAILED.replace(b"boom", b"bang")
    put(ns, "dead", at=1e9)
    put(ns, "dead", other, at=1e9)
    first, second = dead(ns)
    assert first.id == second.id
    assert ns.producer.admin.discard([first, first]) == 1
    assert dead(ns) == [second]
    assert ns.producer.admin.discard([first]) == 0


def test_what_cannot_be_read_stays_dead_until_it_is_discarded(ns: Namespace) -> None:
    put(ns, "dead", b"{oops")
    put(ns, "dead", b'{"id":"nameless"}')
    ns.raw.set(ns.keys.queue("export"), "no list")
    put(ns, "dead")
    found = dead(ns)
    assert ns.producer.admin.retry(found) == ["unreadable"] * 3
    assert dead(ns) == found
    assert ns.producer.admin.discard(found) == 3


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_job_that_is_retried_later_waits_where_nobody_buries_it(ns: Namespace, is_shared: bool) -> None:
    put(ns, "dead")
    if is_shared:
        ns.pool("export")
        ns.go_pool("send_email")
    assert ns.producer.admin.retry(dead(ns), delays_ms=[60_500]) == ["revived"]
    key = ns.keys.held if is_shared else ns.keys.scheduled
    ((raw, due),) = ns.raw.zrange(key, 0, -1, withscores=True)
    assert 60 <= due - ns.producer.now_ms() / 1000 <= 62
    assert b'"fails"' not in raw


def test_a_retry_with_other_arguments_is_a_new_job(ns: Namespace) -> None:
    put(ns, "dead")
    assert ns.producer.admin.retry(dead(ns), args={"n": 2**60}) == ["revived"]
    (raw,) = queued(ns)
    assert re.fullmatch(rb'\{"name":"export","id":"[0-9a-f]{24}","t":\d+,"args":\{"n":1152921504606846976\}\}', raw)
    assert read(raw).id != ID


@pytest.mark.parametrize("how", [{"once": True}, {"key": "k"}], ids=str)
def test_a_retried_unique_job_takes_its_key_again_or_waits_for_a_newer_one(ns: Namespace, how: dict[str, Any]) -> None:
    first, pool = ns.add("export", {"i": 1}, **how), ns.pool("export")
    end(pool, pool.claim(1).claims, Dead(failure=FAILURE))
    second = ns.add("export", {"i": 1}, **how)
    (found,) = dead(ns)
    assert ns.producer.admin.retry([found]) == ["waits"]
    with pytest.raises(InvalidOptions):
        ns.producer.admin.run(found)
    (claim,) = pool.claim(5).claims
    assert claim.id == second
    end(pool, [claim], Done())
    assert ns.producer.admin.retry([found]) == ["revived"]
    assert ns.raw.ttl(ns.raw.keys("*:unique:*")[0]) > 86_390
    (ours,) = ns.producer.inspector.jobs()
    assert ours.id == first
    (claim,) = pool.claim(5).claims
    assert claim.id == first
    assert not ns.raw.keys("*:unique:*")


@pytest.mark.parametrize("how", [{"once": True}, {"key": "k"}], ids=str)
def test_a_unique_job_that_a_go_pool_buried_is_retried_with_its_key(ns: Namespace, how: dict[str, Any]) -> None:
    id = ns.add("export", {"i": 1}, due_ms=ns.producer.now_ms() + 60_000, **how)
    ((raw, _),) = ns.raw.zrange(ns.keys.scheduled, 0, -1, withscores=True)
    ns.raw.delete(ns.keys.scheduled)
    put(ns, "dead", raw[:-1] + b',"err":"unknown job when requeueing","failed_at":1500000000}')
    assert ns.producer.admin.retry(dead(ns)) == ["revived"]
    (claim,) = ns.pool("export").claim(5).claims
    assert claim.id == id
    assert not ns.raw.keys("*:unique:*")


@pytest.mark.parametrize("place", SETS)
def test_a_job_is_run_now_from_every_sorted_set(ns: Namespace, place: str) -> None:
    put(ns, place)
    found = job(ns)
    for _ in range(2):
        assert ns.producer.admin.run(found).state == "due"
    (raw,) = queued(ns)
    kept = ODD % ID.encode() + b',"y":{} }' if place == "dead" else FAILED
    assert without_t(raw) == without_t(kept)
    assert ns.raw.exists(ns.keys.wake("export"))
    pool = ns.pool("export")
    (claim,) = pool.claim(5).claims
    assert claim.id == ID
    with pytest.raises(NotFound):
        ns.producer.admin.run(found)


@pytest.mark.parametrize("place", [*SETS[:-1], "queue"])
def test_a_job_is_cancelled_where_it_waits(ns: Namespace, place: str) -> None:
    ns.push("export", ODD % b"other" + b"}")
    if place == "queue":
        ns.push("export", FAILED)
    else:
        put(ns, place)
    found = job(ns)
    assert ns.producer.admin.cancel(found) == found
    assert queued(ns) == [ODD % b"other" + b"}"]
    assert not ns.raw.exists(ns.keys.scheduled, ns.keys.retry, ns.keys.held, ns.keys.held_retry)
    with pytest.raises(NotFound):
        ns.producer.admin.cancel(found)


def test_a_dead_job_is_not_cancelled_but_discarded(ns: Namespace) -> None:
    put(ns, "dead")
    with pytest.raises(NotFound) as caught:
        ns.producer.admin.cancel(job(ns))
    assert "workkit discard" in str(caught.value)
    assert ns.raw.zcard(ns.keys.dead) == 1


@pytest.mark.parametrize("how", [{"once": True}, {"key": "k"}], ids=str)
@pytest.mark.parametrize("later", [False, True])
def test_a_cancelled_job_frees_its_unique_key(ns: Namespace, how: dict[str, Any], later: bool) -> None:
    due_ms = ns.producer.now_ms() + 3_600_000 if later else None
    id = ns.add("export", {"i": 1}, due_ms=due_ms, **how)
    assert ns.raw.keys("*:unique:*")
    ns.producer.admin.cancel(job(ns, id))
    assert not ns.raw.keys("*:unique:*")
    assert not list(ns.producer.inspector.jobs())


def test_of_a_duplicate_by_key_that_one_is_shown_found_and_cancelled_that_will_run(ns: Namespace) -> None:
    first, second = ns.add("export", {"i": 1}, key="k"), ns.add("export", {"i": 2}, key="k")
    (shown,) = ns.producer.inspector.jobs()
    assert (shown.id, shown.kwargs) == (second, {"i": 2})
    with pytest.raises(NotFound):
        job(ns, first)
    ns.producer.admin.cancel(job(ns, second))
    assert not ns.raw.exists(ns.keys.queue("export"))
    assert not ns.raw.keys("*:unique:*")


def test_a_retry_that_is_cancelled_leaves_the_key_of_a_newer_job(ns: Namespace) -> None:
    id = ns.add("export", {"i": 1}, once=True)
    pool = ns.pool("export")
    end(pool, pool.claim(1).claims, Again(delay_ms=60_000, attempt=1, failure=FAILURE))
    ns.add("export", {"i": 1}, once=True)
    ns.producer.admin.cancel(job(ns, id))
    assert ns.raw.keys("*:unique:*")
    assert len(queued(ns)) == 1


def test_a_text_that_names_a_key_of_somebody_else_frees_nothing(ns: Namespace) -> None:
    ns.raw.set("precious", 1)
    text = {"name": "export", "id": ID, "t": 1, "args": None, "unique": True, "unique_key": "precious"}
    ns.push("export", text)
    ns.producer.admin.cancel(job(ns))
    assert ns.raw.get("precious") == b"1"
    assert not queued(ns)


OUTCOMES: dict[str, Outcome] = {
    "done": Done(),
    "again": Again(delay_ms=60_000, attempt=1, failure=FAILURE),
    "at once": Again(delay_ms=0, attempt=1, failure=FAILURE),
    "dead": Dead(failure=FAILURE),
    "given back": Released(),
    "given back for later": Released(delay_ms=1000),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_running_job_that_is_cancelled_does_not_come_again(ns: Namespace, outcome: str) -> None:
    pool = ns.pool("export")
    id, other = ns.add("export", {"i": 1}), ns.add("export", {"i": 2})
    claims = pool.claim(2).claims
    for _ in range(2):
        assert ns.producer.admin.cancel(job(ns, id)).state == "cancelling"
    assert pool.beating()().cancelled == {id}
    counts = ns.producer.inspector.counts()
    assert (counts.running, counts.cancelling) == (1, 1)
    end(pool, [claim for claim in claims if claim.id == id], OUTCOMES[outcome])
    assert [found.id for found in ns.producer.inspector.jobs()] == [other]
    assert not pool.beating()().cancelled
    assert not ns.raw.exists(ns.keys.cancelled(pool.listener))
    assert ns.lock("export", pool.listener) == (1, 1)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_cancelled_job_does_not_come_again_when_its_pool_is_gone(ns: Namespace, is_clean: bool) -> None:
    pool, other = ns.pool("export"), ns.pool("export")
    id, kept = ns.add("export", {"i": 1}), ns.add("export", {"i": 2})
    pool.claim(2)
    ns.producer.admin.cancel(job(ns, id))
    if is_clean:
        pool.leave()
    else:
        ns.raw.hset(ns.keys.worker_pool(pool.listener), "heartbeat_at", 1)
        other.beating()()
        assert other.maintain()
    assert [found.id for found in ns.producer.inspector.jobs()] == [kept]
    assert ns.lock("export", pool.listener) == (0, 0)
    assert not ns.raw.keys("*workkit:cancelled:*")


def test_a_job_that_a_go_pool_runs_cannot_be_cancelled(ns: Namespace) -> None:
    pool = ns.go_pool("export")
    ns.raw.sadd(ns.keys.known_jobs, "export")
    ns.raw.lpush(ns.keys.in_progress("export", pool), FAILED)
    with pytest.raises(Unsupported, match="runs in a Go pool, which cannot be told"):
        ns.producer.admin.cancel(job(ns))
    assert ns.in_progress("export", pool) == [FAILED]
    assert not ns.raw.keys("*workkit:cancelled:*")


def test_jobs_without_an_id_and_with_an_odd_one_are_found_and_cancelled(ns: Namespace) -> None:
    ns.push("export", {"name": "export", "t": 1, "args": {"id": "x"}})
    ns.push("export", b'{"name":"export","id":"\\u0061\\/b","t":1,"args":null}')
    for at in (1, 2):
        put(ns, "scheduled", b'{"name":"export","id":"periodic:export:* * * * *:%d","t":1,"args":null}' % at)
    ids = [found.id for found in ns.producer.inspector.jobs()]
    assert len({*ids}) == 4
    assert {"a/b", "periodic:export:* * * * *:1"} < {*ids}
    with pytest.raises(NotFound, match="is the beginning of 2 jobs"):
        job(ns, "periodic")
    for id in ids:
        ns.producer.admin.cancel(job(ns, id))
    assert not list(ns.producer.inspector.jobs())


def test_a_job_that_is_added_later_with_a_batch_is_known_to_the_lookups(ns: Namespace) -> None:
    new = NewJob(fn="export", args=(), kwargs=None, trigger=None, due_ms=ns.producer.now_ms() + 60_000, queued=True)
    added = ns.producer.adding([new] * 1000)()
    assert job(ns, added[999].id).id == added[999].id
    assert ns.producer.admin.cancel(job(ns, added[500].id)).id == added[500].id
    assert ns.raw.zcard(ns.keys.scheduled) == 999
