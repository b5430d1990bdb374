"""Repairs while pools work, of Go and of ours: no job is lost or run twice, and no more run than the limit allows."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.brokers.gocraft.doctor.checkups import found, kinds, only, repair
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import Processes, until
from tests.servers import Server
from workkit import job, schedule
from workkit.brokers.gocraft.broker import GocraftBroker

# A pool of ours sends a heartbeat every 3 s, so none is dead before Go calls it so.
QUICK = ("--heartbeat", "300ms", "--dead-after", "11s", "--reap", "500ms", "--jitter", "0", "--requeue", "50ms")
LIMIT, COUNT = 3, 300
ours = threading.Lock()
log_file: list[Path] = []


@job("resting", limit=LIMIT)
def resting(n: int, sleep_ms: int) -> None:
    """Do what the handler of the peer does."""
    for event in ("run", "end"):
        with ours, log_file[0].open("a") as file:
            file.write(json.dumps({"event": event, "args": {"n": n}}) + "\n")
        if event == "run":
            time.sleep(sleep_ms / 1000)


@pytest.fixture
def go(processes: Processes, peer: Path, go_server: Server) -> Any:
    """Run the peer."""
    place = ["--redis", f"127.0.0.1:{go_server.port}"]
    return lambda *words: processes.run(str(peer), *words, *place)


def pool(go: Any, ns: Namespace, log: Path, *, jobs: str = f"resting:1:{LIMIT}") -> Any:
    made = go(
        "pool", ns.name, "--jobs", jobs, "--concurrency", "4", "--log", str(log), "--sleeps", "0,10",
        "--observe", "50ms", *QUICK,
    )  # fmt: skip
    made.wait_for('"started"')
    return made


def lines(log: Path) -> list[dict[str, Any]]:
    """Read the whole lines; a process may be writing the last one."""
    whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def peak(found: list[dict[str, Any]]) -> int:
    """How many ran at once at most; the file has the order in which they began and ended."""
    running = most = 0
    for line in found:
        running += 1 if line["event"] == "run" else -1
        most = max(most, running)
    return most


def test_repairs_beside_pools_of_go_and_of_ours(ns: Namespace, go: Any, tmp_path: Path) -> None:
    log = tmp_path / "ran"
    log_file[:] = [log]
    pools = [pool(go, ns, log) for _ in range(2)]
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    random, poison = Random(7), []
    with schedule.listener(s, imports=[], folder=None, jobs=["resting"], threads=4):
        enqueued = go("enqueue", ns.name, "resting", '{"sleep_ms": 10}', "--count", str(COUNT))
        assert enqueued.wait() == 0
        until(lambda: len(lines(log)) > 10)
        repaired: Counter[str] = Counter()
        rounds = 0
        while len(lines(log)) < 2 * COUNT:
            rounds += 1
            if rounds <= 12:  # only what makes locks too high: a lower one lets Go pools exceed the limit by itself
                ns.raw.incrby(ns.keys.lock("resting"), random.randint(1, 50))
                ns.raw.hset(ns.keys.lock_info("resting"), f"{random.getrandbits(96):024x}", random.randint(0, 9))
                poison.append(b"poison %d" % rounds)
                ns.raw.rpush(ns.keys.queue("resting"), poison[-1])
            for finding in ns.producer.doctor.checkup(patience_ms=20):
                if finding.repairs and ns.producer.doctor.repair(finding):
                    repaired[finding.kind] += 1
        until(lambda: ns.raw.zcard(ns.keys.unreadable) == len(poison) or kinds(ns) == [], timeout=10)
        assert sorted(ns.raw.zrange(ns.keys.unreadable, 0, -1)) == sorted(poison)
    assert repaired["lock"] > 0, repaired
    assert repaired["unreadable"] > 0, repaired
    for one in pools:
        one.send(signal.SIGTERM)
        assert one.wait() == 0
    ran = lines(log)
    assert Counter((line["event"], line["args"]["n"]) for line in ran) == Counter(
        (event, n) for event in ("run", "end") for n in range(COUNT)
    )
    assert peak(ran) <= LIMIT
    for finding in found(ns):
        assert finding.kind in ("lock-info", "lock"), finding
        ns.producer.doctor.repair(finding)
    assert ns.raw.get(ns.keys.lock("resting")) == b"0"
    assert kinds(ns) == []


def test_a_text_that_a_go_pool_left_in_progress(ns: Namespace, go: Any, tmp_path: Path) -> None:
    """A by-key duplicate: the pool runs the newer job and ends that one's bytes, which are not listed."""
    log = tmp_path / "ran"
    for i in range(2):
        assert go("enqueue", ns.name, "mail", json.dumps({"i": i}), "--key", '{"k":1}').wait() == 0
    made = pool(go, ns, log, jobs="mail:1")
    until(lambda: [line["event"] for line in lines(log)] == ["run", "end"])
    until(lambda: ns.raw.get(ns.keys.lock("mail")) == b"0")
    assert len(ns.raw.keys(f"{ns.name}:jobs:mail:*:inprogress")) == 1
    until(lambda: kinds(ns) == ["unended"], what="its worker to be idle")
    repair(ns, "unended")
    assert ns.raw.keys(f"{ns.name}:jobs:mail:*:inprogress") == []
    (left,) = ns.raw.zrange(ns.keys.dead, 0, -1)
    assert json.loads(left)["args"] == {"i": 0}, "the newer one ran"
    made.send(signal.SIGTERM)
    assert made.wait() == 0


