"""Groups beside plain jobs: what a member costs to add and run and on the server, and how soon starts what waits.

    python -m tests.benchmarks.bench_groups [--jobs N] [--runs N]

A server of its own. In each round the same no-op jobs are added and run as plain jobs by `add_many`, and as members of
a batch by `map` and by `Batch.add`, in alternating order, by a new listener process that runs what is due and ends.
Each job must run exactly once.
Then `--starts` single jobs, each after another one, and one job after 10,000 others, with a listener that waits: from
the end of the last one to the start of what waits, by the clock of one machine. Medians. About 3 minutes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import redis

from tests.servers import free_port
from workkit import schedule

HANDLERS = """
import os, time, redis
c = redis.Redis(port=int(os.environ["BENCH_PORT"]))
def noop(n): pass
def report(): c.set("reported", time.time())
def first(n): c.hset("ended", n, time.time())
def then(n): c.hset("started", n, time.time())
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_groups", description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--starts", type=int, default=300)
    given = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "benchjobs.py").write_text(HANDLERS)
        command = ["redis-server", "--port", str(port), "--save", "", "--dir", folder, "--loglevel", "warning"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            client = redis.Redis(port=port)
            for _ in range(100):
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.05)
            bench = Bench(client, port, folder, given.jobs)
            bench.compare(given.runs)
            bench.starts(given.starts)
            bench.fan_in(10_000)
        finally:
            server.terminate()
            server.wait()
    return 0


class Bench:
    """One server, and the listeners that it starts."""

    def __init__(self, client: Any, port: int, folder: str, jobs: int) -> None:
        self.client, self.port, self.folder, self.jobs = client, port, folder, jobs
        self.url = f"redis://127.0.0.1:{port}/"

    def listener(self, name: str, *more: str) -> subprocess.Popen[bytes]:
        """Start a listener."""
        paths = ":".join(filter(None, sys.path))
        environment = {"BENCH_PORT": str(self.port), "PATH": "/usr/bin:/bin", "PYTHONPATH": paths}
        command = [sys.executable, "-m", "workkit", "listen", name, "--redis", self.url, "--import", "benchjobs", *more]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*command, "-q"], cwd=self.folder, env=environment, **quiet)

    def compare(self, runs: int) -> None:
        """Compare plain jobs with members."""
        found: dict[str, list[dict[str, float]]] = {"plain": [], "map": [], "add": []}
        for turn in range(runs):
            for side in [*found][:: 1 if turn % 2 == 0 else -1]:
                found[side].append(self.round(side, f"{side}-{turn}"))
        for figure in found["plain"][0]:
            plain, *others = (statistics.median(one[figure] for one in rounds) for rounds in found.values())
            ratios = (f"{side} {n:9.3f}, {n / plain:.2f} times" for side, n in zip([*found][1:], others, strict=True))
            print(f"{figure:14} plain {plain:9.3f}   {'   '.join(ratios)}")

    def round(self, side: str, name: str) -> dict[str, float]:
        """Add and run all jobs once."""
        self.client.flushall()
        s = schedule.create(name, redis=self.url)
        schedule.add_now(s, "benchjobs:noop", args=[-1])
        self.listener(name, "--burst").wait()  # scripts are loaded
        before, began = self.client.info("memory")["used_memory"], time.perf_counter()
        if side == "plain":
            schedule.add_many(s, ({"fn": "benchjobs:noop", "args": [n], "at": "now"} for n in range(self.jobs)))
        elif side == "map":
            schedule.map(s, "benchjobs:noop", range(self.jobs), name="a batch of many", then="benchjobs:report")
        else:
            with schedule.batch(s, "a batch of many", then="benchjobs:report") as batch:
                for n in range(self.jobs):
                    batch.add("benchjobs:noop", args=[n])
        added = time.perf_counter() - began
        size = (self.client.info("memory")["used_memory"] - before) / self.jobs
        began = time.perf_counter()
        self.listener(name, "--burst").wait()
        ran = time.perf_counter() - began
        done = sum(int(n) for what, n in self.client.hgetall(f"{name}:stats").items() if what.startswith(b"done:"))
        wanted = self.jobs + 1 + (side != "plain")
        if done != wanted:
            raise SystemExit(f"{side}: {done} jobs are done, not {wanted}")
        return {"add s": added, "run s": ran, "add and run s": added + ran, "bytes a job": size}

    def starts(self, times: int) -> None:
        """Measure how soon a job starts after its predecessor."""
        self.client.flushall()
        s, process = schedule.create("starts", redis=self.url), self.listener("starts")
        try:
            schedule.add_now(s, "benchjobs:noop", args=[0])
            time.sleep(2)
            for n in range(times):
                a = schedule.add_now(s, "benchjobs:first", args=[n])
                schedule.add_now(s, "benchjobs:then", args=[n], after=a)
                while not self.client.hexists("started", n):
                    time.sleep(0.002)
                time.sleep(0.02)
            ended, started = self.client.hgetall("ended"), self.client.hgetall("started")
            gaps = sorted((float(started[n]) - float(ended[n])) * 1000 for n in ended)
            high = gaps[int(len(gaps) * 0.95)]
            print(f"after one job: {gaps[len(gaps) // 2]:.2f} ms, 95 of 100 below {high:.2f}, worst {gaps[-1]:.2f}")
        finally:
            process.terminate()
            process.wait()

    def fan_in(self, members: int) -> None:
        """Measure how soon a job starts after the last of many."""
        gaps = []
        for _ in range(5):
            self.client.flushall()
            s = schedule.create("fan", redis=self.url)
            rows = [{"fn": "benchjobs:first", "args": [n], "at": "now"} for n in range(members)]
            ids = list(schedule.add_many(s, rows).ids)
            began = time.perf_counter()
            schedule.add_now(s, "benchjobs:then", args=[0], after=ids)
            added = time.perf_counter() - began
            process = self.listener("fan")
            while not self.client.hexists("started", 0):
                time.sleep(0.01)
            last = max(map(float, self.client.hvals("ended")))
            gaps.append((float(self.client.hget("started", 0)) - last) * 1000)
            process.terminate()
            process.wait()
        print(f"after {members:,} jobs: {statistics.median(gaps):.2f} ms after the last, worst {max(gaps):.2f}")
        print(f"the addition that waits for them: {added * 1000:.0f} ms")


if __name__ == "__main__":
    sys.exit(main())
