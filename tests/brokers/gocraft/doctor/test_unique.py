"""The doctor on unique keys: those whose job is nowhere, and those without an expiry."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft.doctor.checkups import kinds, only, repair, text
from tests.brokers.gocraft.serving.fleet import Namespace
from workkit.brokers.gocraft.doctor.keys import carried
from workkit.brokers.gocraft.doctor.survey import survey

NAME = "export"
HOUR = 3_600_000


def leaked(ns: Namespace, *, seconds: int | None = 86_400, value: bytes = b"1") -> str:
    key = ns.keys.unique(NAME, '{"i":0}\n')
    ns.raw.set(key, value, ex=seconds)
    return key


@pytest.mark.parametrize("seconds", [80_000, None, 200_000])
def test_a_key_whose_job_is_nowhere_is_removed(ns: Namespace, seconds: int | None) -> None:
    key = leaked(ns, seconds=seconds)
    repair(ns, "leaked")
    assert not ns.raw.exists(key)
    assert ns.add(NAME, {"i": 0}, once=True)


def test_a_key_that_was_set_lately_is_no_finding_before_its_patience_is_over(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaked(ns, seconds=86_400 - 1800)
    monkeypatch.setattr("workkit.brokers.gocraft.doctor.DEAD_MS", 0)  # the second look follows at once
    assert kinds(ns, patience_ms=HOUR) == []
    assert kinds(ns, patience_ms=HOUR // 4) == ["leaked"]


PLACES = ["queue", "scheduled", "retry", "dead", "held", "held_retry", "in_progress"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("says_key", [True, False])
def test_a_key_of_a_job_in_any_place_stays(ns: Namespace, place: str, says_key: bool) -> None:
    key = leaked(ns)
    data = text(unique=True, **({"unique_key": key} if says_key else {}))
    if place == "queue":
        ns.push(NAME, data)
    elif place == "in_progress":
        ns.raw.lpush(ns.keys.in_progress(NAME, ns.go_pool(NAME)), data)
    else:
        ns.raw.zadd(getattr(ns.keys, place), {data: 4e9})
    assert "leaked" not in kinds(ns)


def test_a_key_that_is_renewed_or_changed_meanwhile_stays(ns: Namespace) -> None:
    key = leaked(ns, seconds=80_000)
    finding = only(ns, "leaked")
    ns.raw.expire(key, 86_400)
    assert not ns.producer.doctor.repair(finding)
    leaked(ns, seconds=80_000, value=b"2")
    assert not ns.producer.doctor.repair(finding)
    assert ns.raw.exists(key)


def test_a_key_whose_job_came_meanwhile_stays(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.brokers.gocraft.doctor.WALK_SECONDS", 0.0)
    key = leaked(ns)
    finding = only(ns, "leaked")
    ns.push(NAME, text(unique=True, unique_key=key))
    assert not ns.producer.doctor.repair(finding)
    assert ns.raw.exists(key)


def test_a_key_without_an_expiry_gets_one_that_outlives_its_job(ns: Namespace) -> None:
    key = leaked(ns, seconds=None)
    now = int(ns.raw.time()[0])
    ns.raw.zadd(ns.keys.scheduled, {text(unique=True, unique_key=key): now + 500_000})
    repair(ns, "endless")
    assert 586_000 < ns.raw.ttl(key) <= 586_400
    assert kinds(ns) == []


def test_a_by_key_job_of_ours_is_no_finding(ns: Namespace) -> None:
    ns.pool(NAME)
    ns.add(NAME, {"i": 1}, key="order-7")
    ns.add(NAME, {"i": 2}, key="order-7")
    assert kinds(ns) == []


def test_a_job_whose_list_came_after_the_keys_were_read_is_found(ns: Namespace) -> None:
    """Between the reading of the keys and that of the texts, a pool may take the job into a list of its own."""
    key = leaked(ns)
    pool = ns.pool(NAME)
    assert ns.raw.sismember(ns.keys.known_jobs, NAME)
    made = survey(ns.producer.doctor.server, ns.keys)
    ns.raw.lpush(ns.keys.in_progress(NAME, pool.listener), text(unique=True, unique_key=key))
    seen = carried(made)
    for one in made.texts():
        seen.see(one)
    assert not seen.left
