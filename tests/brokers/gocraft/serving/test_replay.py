"""Recordings of the real library, replayed by our side. Where ours differs on purpose, the test says so."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.brokers.gocraft.serving.recordings import dump_of, dumped, enqueue, recorded, replay, without_limits
from workkit.brokers.gocraft.text import read
from workkit.jobs.outcome import Again, Dead, Done, Failure


def test_additions_have_the_keys_and_bytes_of_go(ns: Namespace) -> None:
    (recording,) = vectors.recordings("enqueue")
    assert replay(ns, recording, until="enqueue under another job name") == 2


@pytest.mark.parametrize("scenario", ["unique", "paused"])
def test_unique_additions_and_pauses(ns: Namespace, scenario: str) -> None:
    (recording,) = vectors.recordings(scenario)
    replay(ns, recording)
    assert scenario == "paused" or ns.raw.ttl(ns.raw.keys("*unique:*")[0]) > 86_390


@pytest.mark.parametrize("number", [0, 1])
def test_unique_additions_for_later(ns: Namespace, number: int) -> None:
    assert replay(ns, vectors.recordings("unique_in")[number]) >= 1


@pytest.mark.parametrize("number", [0, 1])
def test_by_key_additions(ns: Namespace, number: int) -> None:
    assert replay(ns, vectors.recordings("unique_by_key")[number]) >= 1


def test_later_additions_but_those_that_are_due_go_to_their_queue_at_once(ns: Namespace) -> None:
    (recording,) = vectors.recordings("enqueue_in")
    for step in recording["steps"]:
        if "call" in step:
            enqueue(ns, step["call"])
    expected = dump_of(recording, "scheduled")
    late = [text for text in expected["scheduled"] if '"args":null' in text or '"late"' in text]
    assert len(late) == 2
    found = dumped(ns)
    assert found["scheduled"] == [text for text in expected["scheduled"] if text not in late]
    assert sorted(found["jobs:send_welcome_email"]) == late
    for text, score in ns.raw.zrange(ns.keys.scheduled, 0, -1, withscores=True):
        assert score - read(text).t in (300, 86_400, 31_536_000)


def test_a_heartbeat_has_the_fields_of_go(ns: Namespace) -> None:
    (recording,) = vectors.recordings("heartbeat")
    dump = next(step["dump"] for step in recording["steps"] if step.get("step") == "just started")
    pool = ns.pool("send_email", "export", "calculate_caches")
    assert dumped(ns) == without_limits(recorded(dump))
    ours = {k.decode(): v.decode() for k, v in ns.raw.hgetall(ns.keys.worker_pool(pool.listener)).items()}
    (theirs,) = (entry["value"] for key, entry in dump.items() if key.startswith("gv:worker_pools:"))
    assert ours.keys() == theirs.keys()
    assert ours["job_names"] == theirs["job_names"]
    assert re.fullmatch(r"[0-9a-f]{24},[0-9a-f]{24}", ours["worker_ids"])
    assert all(ours[field].isdigit() for field in ("heartbeat_at", "started_at", "concurrency", "pid"))


def facts(observations: list[Any]) -> list[Any]:
    return sorted((shown["job_name"], shown["args"], *sorted(shown)) for shown in observations)


def test_running_jobs_are_seen_as_those_of_go(ns: Namespace) -> None:
    (recording,) = vectors.recordings("in_progress")
    replay(ns, recording)
    pool = ns.pool("export", "send_email", limits={"export": 2}, priorities={"send_email": 1000})
    claims = pool.claim(2).claims
    step = next(step for step in recording["steps"] if step.get("step") == "two running, before any check-in")
    expected, found = without_limits(recorded(step["dump"])), dumped(ns)
    counts = [key for key in expected if not key.endswith(":inprogress")]
    assert {key: found[key] for key in counts} == {key: expected[key] for key in counts}
    pool.beating()()
    shown = [entry["value"] for key, entry in step["dump"].items() if key.startswith("gv:worker:")]
    ours = [ns.raw.hgetall(key) for key in ns.raw.keys(f"{ns.keys.prefix}worker:*")]
    decoded = [{k.decode(): v.decode() for k, v in found.items()} for found in ours]
    assert facts(decoded) == facts(shown)
    pool.tell({claims[0].receipt: '"i=335000"'})
    end(pool, claims, Done())


def test_a_failure_is_written_as_go_writes_it(ns: Namespace) -> None:
    (recording,) = vectors.recordings("failed_retry")
    replay(ns, recording)
    pool = ns.pool("export", "export_panic")
    errors = {"export": 'could not reach "host"', "export_panic": "index out of range"}
    ends = []
    for claim in pool.claim(5).claims:
        failure = Failure(type=errors[claim.fn], message="")
        ends.append((claim, Again(delay_ms=30_000, attempt=1, failure=failure)))
    pool.claim(0, ends=ends)
    expected = without_limits(dump_of(recording, "each failed once, default options"))
    changed = json.loads(json.dumps(expected).replace("9007199254740992", "9007199254740993"))  # Go rounds it
    assert dumped(ns) == changed


def test_the_last_failure_is_written_as_go_writes_it(ns: Namespace) -> None:
    recording = vectors.recordings("failed_dead")[1]
    enqueue(ns, next(step["call"] for step in recording["steps"] if step.get("step") == "enqueue"))
    pool = ns.pool("export")
    end(pool, pool.claim(1).claims, Dead(failure=Failure(type="no such account", message="")))
    expected = dump_of(recording, "first is dead, second has left no trace")
    assert dumped(ns)["dead"] == expected["dead"]


def test_due_jobs_move_as_in_go_but_with_their_bytes(ns: Namespace) -> None:
    (recording,) = vectors.recordings("requeue")
    assert replay(ns, recording) == 1
    before = {
        read(text).id: text for key in ("scheduled", "retry") for text in ns.raw.zrange(getattr(ns.keys, key), 0, -1)
    }
    ns.pool("export").claim(1)
    expected = dump_of(recording, "after the first tick (1 s after start)")
    moved = {read(text).id: text for text in ns.raw.lrange(ns.keys.queue("export"), 0, -1)}
    assert len(moved) == len(expected["jobs:export"])
    for id, text in moved.items():
        assert re.sub(rb'"t":\d+', b'"t":1500000000', text, count=1) == before[id]
    assert [read(text).name for text in ns.raw.zrange(ns.keys.scheduled, 0, -1)] == ["nobody_knows"], "Go buries it"
    assert not ns.raw.exists(ns.keys.dead)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_unreadable_members_do_not_stop_the_good_one(ns: Namespace, number: int) -> None:
    recording = vectors.recordings("requeue_unreadable")[number]
    replay(ns, recording)
    (claim,) = ns.pool("export").claim(5).claims
    assert claim.id == "good"
    assert ns.raw.zcard(ns.keys.unreadable) == 1
