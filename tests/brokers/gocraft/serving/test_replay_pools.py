"""Recordings of Go pools, replayed with pools of ours in their place. Where what they leave differs from the recording,
the difference is a line of the table in section 10 of spec/layouts/gocraft.md, and the test says it.

A recorded dump is also restored with its times moved, so that a pool of ours takes over from the Go pool that died.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.namespace import moved
from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.brokers.gocraft.serving.recordings import dump_of, dumped, enqueue, replay, without_limits
from tests.processes import until
from workkit.brokers.gocraft.text import read
from workkit.jobs.outcome import Again, Dead, Done, Failure, Released


def of(scenario: str, number: int = 0) -> Mapping[str, Any]:
    return vectors.recordings(scenario)[number]


def step_of(recording: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(step for step in recording["steps"] if step.get("step") == name)
    return found


def expected(recording: Mapping[str, Any], step: str, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a step recorded, but for limits of 0, which a pool of ours does not write, and the keys named."""
    return {key: value for key, value in without_limits(dump_of(recording, step)).items() if key not in without}


def restore(ns: Namespace, step: Mapping[str, Any], *, ago: int) -> None:
    """Write the keys of a recorded dump as if it had been taken so many seconds ago."""
    by = ns.producer.now_ms() // 1000 - ago - int(step["at"])

    def text(value: Any) -> str:
        return moved(str(value).replace("gv:", ns.keys.prefix), at=step["at"], by=by)

    for recorded_key, entry in step["dump"].items():
        if recorded_key == "gv:last_periodic_enqueue":
            continue
        key, value = text(recorded_key), entry["value"]
        match entry["type"]:
            case "list":
                ns.raw.rpush(key, *map(text, value))
            case "set":
                ns.raw.sadd(key, *map(text, value))
            case "zset":
                ns.raw.zadd(key, {text(member): float(text(score)) for member, score in value})
            case "hash":
                ns.raw.hset(key, mapping={name: text(each) for name, each in value.items()})
            case _:
                ns.raw.set(key, text(value))


def pools(ns: Namespace) -> set[str]:
    return {member.decode() for member in ns.raw.smembers(ns.keys.worker_pools)}


def numbers(ns: Namespace, name: str) -> list[int]:
    """The jobs of a queue, the next one first."""
    return [(read(text).args or {})["i"] for text in reversed(ns.raw.lrange(ns.keys.queue(name), 0, -1))]


def test_a_limit_holds_as_recorded(ns: Namespace) -> None:
    recording = of("max_concurrency")
    replay(ns, recording)
    pool, other = ns.pool("export", limits={"export": 2}), ns.pool("unrelated_export")
    claims = pool.claim(4).claims
    assert dumped(ns) == expected(recording, "4 workers, limit 2")
    while claims:
        end(pool, claims, Done())
        claims = pool.claim(4).claims
    assert dumped(ns) == expected(recording, "all done")
    for each in (pool, other):
        each.leave()
    assert dumped(ns) == expected(recording, "stopped", without=("jobs:export:lock_info",))


def test_a_stray_job_and_an_unreadable_one_free_their_slots(ns: Namespace) -> None:
    recording = of("stray")
    replay(ns, recording)
    pool = ns.pool("export")
    (claim,) = pool.claim(1).claims
    end(pool, [claim], Released(unknown=True))
    leaked = ("jobs:other_name:lock", "jobs:other_name:lock_info")
    free = {"jobs:export:lock": "0", "jobs:export:lock_info": ["0"]}
    assert dumped(ns) == expected(recording, "stray job", without=leaked) | free
    ns.raw.execute_command(*(str(w).replace("gv:", ns.keys.prefix) for w in step_of(recording, "not JSON")["redis"]))
    (claim,) = pool.claim(1).claims
    assert claim.trouble == "corrupt"
    end(pool, [claim], Dead(failure=Failure(type="CorruptRecord", message="")))
    gone = (*leaked, "jobs:export:POOL:inprogress")
    assert (
        dumped(ns)
        == expected(recording, "unreadable job: it stays in progress and keeps its lock", without=gone) | free
    )
    assert ns.raw.zrange(ns.keys.unreadable, 0, -1) == [b"{oops"]
    pool.leave()
    last = expected(recording, "stopped cleanly: still in progress", without=(*gone, "jobs:export:lock_info"))
    assert dumped(ns) == last | {"jobs:export:lock": "0"}


