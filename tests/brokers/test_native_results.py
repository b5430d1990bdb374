"""The keys of kept results: their life, their bounds, and what the doctor says of them."""

from __future__ import annotations

import time

import pytest

from tests import results
from tests.brokers.checkups import found, only, repaired
from tests.servers import Server
from workkit import errors, schedule
from workkit.brokers.connect import open_broker


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


def drained(s: schedule.Schedule) -> None:
    schedule.drain(s, imports=["tests.results"], folder=None, raise_errors=False)


def test_a_recurring_job_has_its_last_60_results_and_a_life(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add(s, results.double, every="hour", args=[1], keep="1 minute")
    for _ in range(63):
        schedule.run(s, job)
        drained(s)
    client, key = server.client(), f"{s.name}:result:{job.id}"
    assert client.xlen(key) == 60
    assert 0 < client.pttl(key) <= 60_000


def test_an_entry_expires_though_a_later_one_keeps_the_key(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add(s, results.double, every="hour", args=[1], keep="1 minute")
    schedule.run(s, job)
    drained(s)
    client, key = server.client(), f"{s.name}:result:{job.id}"
    ((place, fields),) = client.xrange(key)
    client.delete(key)
    old = f"{int(place.split(b'-')[0]) - 60_001}-0"
    client.xadd(key, fields, id=old)
    with pytest.raises(errors.ResultPending):
        schedule.result(s, job, wait=None)
    schedule.run(s, job)
    drained(s)
    assert client.xlen(key) == 1
    assert schedule.result(s, job, wait=None) == 2


def test_a_shorter_keep_does_not_shorten_what_is_kept_longer(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add_now(s, results.double, args=[1], keep="1 hour")
    client, key = server.client(), f"{s.name}:result:{job.id}"
    client.xadd(key, {"k": "value"}, id="1-0")
    client.pexpire(key, 7_200_000)
    drained(s)
    assert client.pttl(key) > 7_100_000


def test_the_doctor_names_results_that_would_never_expire(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add_now(s, results.double, args=[1])
    drained(s)
    doctor, client = open_broker(s.name, redis=server.url).doctor, server.client()
    assert found(doctor) == []
    client.persist(f"{s.name}:result:{job.id}")
    finding = only(doctor, "endless")
    assert job.id in finding.about[0]
    repaired(doctor, finding)
    assert found(doctor) == []
    assert client.pttl(f"{s.name}:result:{job.id}") > 0


def test_an_ending_that_comes_too_late_leaves_no_result(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add_now(s, results.behind_gate)
    results.gate.clear()
    with schedule.listener(s, imports=["tests.results"], folder=None, threads=1):
        ends_at = time.monotonic() + 20
        client = server.client()
        while not (held := [key for key in client.scan_iter(f"{s.name}:running:*") if client.hlen(key) > 2]):
            assert time.monotonic() < ends_at
        client.delete(*held)  # as if another listener had taken it over
        results.gate.set()
        with pytest.raises(errors.ResultTimeout):
            schedule.result(s, job, wait="1s")
        assert not client.exists(f"{s.name}:result:{job.id}")


@pytest.mark.parametrize("shards", [3])
def test_results_are_found_in_every_shard(server: Server, name: str, shards: int) -> None:
    s = schedule.create(name, redis=server.url, shards=shards)
    jobs = [schedule.add_now(s, results.double, args=[n], name=f"n{n}") for n in range(8)]
    with schedule.listener(s, imports=["tests.results"], folder=None):
        assert [schedule.result(s, job) for job in jobs] == [2 * n for n in range(8)]
    assert [schedule.result(s, f"n{n}", wait=None) for n in range(8)] == [2 * n for n in range(8)]
    assert [schedule.result(s, job.id[:10], wait=None) for job in jobs] == [2 * n for n in range(8)]
