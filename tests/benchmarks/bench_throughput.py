"""How many jobs a listener runs in a second, how many can be added, and what the server is asked for it.

    python -m tests.benchmarks.bench_throughput [JOBS] [RUNS]

A server and a listener process of their own; no-op functions, five of them, ten threads. One warm-up, then RUNS runs,
medians with ranges. Every job must run exactly once, or the figures are void. Single additions are set against a bare
PING on a connection of the same kind, since both are one round trip.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import redis

from tests.benchmarks.stage import stage
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

APP = """

seen = []
def f0(n): seen.append(n)
def f1(n): seen.append(n)
def f2(n): seen.append(n)
def f3(n): seen.append(n)
def f4(n): seen.append(n)
def tell(path):
    import json
    with open(path, "w") as file: json.dump(sorted(seen), file)
    seen.clear()
"""
SINGLE = 5000  # additions, and PINGs, one by one


def main(jobs: int, runs: int) -> None:
    """Run all of it and print the figures."""
    with stage(APP) as (server, processes, folder):
        product = Path(server.program).name
        print(f"{product}, redis-py {redis.__version__}, {os.cpu_count()} cores, {jobs:,} jobs, {runs} runs")
        figures: dict[str, list[float]] = {}
        for run in range(runs + 1):
            for name, value in _once(server, processes, folder, jobs).items():
                if run:
                    figures.setdefault(name, []).append(value)
        for name, values in figures.items():
            print(f"{name:34} {statistics.median(values):12,.4g}   ({min(values):,.4g} to {max(values):,.4g})")


def _once(server: Server, processes: Processes, folder: Path, jobs: int) -> dict[str, float]:
    s, client = schedule.create("bench", redis=server.url), server.client()
    rows = [{"fn": f"app:f{n % 5}", "at": "now", "args": [n]} for n in range(jobs)]
    added = _rate(jobs, lambda: schedule.add_many(s, rows))
    client.config_resetstat()
    listener = processes.workkit("listen", "bench", "-q", "--redis", server.url)
    until(lambda: client.zcard("bench:next") < jobs, timeout=30)
    began, left = time.perf_counter(), client.hlen("bench:jobs")
    while client.exists("bench:jobs"):
        time.sleep(0.01)
    ran = left / (time.perf_counter() - began)
    scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    told = folder / "told"
    schedule.add_now(s, "app:tell", args=[str(told)])
    until(lambda: told.exists() and told.read_text().endswith("]"), timeout=30)
    assert told.read_text() == str(list(range(jobs))), "not every job ran exactly once: these figures are void"
    told.unlink()
    listener.close()
    client.flushall()
    one = _rate(SINGLE, lambda: [schedule.add(s, "app:f0", at="2100-01-01", args=[n]) for n in range(SINGLE)])
    now = _rate(SINGLE, lambda: [schedule.add_now(s, "app:f0", args=[n]) for n in range(SINGLE)])
    with redis.Redis.from_url(server.url) as bare:
        ping = _rate(SINGLE, lambda: [bare.ping() for _ in range(SINGLE)])
    client.flushall()
    return {
        "jobs run per second": ran,
        "scripts per job": scripts / jobs,
        "add_many per second": added,
        "add per second": one,
        "add_now per second": now,
        "PING per second": ping,
    }


def _rate(n: int, act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return n / (time.perf_counter() - began)


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["100000", "5"][len(sys.argv) - 1 :])))