def test_a_by_key_job_that_was_scheduled_completes(ns: Namespace) -> None:
    recording = of("unique_in", 1)
    assert replay(ns, recording) == 1
    before = ns.raw.zrange(ns.keys.scheduled, 0, -1)[0]
    pool = ns.pool("clear_cache")
    (claim,) = pool.claim(1, now_ms=pool.now_ms() + 1500).claims
    (listed,) = ns.in_progress("clear_cache", pool.listener)
    assert listed == before, "the key holds the text that was scheduled; it runs, and it is what is in progress"
    end(pool, [claim], Done())
    step = "finished: the re-encoded bytes stay in the in-progress list"
    assert dumped(ns) == expected(recording, step, without=("jobs:clear_cache:POOL:inprogress",))
    pool.leave()
    gone = ("jobs:clear_cache:POOL:inprogress", "jobs:clear_cache:lock_info")
    assert dumped(ns) == expected(recording, "stopped", without=gone)


def test_a_unique_job_lives_as_recorded(ns: Namespace) -> None:
    recording = of("unique_life")
    replay(ns, recording)
    failed = Again(delay_ms=1000, attempt=1, failure=Failure(type="first try fails", message=""))
    pool = ns.pool("clear_cache")
    first = pool.claim(1).claims
    assert dumped(ns) == expected(recording, "running: the unique key is gone before the handler starts")
    enqueue(ns, step_of(recording, "enqueue the same again while running")["call"])
    assert dumped(ns) == expected(recording, "second one queued while the first runs")
    end(pool, first, failed)
    end(pool, pool.claim(1).claims, failed)
    assert dumped(ns) == expected(recording, "first failed and waits in retry; the second one was taken in its turn")
    due = pool.now_ms() + 2500
    (one,) = pool.claim(1, now_ms=due).claims
    waiting = {key: each for key, each in expected(recording, "after the retry came due").items() if "lock" not in key}
    found = dumped(ns)
    both = [*found["jobs:clear_cache"], *found["jobs:clear_cache:POOL:inprogress"]]
    keys = [json.loads(moved_text(text)) for text in both]
    assert keys == [json.loads(moved_text(text)) for text in waiting["jobs:clear_cache"]], "the same but for cjson"
    end(pool, [one], Done())
    end(pool, pool.claim(1).claims, Done())
    assert dumped(ns) == expected(recording, "all done")
    pool.leave()
    assert dumped(ns) == expected(recording, "stopped", without=("jobs:clear_cache:lock_info",))


def moved_text(text: str) -> str:
    """Make a masked job text JSON again."""
    for field in ("id", "t", "failed_at"):
        text = text.replace(f'"{field}"', f'"{field}":0')
    return text


@pytest.mark.parametrize("age", [2, 12])
def test_a_pool_of_other_names_reaps_a_killed_go_pool_after_its_time(ns: Namespace, age: int) -> None:
    recording = of("reaped")
    restore(ns, step_of(recording, "2 s after the kill"), ago=age)
    (dead,) = pools(ns)
    pool = ns.pool("other")
    pool.beating()()
    taken = pool.maintain()
    if age == 2:
        assert taken == []
        assert dumped(ns) == expected(recording, "9 s after its start: not yet reaped") | {
            "jobs:export_idle:max_concurrency": "0"
        }
        return
    assert taken == [(dead, 2)]
    assert numbers(ns, "export") == [0, 1, 2], "those that ran are next; Go puts them last: 2, 0, 1"
    found, go = dumped(ns), expected(recording, "11 s after its start: reaped")
    assert sorted(found.pop("jobs:export")) == sorted(go.pop("jobs:export"))
    assert found == go | {"jobs:export_idle:max_concurrency": "0"}
    assert pools(ns) == {pool.listener}
    assert not ns.raw.keys(f"{ns.keys.prefix}worker:*"), "Go leaves the observations for a day"
    pool.leave()


