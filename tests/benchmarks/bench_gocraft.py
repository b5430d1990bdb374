"""Listeners of ours and a pool of the Go peer, each alone on one gocraft namespace, in turn: jobs a second with 5 and
with 50 queues. Then what an idle listener costs, and how soon it begins what we add and what a Go producer adds.

    python -m tests.benchmarks.bench_gocraft [JOBS] [RUNS]

A server of its own. Both have 20 workers and near-no-op handlers, and have run 5,000 jobs before they are measured. The
queues fill while they are paused; the time counts from the first job that is taken to the last that has ended. Medians
of RUNS with ranges. Every job must run exactly once, or the figures are void. The Go pool looks for work every 10 ms
where it has none, so that it begins at once; all else is as the library does it.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.stage import stage
from tests.brokers.gocraft import go_peer
from tests.processes import Process, Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.gocraft.keys import Keys

KEYS = Keys("bench")
WORKERS, WARM = 20, 5000
IDLE_SECONDS, OURS, THEIRS = 15.0, 200, 30
APP = """
import atexit, json, os, time
from workkit import job
seen, late = [], []
@atexit.register
def end():
    with open(f"seen-{os.getpid()}", "w") as file: json.dump(seen, file)
def handle(n): seen.append(n)
for place in range(50):
    fn = type(handle)(handle.__code__, globals(), f"f{place}")
    fn.__qualname__ = f"f{place}"
    globals()[f"f{place}"] = job(f"f{place}")(fn)
@job("start")
def start(at, n): late.append([n, (time.time() - at) * 1000])
@job("tell")
def tell(path):
    with open(path + "~", "w") as file: json.dump(late, file)
    os.rename(path + "~", path)
    late.clear()
