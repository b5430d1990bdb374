"""The doctor on what waits: queues that nobody serves, paused and late ones, jobs that a Go pool would bury."""

from __future__ import annotations

import time

import pytest

from tests.brokers.gocraft.doctor.checkups import found, kinds, only, repair, text
from tests.brokers.gocraft.serving.fleet import Namespace
from workkit.contract.admin import Paused, Resumed
from workkit.jobs.admission import Pause

NAME = "export"
DUE = 4_000_000_000


@pytest.mark.parametrize(("place", "held"), [("scheduled", "held"), ("retry", "held_retry")])
def test_jobs_that_a_go_pool_would_bury_are_held(ns: Namespace, place: str, held: str) -> None:
    ns.go_pool("mail")
    ns.pool("other")
    ns.raw.zadd(getattr(ns.keys, place), {text(id=f"{n:024}"): DUE + n for n in range(3)})
    repair(ns, "buried")
    assert ns.raw.zrange(getattr(ns.keys, place), 0, -1) == []
    expected = [(text(id=f"{n:024}"), float(DUE + n)) for n in range(3)]
    assert ns.raw.zrange(getattr(ns.keys, held), 0, -1, withscores=True) == expected
    assert kinds(ns) == []


def test_without_a_pool_of_ours_they_are_only_named(ns: Namespace) -> None:
    """Nobody would ever move them from a key of ours."""
    id = ns.go_pool("mail")
    ns.raw.zadd(ns.keys.scheduled, {text(): DUE})
    finding = only(ns, "buried")
    assert not finding.repairs
    assert finding.what == f"1 job of export in {ns.keys.scheduled} will be buried by the Go pool {id}"


def test_nothing_is_held_once_the_pool_of_ours_has_stopped(ns: Namespace) -> None:
    ns.go_pool("mail")
    pool = ns.pool("other")
    ns.raw.zadd(ns.keys.scheduled, {text(): DUE})
    finding = only(ns, "buried")
    pool.leave()
    assert not ns.producer.doctor.repair(finding)
    assert ns.raw.zcard(ns.keys.scheduled) == 1


def test_jobs_that_a_pool_of_ours_guards_are_no_finding(ns: Namespace) -> None:
    """Its heartbeats take them out of the way of Go pools before they are due."""
    ns.go_pool("mail")
    ns.pool(NAME)
    ns.raw.zadd(ns.keys.scheduled, {text(): DUE})
    assert kinds(ns) == []


def test_jobs_that_every_go_pool_serves_are_no_finding(ns: Namespace) -> None:
    ns.go_pool(NAME)
    ns.pool("mail")
    ns.raw.zadd(ns.keys.scheduled, {text(): DUE})
    assert kinds(ns) == []


def test_a_name_with_a_queue_that_is_not_known_is_listed(ns: Namespace) -> None:
    ns.pool(NAME)
    ns.raw.srem(ns.keys.known_jobs, NAME)
    ns.raw.lpush(ns.keys.queue(NAME), text(t=int(time.time())))
    repair(ns, "unknown-name")
    assert ns.raw.smembers(ns.keys.known_jobs) == {NAME.encode()}
    assert kinds(ns) == []


@pytest.mark.parametrize(("count", "t", "is_found"), [(1, 1_500_000_000, True), (1, None, False), (1000, None, True)])
def test_a_paused_queue_is_a_finding_once_it_is_late_or_long(
    ns: Namespace, count: int, t: int | None, is_found: bool
) -> None:
    ns.pool(NAME)
    at = int(time.time()) if t is None else t
    ns.raw.lpush(ns.keys.queue(NAME), *(text(id=f"{n:024}", t=at) for n in range(count)))
    ns.raw.sadd(ns.keys.known_jobs, NAME)
    ns.raw.set(ns.keys.paused(NAME), "0")
    assert kinds(ns) == (["paused"] if is_found else [])


def test_of_a_queue_that_is_paused_with_its_namespace_the_namespace_is_resumed(ns: Namespace) -> None:
    ns.pool(NAME)
    ns.push(NAME, text(t=1_500_000_000))
    ns.producer.admin.steer(Paused("schedule", Pause()))
    assert only(ns, "paused").remedy == f"workkit resume {ns.name}"
    ns.producer.admin.steer(Resumed("schedule"))
    ns.producer.admin.steer(Paused(f"fn:{NAME}", Pause()))
    assert only(ns, "paused").remedy == f"workkit resume {ns.name} --fn {NAME}"


def test_the_keys_of_pauses_and_cancellations_are_those_of_a_healthy_namespace(ns: Namespace) -> None:
    pool = ns.pool(NAME)
    ns.push(NAME, text())
    (claim,) = pool.claim(1).claims
    ns.producer.admin.cancel(claim.job)
    for target in (f"fn:{NAME}", "schedule"):
        ns.producer.admin.steer(Paused(target, Pause(reason="migration")))
    assert kinds(ns) == []


def test_jobs_that_no_living_pool_serves_are_named(ns: Namespace) -> None:
    ns.push(NAME, text())
    ns.push("mail", text(name="mail"))
    assert only(ns, "no-listener").what == f"no pool lives in {ns.name}, and 2 jobs wait"
    ns.pool("mail")
    assert [f.about for f in found(ns) if f.kind == "nobody-runs"] == [(NAME,)]
    assert "overdue" in kinds(ns)


@pytest.mark.parametrize("held", ["held", "held_retry"])
def test_jobs_in_a_key_of_ours_need_a_pool_of_ours(ns: Namespace, held: str) -> None:
    ns.go_pool(NAME)
    ns.raw.zadd(getattr(ns.keys, held), {text(): DUE})
    assert only(ns, "held").what == f"1 job waits in {getattr(ns.keys, held)}, and no pool of ours lives"
    ns.pool("mail")
    assert kinds(ns) == []
