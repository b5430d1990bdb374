"""The doctor on texts that no pool can read, keys of a wrong type, values that are no numbers, keys without expiry."""

from __future__ import annotations

import pytest
import redis

from tests.brokers.gocraft.doctor.checkups import found, kinds, only, repair, text
from tests.brokers.gocraft.serving.fleet import Namespace, end
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.jobs.outcome import Done

NAME = "export"
POISON = [
    b"not json",
    b'{"name":"export","id":1}',
    text(args=[1]),
    text(t=1.5),
    b"",
    b"\xff\xfe",
    b'{"args":{"a":1e999}}',
]


@pytest.mark.parametrize("data", POISON)
def test_a_text_that_no_pool_can_read_is_set_aside_from_a_queue(ns: Namespace, data: bytes) -> None:
    ns.pool(NAME)
    ns.push(NAME, data)
    repair(ns, "unreadable")
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [data]
    assert kinds(ns) == []


@pytest.mark.parametrize("place", ["scheduled", "retry", "dead", "held", "held_retry"])
def test_a_text_that_no_pool_can_read_is_set_aside_from_a_sorted_set(ns: Namespace, place: str) -> None:
    key = getattr(ns.keys, place)
    ns.raw.zadd(key, {POISON[0]: 4e9, text(): 4e9})
    repair(ns, "unreadable")
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [POISON[0]]
    assert ns.raw.zrange(key, 0, -1) == [text()]


def test_a_text_that_no_pool_can_read_frees_its_slot(ns: Namespace) -> None:
    """A Go pool takes it, counts it, and keeps it for ever."""
    id = ns.go_pool(NAME)
    ns.raw.lpush(ns.keys.in_progress(NAME, id), POISON[0], text())
    ns.raw.set(ns.keys.lock(NAME), 2)
    ns.raw.hset(ns.keys.lock_info(NAME), id, 2)
    repair(ns, "unreadable")
    assert ns.in_progress(NAME, id) == [text()]
    assert ns.lock(NAME, id) == (1, 1)
    assert kinds(ns) == []


def test_a_member_without_a_name_is_set_aside(ns: Namespace) -> None:
    nameless = b'{"id":"%b","t":1,"args":null}' % (b"a" * 24)
    ns.raw.zadd(ns.keys.retry, {nameless: 4e9})
    repair(ns, "nameless")
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [nameless]


def test_a_job_in_the_queue_of_another_name_is_named(ns: Namespace) -> None:
    ns.pool(NAME)
    ns.push(NAME, text(name="mail"))
    assert not only(ns, "stray").repairs


@pytest.mark.parametrize("score", ["inf", "-inf"])
def test_a_time_that_is_none_is_named(ns: Namespace, score: str) -> None:
    ns.raw.zadd(ns.keys.held, {text(): score})
    assert not only(ns, "score").repairs


def test_keys_of_a_wrong_type_are_named_and_all_others_are_checked(ns: Namespace) -> None:
    ns.raw.set(ns.keys.queue("wrong"), "x")
    ns.raw.hset(ns.keys.retry, "a", "b")
    ns.push(NAME, POISON[0])
    findings = found(ns)
    assert [f.what for f in findings if f.kind == "wrong-type"] == [
        f"{ns.keys.queue('wrong')} is a string, not a list",
        f"{ns.keys.retry} is a hash, not a sorted set",
    ]
    assert "unreadable" in {f.kind for f in findings}


@pytest.mark.parametrize("value", ["many", "-1", "2.5", ""])
def test_a_limit_that_is_no_number_is_named(ns: Namespace, value: str) -> None:
    ns.raw.set(ns.keys.max_concurrency(NAME), value)
    assert only(ns, "limit").what == f'{ns.keys.max_concurrency(NAME)}: it is "{value}", not a number from 0 on'


def test_a_name_that_could_be_a_key_is_named(ns: Namespace) -> None:
    ns.raw.sadd(ns.keys.known_jobs, "a:lock", "b,c", NAME)
    assert [f.about for f in found(ns) if f.kind == "name"] == [("a:lock",), ("b,c",)]


def test_keys_of_ours_without_expiry_get_one(ns: Namespace) -> None:
    pool = ns.pool(NAME)
    ns.push(NAME, text())
    end(pool, pool.claim(1).claims, Done())
    assert kinds(ns) == []
    ns.raw.persist(ns.keys.record(pool.listener))
    repair(ns, "own-expiry")
    assert 3500 < ns.raw.ttl(ns.keys.record(pool.listener)) <= 3600
    assert kinds(ns) == []


def test_a_namespace_without_a_name_is_checked(ns: Namespace) -> None:
    """Its keys have no prefix: keys of others on the same server are none of it."""
    url = ns.url.rsplit("/", 1)[0] + "/63"
    broker = GocraftBroker(connect(url), schedule="")
    raw = redis.Redis.from_url(url)
    raw.set("app:jobs:x", 1)
    raw.lpush("jobs:mail", POISON[0])
    try:
        assert {f.kind for f in broker.doctor.checkup(patience_ms=0)} >= {"unreadable"}
        assert "wrong-type" not in {f.kind for f in broker.doctor.checkup(patience_ms=0)}
    finally:
        raw.flushdb()
        raw.close()
        broker.close()