"""
SIDES = {"ours": 1, "ours, 2 processes": 2, "Go": 1}  # with the number of processes


class Bench:
    """One server with its namespace."""

    def __init__(self, server: Server, processes: Processes, folder: Path) -> None:
        self.server, self.processes, self.folder = server, processes, folder
        self.client = server.client()
        self.peer = go_peer.build(folder)
        self.schedule = schedule.create("bench", redis=server.url, layout="gocraft")

    def listener(self, queues: int, *, processes: int = 1) -> Process:
        jobs = ",".join([*names(queues), "start", "tell"])
        options = ["--layout", "gocraft", "--import", "app", "--jobs", jobs, "--threads", str(WORKERS), "-q"]
        options += ["--processes", str(processes)] if processes > 1 else []
        process = self.processes.workkit("listen", "bench", "--redis", self.server.url, *options)
        until(lambda: self.client.scard(KEYS.worker_pools) == processes)
        return process

    def told(self) -> list[tuple[int, float]]:
        """How late each run of `start` began since the last time: its number, and ms."""
        path = self.folder / "told"
        schedule.add_now(self.schedule, "tell", kwargs={"path": str(path)})
        until(path.exists)
        late = [(n, ms) for n, ms in json.loads(path.read_text())]
        path.unlink()
        return late

    def rate(self, jobs: int, *, queues: int, side: str) -> float:
        """Jobs a second of one side, after its warm-up."""
        if side == "Go":
            words = ["--jobs", ",".join(names(queues)), "--concurrency", str(WORKERS), "--sleeps", "0,10", "--count"]
            place = ["--redis", f"127.0.0.1:{self.server.port}"]
            process = self.processes.run(str(self.peer), "pool", "bench", *place, *words)
            process.wait_for('"started"')
        else:
            process = self.listener(queues, processes=SIDES[side])
        self._timed(WARM, queues)
        rate = self._timed(jobs, queues)
        process.send(signal.SIGTERM)
        process.wait()
        numbers = sorted([*range(WARM), *range(jobs)])
        if side == "Go":
            last = json.loads(process.out[-1])
            is_exact = (last["ran"], last["sum"]) == (len(numbers), sum(numbers))
        else:
            files = list(self.folder.glob("seen-*"))
            is_exact = numbers == sorted(n for file in files for n in json.loads(file.read_text()))
            for file in files:
                file.unlink()
        assert is_exact, f"{side}: not every job ran exactly once: these figures are void"
        self.client.flushall()
        return rate

    def _timed(self, jobs: int, queues: int) -> float:
        paused = [KEYS.paused(name) for name in names(queues)]
        self.client.mset(dict.fromkeys(paused, 1))
        schedule.add_many(
            self.schedule, [{"fn": f"f{n % queues}", "at": "now", "kwargs": {"n": n}} for n in range(jobs)]
        )
        self.client.delete(*paused)
        for name in names(queues):
            self.client.lpush(KEYS.wake(name), 1, 1)  # as an addition of ours does; a Go pool does not look there
        until(lambda: self._left(queues) < jobs)
        began, left = time.perf_counter(), self._left(queues)
        until(lambda: not self._left(queues) and not self._running(queues), timeout=120)
        return left / (time.perf_counter() - began)

    def _left(self, queues: int) -> int:
        pipe = self.client.pipeline(transaction=False)
        for name in names(queues):
            pipe.llen(KEYS.queue(name))
        return int(sum(pipe.execute()))

    def _running(self, queues: int) -> int:
        return sum(int(count or 0) for count in self.client.mget([KEYS.lock(name) for name in names(queues)]))

    def idle(self) -> tuple[float, float]:
        """Commands a second of an idle listener: those that it sends, and all with those inside its scripts."""
        time.sleep(2)  # its first heartbeats
        total, sent, began = self._total(), 0, time.monotonic()
        threading.Timer(IDLE_SECONDS, lambda: self.client.echo("over")).start()
        with self.server.client().monitor() as monitor:
            while "over" not in (each := monitor.next_command())["command"]:
                sent += each["client_type"] != "lua"
        took = time.monotonic() - began
        return sent / took, (self._total() - total - 3) / took

    def _total(self) -> int:
        return int(self.client.info("stats")["total_commands_processed"])


def names(queues: int) -> list[str]:
    return [f"f{n}" for n in range(queues)]


def p(share: float, values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


def _pickup(bench: Bench) -> None:
    for n in range(OURS):
        schedule.add_now(bench.schedule, "start", kwargs={"at": time.time(), "n": n})
        time.sleep(0.02 + random.random() * 0.05)
    _say("pick-up of our additions, ms", bench.told(), OURS)
    driver = go_peer.Driver(bench.peer, port=bench.server.port, database=0)
    for n in range(THEIRS):
        args = json.dumps({"at": time.time(), "n": n})
        driver.ask({"op": "enqueue", "ns": "bench", "name": "start", "args": args})
        time.sleep(0.2 + random.random())
    driver.close()
    _say("pick-up of Go's additions, ms", bench.told(), THEIRS)


def _say(what: str, late: Sequence[tuple[int, float]], expected: int) -> None:
    assert sorted(n for n, _ in late) == list(range(expected)), "not every job ran exactly once: these figures are void"
    each = [ms for _, ms in late]
    print(f"{what:34} p50 {statistics.median(each):8.2f}   p99 {p(0.99, each):8.2f}   max {max(each):8.2f}")


def main(jobs: int, runs: int) -> None:
    """Run all of it and print the figures."""
    with stage(APP) as (server, processes, folder):
        bench = Bench(server, processes, folder)
        print(f"{Path(server.program).name}, {os.cpu_count()} cores, {jobs:,} jobs, {runs} runs, {WORKERS} workers")
        rates: dict[str, list[float]] = {}
        for _ in range(runs):
            for queues in (5, 50):
                for side in SIDES:
                    found = bench.rate(jobs, queues=queues, side=side)
                    rates.setdefault(f"{side}, {queues} queues, jobs/s", []).append(found)
        for what, values in rates.items():
            print(f"{what:34} {statistics.median(values):10,.0f}   ({min(values):,.0f} to {max(values):,.0f})")
        for side in ("ours", "ours, 2 processes"):
            five, fifty = (statistics.median(rates[f"{side}, {queues} queues, jobs/s"]) for queues in (5, 50))
            go = statistics.median(rates["Go, 5 queues, jobs/s"])
            print(f"{side}: {five / go:.2f} times Go with 5 queues; 50 queues {fifty / five:.2f} times 5 queues")
        bench.listener(5)
        sent, every = bench.idle()
        print(f"{'idle, commands/s':34} {sent:10.2f}   ({every:.2f} with those inside scripts)")
        _pickup(bench)


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["100000", "5"][len(sys.argv) - 1 :])))