@pytest.mark.parametrize("by", ["heartbeat", "turn"])
def test_a_limit_that_a_go_pool_removes_is_set_again(ns: Namespace, go: Any, tmp_path: Path, by: str) -> None:
    ours = ns.pool("resting", limits={"resting": 2})
    made = pool(go, ns, tmp_path / "ran", jobs="resting:1")
    assert ns.raw.get(ns.keys.max_concurrency("resting")) == b"0", "a Go pool sets the limit of each of its jobs"
    assert only(ns, "limit").what == f"resting has no limit, and pool {ours.listener} says limit=2"
    if by == "heartbeat":
        ours.beating()()
    else:
        made.send(signal.SIGTERM)
        assert made.wait() == 0
        for _ in range(5):
            ns.add("resting", {})
        assert len(ours.claim(5).claims) == 2
    assert ns.raw.get(ns.keys.max_concurrency("resting")) == b"2"
    assert "limit" not in kinds(ns)


def test_another_limit_that_a_go_pool_sets_stays_and_is_a_finding(ns: Namespace) -> None:
    ours = ns.pool("resting", "free", limits={"resting": 2})
    ns.raw.set(ns.keys.max_concurrency("resting"), 5)
    ns.raw.set(ns.keys.max_concurrency("free"), 0)
    ours.beating()()
    assert ns.raw.get(ns.keys.max_concurrency("resting")) == b"5", "the pool that started last says the limit"
    assert ns.raw.get(ns.keys.max_concurrency("free")) == b"0"
    assert only(ns, "limit").what == f"resting has the limit 5, and pool {ours.listener} says limit=2"


def ran_superseded(ns: Namespace, go: Any, log: Path) -> Any:
    """Have a Go pool run the newer of two jobs with one unique key. It leaves the older one in its list."""
    for i in range(2):
        assert go("enqueue", ns.name, "mail", json.dumps({"i": i}), "--key", '{"k":1}').wait() == 0
    made = pool(go, ns, log, jobs="mail:1,slow:1")
    until(lambda: [line["event"] for line in lines(log)] == ["run", "end"])
    until(lambda: ns.raw.get(ns.keys.lock("mail")) == b"0")
    return made


def taken_back(ns: Namespace) -> GocraftBroker:
    """Start a pool of ours, and wait until it has taken back what gone pools hold."""
    ours = ns.pool("mail", "slow", timeout_ms=100)

    def is_over() -> bool:
        ours.beating()()
        ours.maintain()
        return not ns.raw.keys(f"{ns.name}:jobs:*:inprogress")

    until(is_over)
    return ours


@pytest.mark.parametrize("by", ["listener", "doctor"])
def test_what_a_stopped_go_pool_has_superseded_does_not_run(ns: Namespace, go: Any, tmp_path: Path, by: str) -> None:
    made = ran_superseded(ns, go, tmp_path / "ran")
    made.send(signal.SIGTERM)
    assert made.wait() == 0
    if by == "listener":
        ours = taken_back(ns)
    else:
        repair(ns, "unlisted")
        ours = ns.pool("mail")
    assert ours.claim(5).claims == []
    (left,) = map(json.loads, ns.raw.zrange(ns.keys.dead, 0, -1))
    assert (left["args"], left["err"]) == ({"i": 0}, "ended without leaving the in-progress list")


def test_what_a_killed_go_pool_runs_comes_back_without_what_it_has_superseded(
    ns: Namespace, go: Any, tmp_path: Path
) -> None:
    log = tmp_path / "ran"
    made = ran_superseded(ns, go, log)
    assert go("enqueue", ns.name, "mail", '{"i": 2, "sleep_ms": 60000}', "--unique").wait() == 0
    assert go("enqueue", ns.name, "slow", '{"sleep_ms": 60000}').wait() == 0
    until(lambda: len(lines(log)) == 4)
    made.send(signal.SIGKILL)
    made.wait()
    (id,) = ns.raw.smembers(ns.keys.worker_pools)
    ns.raw.hset(ns.keys.worker_pool(id.decode()), "heartbeat_at", int(time.time()) - 12)
    claims = taken_back(ns).claim(5).claims
    assert {(claim.fn, (claim.kwargs or {}).get("i")) for claim in claims} == {("mail", 2), ("slow", None)}
    (left,) = map(json.loads, ns.raw.zrange(ns.keys.dead, 0, -1))
    assert left["args"] == {"i": 0}


def test_a_killed_go_pool(ns: Namespace, go: Any, tmp_path: Path) -> None:
    """Nobody else is there; the doctor puts its jobs back."""
    log = tmp_path / "ran"
    made = pool(go, ns, log)
    assert go("enqueue", ns.name, "resting", '{"sleep_ms": 60000}', "--count", "5").wait() == 0
    until(lambda: len(lines(log)) == LIMIT)
    made.send(signal.SIGKILL)
    made.wait()
    (id,) = ns.raw.smembers(ns.keys.worker_pools)
    ns.raw.hset(ns.keys.worker_pool(id.decode()), "heartbeat_at", int(time.time()) - 12)
    repair(ns, "stale")
    assert ns.raw.llen(ns.keys.queue("resting")) == 5
    assert ns.raw.get(ns.keys.lock("resting")) == b"0"
    assert kinds(ns) == ["no-listener"]
