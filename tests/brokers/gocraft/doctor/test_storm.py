"""A storm of hostile values over every key: the doctor answers, and the pool runs every job that it can.

``python -m pytest tests/brokers/gocraft/doctor/test_storm.py`` takes seeds; a failure names the seed and the keys.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from tests.brokers.gocraft.doctor.checkups import text
from tests.brokers.gocraft.doctor.hostile import IDS, OF_ALL, fitting, of_one, write
from tests.brokers.gocraft.serving.fleet import Namespace, end
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.errors import ServerRefused
from workkit.jobs.outcome import Done

ROUNDS = 12


def look(ns: Namespace) -> None:
    """Check, verify, dump and repair."""
    doctor = ns.producer.doctor
    for finding in doctor.checkup(patience_ms=0):
        assert all((finding.kind, finding.what, finding.why, finding.remedy))
        assert finding.kind != "unchecked", finding
        doctor.repair(finding)
    assert all(flaw.fault.what and flaw.fault.why for flaw in doctor.verification().flaws())
    assert list(doctor.verification().contents())


def step(pool: GocraftBroker) -> list[str]:
    """One round of a listener. Returns the jobs that it ran."""
    pool.beating()()
    pool.maintain()
    claims = [claim for claim in pool.claim(50).claims if claim.fn == "safe"]
    end(pool, claims, Done())
    return [claim.id for claim in claims]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_hostile_values_in_keys_of_one_name_or_pool_stop_nothing_else(ns: Namespace, seed: int) -> None:
    random = Random(seed)
    pool = ns.pool("safe", "other", limits={"other": 2}, timeout_ms=0)
    for _ in range(8):
        for key in of_one(ns.keys, random, "b" * 24):
            if random.random() < 0.7:
                write(ns.raw, key, random)
    fitting(ns.raw, ns.keys, random)
    ns.raw.sadd(ns.keys.worker_pools, *IDS, "b" * 24)
    ids = [ns.add("safe", {"i": i}) for i in range(5)]
    ran: list[str] = []
    for _ in range(3):
        if seed % 2:
            look(ns)
        ran += step(pool)
    look(ns)
    assert set(ran) >= set(ids), f"seed {seed}"


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_hostile_values_in_the_own_keys_of_a_pool_stop_it_for_a_moment(ns: Namespace, seed: int) -> None:
    random = Random(seed)
    pool = ns.pool("safe", timeout_ms=0)
    ids = [ns.add("safe", {"i": i}) for i in range(5)]
    claims = list(pool.claim(2).claims)
    own = (ns.keys.record, ns.keys.taken, ns.keys.worker_pool, ns.keys.cancelled)
    for made in own if seed % 5 == 4 else own[seed % 5 :][:1]:
        write(ns.raw, made(pool.listener).encode(), random)
    end(pool, claims, Done())
    ran = {claim.id for claim in claims}
    for _ in range(4):
        look(ns)
        ran |= set(step(pool))
    assert ran >= set(ids), f"seed {seed}"


def test_a_lock_that_becomes_no_number_while_a_job_runs(ns: Namespace) -> None:
    pool = ns.pool("safe")
    for _ in range(2):
        ns.add("safe", {"i": 1})
    first, second = pool.claim(2).claims
    ns.raw.set(ns.keys.lock("safe"), "many")
    ns.raw.hset(ns.keys.lock_info("safe"), pool.listener, "many")
    assert not end(pool, [first], Done()).refused
    ns.raw.delete(ns.keys.lock("safe"), ns.keys.lock_info("safe"))
    ns.raw.lpush(ns.keys.lock("safe"), 1)
    ns.raw.lpush(ns.keys.lock_info("safe"), 1)
    assert not end(pool, [second], Done()).refused
    assert ns.in_progress("safe", pool.listener) == []


def test_a_due_job_whose_queue_is_none_waits_and_others_go_on(ns: Namespace) -> None:
    pool = ns.pool("safe", "other")
    ns.raw.set(ns.keys.queue("other"), "x")
    ns.raw.zadd(ns.keys.scheduled, {text(name="other"): 1, text(name="safe"): 2, b"{": 3})
    assert [claim.fn for claim in pool.claim(5).claims] == ["safe"]
    assert ns.raw.zrange(ns.keys.scheduled, 0, -1) == [text(name="other")]
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [b"{"]


def test_a_job_whose_unique_key_is_something_else_runs_and_leaves_it(ns: Namespace) -> None:
    pool = ns.pool("safe")
    ns.add("safe", {"i": 1}, once=True)
    (key,) = ns.raw.keys(f"{ns.name}:unique:*")
    ns.raw.delete(key)
    ns.raw.lpush(key, 1)
    assert len(pool.claim(5).claims) == 1
    assert ns.raw.exists(key), "a text can name any key of the server"


@pytest.mark.parametrize("attribute", OF_ALL)
def test_a_key_of_all_with_a_wrong_type_is_named_and_the_pool_goes_on_when_it_is_gone(
    ns: Namespace, attribute: str
) -> None:
    pool = ns.pool("safe", timeout_ms=0)
    id = ns.add("safe", {"i": 1})
    key = getattr(ns.keys, attribute)
    before = ns.raw.dump(key)
    ns.raw.delete(key)
    ns.raw.xadd(key, {"a": "b"})
    look(ns)
    assert [f.about for f in ns.producer.doctor.checkup(patience_ms=0) if f.kind == "wrong-type"] == [(key,)]
    ran: list[str] = []
    with suppress(ServerRefused):  # the loop of a listener tries again until it is repaired
        ran += step(pool)
    ns.raw.delete(key)
    if before is not None:
        ns.raw.restore(key, 0, before)
    ran += step(pool)
    ran += step(pool)
    assert id in ran
