"""Whole listeners in a namespace, as processes: kills, limits, wake-ups, and what an idle one costs."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import PATIENCE, until
from tests.warm import ROOT, Program, clean_environ
from workkit import events, job, schedule
from workkit.worker.event_text import event_parts

JOBS = """
import time, redis
from workkit import job
r = redis.Redis.from_url("{url}")
@job("slow", limit=4)
def slow(i: int) -> None:
    n = r.incr("{name}-running")
    r.zadd("{name}-peak", {{"peak": n}}, gt=True)
    time.sleep(0.005)
    r.decr("{name}-running")
    r.hincrby("{name}-ran", i, 1)
@job("quick")
def quick(i: int) -> None:
    r.hincrby("{name}-ran", i, 1)
"""
COUNT = 2000
seen = threading.Event()


@job("see")
def see(text: str) -> None:
    seen.set()


def listen(ns: Namespace, folder: Path) -> Program:
    command = [sys.executable, "-m", "workkit", "listen", ns.name, "--layout", "gocraft", "--redis", ns.url]
    return Program(
        [*command, "--import", "gc_jobs", "-q"], cwd=folder, env=clean_environ(PYTHONPATH=f"{ROOT}:{folder}")
    )


def test_a_killed_listener_loses_nothing_and_leaves_no_lock(ns: Namespace, tmp_path: Path) -> None:
    (tmp_path / "gc_jobs.py").write_text(JOBS.format(url=ns.url, name=ns.name))
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    fns = ["slow", "quick", "quick", "quick"]
    schedule.add_many(s, [{"fn": fns[i % 4], "at": "now", "kwargs": {"i": i}} for i in range(COUNT)])
    ran = f"{ns.name}-ran"
    processes = [listen(ns, tmp_path), listen(ns, tmp_path)]
    try:
        until(lambda: ns.raw.hlen(ran) > 100, timeout=60)
        assert ns.raw.zscore(f"{ns.name}-peak", "peak") <= 4
        processes[0].kill()
        until(lambda: ns.raw.hlen(ran) == COUNT, timeout=60)
        until(lambda: not ns.raw.keys("*:inprogress"), timeout=60)
        until(lambda: {ns.raw.get(ns.keys.lock(name)) for name in ("slow", "quick")} == {b"0"}, timeout=60)
        until(lambda: ns.raw.scard(ns.keys.worker_pools) == 1, timeout=60)  # the killed one may have held nothing
    finally:
        for process in processes:
            process.terminate()
            process.wait(30)
    assert ns.raw.smembers(ns.keys.worker_pools) == set()
    assert ns.raw.keys(f"{ns.keys.prefix}worker:*") == []


def test_an_idle_listener_costs_little(ns: Namespace) -> None:
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    with schedule.listener(s, imports=[], folder=None, jobs=["see:7"]):
        until(lambda: ns.raw.smembers(ns.keys.worker_pools))
        time.sleep(1.5)  # the first heartbeat is over

        def total() -> int:
            return int(ns.raw.info("stats")["total_commands_processed"])

        before, began = total(), time.monotonic()
        time.sleep(6.2)  # what is measured is time itself
        assert (total() - before) / (time.monotonic() - began) <= 5


def test_an_idle_listener_is_woken_and_does_not_wait_for_its_next_look(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("lane", "loop"):
        for name in ("TICK", "BEAT"):
            monkeypatch.setattr(f"workkit.worker.{place}.{name}", 600.0)  # seconds
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    with schedule.listener(s, imports=[], folder=None, jobs=["see:7"]):
        for _ in range(3):  # the first one may be seen as it begins
            seen.clear()
            schedule.add_now(s, "see", kwargs={"text": "now"})
            assert seen.wait(PATIENCE)


def test_a_stray_job_is_dead_and_the_event_says_so(ns: Namespace) -> None:
    ns.push("see", {"name": "nobody", "id": "a" * 24, "t": 1500000000, "args": None})
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    told: list[events.Event] = []
    forget = events.subscribe(told.append)
    try:
        with schedule.listener(s, imports=[], folder=None, jobs=["see"]):
            until(lambda: ns.raw.zcard(ns.keys.dead) == 1)
    finally:
        forget()
    (said,) = (event for event in told if event.name == "cannot_run")
    assert str(said.fields["reason"]).endswith(" It goes to the dead set.")
    assert "Left for other listeners" not in " ".join(event_parts(said))
