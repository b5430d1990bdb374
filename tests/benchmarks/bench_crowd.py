"""What a listener's own work costs among due jobs that it cannot run: in a crowd of none, of 1,000 and of 10,000.

    python -m tests.benchmarks.bench_crowd [CROWD ...]      also run by `bench_size`

A server and one listener process of ten threads. The crowd are jobs of another program, written into the two published
keys, one-shot and recurring. Two kinds of own work, five rounds each: bursts, which are added at once, and single jobs,
added one by one, each as the one before has run. Every own job must run exactly once, and the crowd must be unchanged.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.benchmarks.stage import stage
from tests.processes import until
from workkit import schedule, wire

APP = """
import os
fd = os.open("ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(n): os.write(fd, b"%d\\n" % n)
"""
CROWDS = [0, 1000, 10_000]
BURST, SINGLE, ROUNDS = 20_000, 600, 5
DUE_MS = 1_700_000_000_000
CRONS = ("2023 11 14 * 22 13 20", "* * * * * * *")  # over, and every second


def main(crowds: list[int]) -> None:
    """Run all of it and print the figures, and each set against those of the first crowd."""
    first: dict[str, float] = {}
    for crowd in crowds:
        print(f"\na crowd of {crowd:,}")
        for name, values in _costs(crowd).items():
            median = statistics.median(values)
            ratio = f"{median / first.setdefault(name, median):8.2f} times" if median else ""
            print(f"  {name:44} {median:10,.1f}   ({min(values):,.1f} to {max(values):,.1f}){ratio}")


def _costs(crowd: int) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {}
    with stage(APP) as (server, processes, folder):
        s, client = schedule.create("crowd", redis=server.url), server.client()
        standing = _write(client, crowd)
        processes.workkit("listen", "crowd", "-q", "--redis", server.url)
        until(lambda: len(client.keys("crowd:running:*")) == 1, timeout=30)
        if crowd:
            began = time.perf_counter()
            until(lambda: sum(client.scard(key) for key in client.keys("crowd:skip:*")) == crowd, timeout=120)
            figures["first look at one of the crowd, us"] = [(time.perf_counter() - began) / crowd * 1e6]
        number = 0
        for turn in range(ROUNDS + 1):
            for kind, jobs, work in (("burst", BURST, _burst), ("one by one", SINGLE, _one_by_one)):
                client.config_resetstat()
                took = work(s, client, number, jobs)
                number += jobs
                if turn:  # the first is a warm-up
                    scripts = client.info("commandstats")["cmdstat_evalsha"]
                    figures.setdefault(f"own work, {kind}, us a job", []).append(took / jobs * 1e6)
                    figures.setdefault(f"server's work, {kind}, us a script", []).append(scripts["usec_per_call"])
        ran = (folder / "ran").read_text().split()
        assert sorted(map(int, ran)) == list(range(number)), "not every job ran exactly once: these figures are void"
        assert dict(client.zrange("crowd:next", 0, -1, withscores=True)) == standing, "the crowd is not as it was"
    return figures


def _burst(s: schedule.Schedule, client: Any, first: int, jobs: int) -> float:
    rows = [{"fn": "app:note", "at": "now", "args": [first + n]} for n in range(jobs)]
    left = client.hlen("crowd:jobs")
    return _timed(lambda: schedule.add_many(s, rows), until_left=lambda: client.hlen("crowd:jobs") == left)


def _one_by_one(s: schedule.Schedule, client: Any, first: int, jobs: int) -> float:
    left, took = client.hlen("crowd:jobs"), 0.0
    for n in range(jobs):
        add = _adding(s, first + n)
        took += _timed(add, until_left=lambda: client.hlen("crowd:jobs") == left)
    return took


def _adding(s: schedule.Schedule, n: int) -> Callable[[], object]:
    return lambda: schedule.add_now(s, "app:note", args=[n])


def _timed(act: Callable[[], object], *, until_left: Callable[[], bool]) -> float:
    began = time.perf_counter()
    act()
    while not until_left():
        pass
    return time.perf_counter() - began


def _write(client: Any, crowd: int) -> dict[bytes, float]:
    with client.pipeline() as pipe:
        for n in range(crowd):
            payload = wire.payload(cron=CRONS[n % 2], job="#'other.program/run", args=[n])
            item = wire.item(wire.job_id(payload))
            pipe.hset("crowd:jobs", wire.job_id(payload), payload)
            pipe.zadd("crowd:next", {item: DUE_MS + n})
        pipe.execute()
    return dict(client.zrange("crowd:next", 0, -1, withscores=True))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or CROWDS)