def test_a_pool_of_the_same_name_reaps_and_runs(ns: Namespace) -> None:
    recording = of("reaped", 1)
    restore(ns, step_of(recording, "2 s after the kill"), ago=12)
    pool = ns.pool("export", limits={"export": 2})
    assert pool.claim(5).claims == [], "the killed pool has both slots"
    pool.beating()()
    assert [moved for _, moved in pool.maintain()] == [2]
    ran = []
    while claims := pool.claim(5).claims:
        ran += [(claim.kwargs or {})["i"] for claim in claims]
        end(pool, claims, Done())
    assert ran == [0, 1, 2]
    idle = {"jobs:export_idle:max_concurrency": "0"}
    assert dumped(ns) == expected(recording, "the requeued jobs ran") | idle
    pool.leave()
    assert dumped(ns) == expected(recording, "stopped", without=("jobs:export:lock_info",)) | idle


def test_the_job_of_a_go_pool_without_a_heartbeat_is_found(ns: Namespace) -> None:
    recording = of("reaped", 2)
    restore(ns, step_of(recording, "killed, no heartbeat hash"), ago=1)
    pool = ns.pool("export", limits={"export": 1}, timeout_ms=100)

    def is_reaped() -> bool:
        pool.beating()()
        return bool(pool.maintain())

    until(is_reaped, timeout=10)
    lost = "reaped: locks released, but the job stays in the in-progress list for ever"
    go = expected(recording, lost, without=("jobs:export:POOL:inprogress",))
    (text,) = dump_of(recording, lost)["jobs:export:POOL:inprogress"]
    assert dumped(ns) == go | {"jobs:export": [text]}
    end(pool, pool.claim(1).claims, Done())
    pool.leave()
    assert dumped(ns) == expected(recording, "stopped", without=("jobs:export:POOL:inprogress",))


def test_a_frozen_pool_ends_nothing_that_is_not_its_own(ns: Namespace) -> None:
    recording = of("frozen_pool")
    ns.add("export", {"i": 1})
    frozen = ns.pool("export", limits={"export": 1})
    held = frozen.claim(1).claims
    assert dumped(ns) == expected(recording, "running in process 1")
    ns.raw.hset(ns.keys.worker_pool(frozen.listener), "heartbeat_at", frozen.now_ms() // 1000 - 12)
    other = ns.pool("export", limits={"export": 1})
    other.beating()()
    assert [moved for _, moved in other.maintain()] == [1]
    again = other.claim(1).claims
    assert dumped(ns) == expected(recording, "process 2 has reaped and runs the job")
    assert list(end(frozen, held, Done()).fenced) == held
    step = "both have run it; the lock is off by one"
    assert dumped(ns) == expected(recording, step) | {"jobs:export:lock": "1", "jobs:export:lock_info": ["1"]}
    end(other, again, Done())
    step, at_rest = "process 2 finished too: the lock is negative", {"jobs:export:lock": "0"}
    assert dumped(ns) == expected(recording, step) | at_rest | {"jobs:export:lock_info": ["0"]}
    frozen.beating()()
    for each in (other, frozen):
        each.leave()
    assert dumped(ns) == expected(recording, "stopped", without=("jobs:export:lock_info",)) | at_rest


def test_a_pool_beside_a_frozen_go_pool_admits_no_more_than_the_limit(ns: Namespace) -> None:
    """A Go pool that thaws leaves the lock one too low. Ours counts what the listed pools run, and corrects it."""
    recording = of("frozen_pool")
    restore(ns, step_of(recording, "stopped"), ago=1)
    assert dumped(ns)["jobs:export:lock"] == "-1"
    ns.add("export", {"i": 2})
    ns.add("export", {"i": 3})
    pool = ns.pool("export", limits={"export": 1})
    claims = pool.claim(5).claims
    assert len(claims) == 1
    assert ns.lock("export", pool.listener) == (1, 1)
    ns.raw.set(ns.keys.lock("export"), 0)
    assert pool.claim(5).claims == []
