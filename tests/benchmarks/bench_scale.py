"""The points that the cost model of docs/scale.md is fitted to: what one job costs server, listener and producer.

    python -m tests.benchmarks.bench_scale [JOBS] [LARGEST] [RUNS]

Default: 20,000 jobs a point, 1,000,000 waiting jobs at most, 5 runs. For each kind of job and number of waiting jobs
and of listener processes: processor time of the server, the listeners and the producer for a job, the rate, and the
memory of a waiting job. Then what listeners without work ask for. Every job must run exactly once, or there are no
figures. Medians are written to docs/scale/measured.json; `python -m docs.scale` writes the page's tables from them.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from docs.scale.model import Idle, Point
from docs.scale.points import FILE, write_points
from tests.benchmarks.stage import spent, stage
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

APP: Final = """
import json, os, uuid
from workkit import job
seen = []
def note(n): seen.append(n)
@job(limit=1000)
def limited(n): seen.append(n)
@job(keep="1 hour")
def kept(n):
    seen.append(n)
    return n
def tell(folder):
    path = os.path.join(folder, f"{os.getpid()}-{uuid.uuid4().hex}")
    noted = [seen.pop() for _ in range(len(seen))]
    with open(path, "w") as file: json.dump(noted, file)
    os.rename(path, path + ".told")
"""
KINDS: Final = {"once": "app:note", "unique": "app:note", "limited": "app:limited", "kept": "app:kept"}
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
USUAL: Final = 10_000  # jobs that wait, where not their number is measured
PROCESSES: Final = (1, 2, 4)
RECURRING: Final = 500
RECURRING_S: Final = 20
IDLE: Final = (1, 20)
IDLE_S: Final = 20
LISTENERS: Final = """
import sys
from contextlib import ExitStack
from workkit import schedule
s = schedule.create("bench", redis=sys.argv[1])
with ExitStack() as all_of_them:
    for _ in range(int(sys.argv[2])):
        all_of_them.enter_context(schedule.listener(s, imports=["app"], folder=".", threads=1))
    print("ready", flush=True)
    sys.stdin.readline()
"""


def main(jobs: int, largest: int, runs: int) -> None:
    """Measure all points, print them and write them down."""
    with stage(APP) as (server, processes, folder):
        bench = Bench(server, processes, folder, jobs)
        arms = [("once", size, 1) for size in SIZES if size <= largest]
        arms += [(kind, USUAL, 1) for kind in KINDS if kind != "once"]
        arms += [("once", USUAL, count) for count in PROCESSES[1:]]
        points = [_median([bench.once(*arm) for _ in range(runs + 1)][1:]) for arm in arms]
        points.append(_median([bench.recurring() for _ in range(runs)]))
        idle = [bench.idle(count) for count in IDLE]
    write_points(points, idle)
    print(FILE.read_text())


def _median(found: list[Point]) -> Point:
    first = found[0]
    middle = {
        name: statistics.median(getattr(one, name) for one in found)
        for name in ("server_us", "listener_us", "add_server_us", "producer_us", "rate", "bytes")
    }
    return Point(kind=first.kind, waiting=first.waiting, processes=first.processes, cores=first.cores, **middle)


class Bench:
    """A server, and jobs on it."""

    def __init__(self, server: Server, processes: Processes, folder: Path, jobs: int) -> None:
        self._server, self._processes, self._folder, self._jobs = server, processes, folder, jobs
        self._s, self._client = schedule.create("bench", redis=server.url), server.client()

    def once(self, kind: str, waiting: int, count: int = 1) -> Point:
        """Add jobs of a kind that are due, beside others that wait, and run them by so many processes."""
        self._client.flushall()
        empty = self._memory()
        schedule.add_many(self._s, ({"fn": "app:note", "at": "2100-01-01", "args": [n]} for n in range(waiting)))
        each = (self._memory() - empty) / waiting
        due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4 + self._jobs // 4_000 + 2 * count)
        cpu, here = spent(self._server.pid), time.process_time()
        schedule.add_many(self._s, self._rows(kind, due))
        added, made = spent(self._server.pid) - cpu, time.process_time() - here
        pids = [self._listen() for _ in range(count)]
        ahead_s = (due - datetime.now(UTC)).total_seconds()
        if ahead_s <= 0:
            raise AssertionError("the listeners were not ready in time: there are no figures")
        time.sleep(ahead_s)
        before, began = (spent(self._server.pid), spent(*(one.pid for one in pids))), time.perf_counter()
        until(lambda: self._client.hlen("bench:jobs") == waiting, timeout=600)
        took = time.perf_counter() - began
        used = spent(self._server.pid) - before[0], spent(*(one.pid for one in pids)) - before[1]
        self._check(sorted(self._told(len(pids))), list(range(self._jobs)))
        for one in pids:
            one.close()
        unit = 1e6 / self._jobs
        return Point(
            kind=kind, waiting=waiting, processes=count, cores=os.cpu_count() or 1, server_us=used[0] * unit,
            listener_us=used[1] * unit, add_server_us=added / self._jobs * 1e6, producer_us=made / self._jobs * 1e6,
            rate=self._jobs / took, bytes=each,
        )  # fmt: skip

    def recurring(self) -> Point:
        """Let jobs recur every second for a while."""
        self._client.flushall()
        empty = self._memory()
        cpu, here = spent(self._server.pid), time.process_time()
        schedule.add_many(
            self._s, ({"fn": "app:note", "every": "second", "args": [n], "name": f"n{n}"} for n in range(RECURRING))
        )
        added, made = spent(self._server.pid) - cpu, time.process_time() - here
        each = (self._memory() - empty) / RECURRING
        listener = self._listen()
        time.sleep(2)
        self._told(1)
        before, began = (spent(self._server.pid), spent(listener.pid)), time.perf_counter()
        time.sleep(RECURRING_S)
        used, took = (spent(self._server.pid) - before[0], spent(listener.pid) - before[1]), time.perf_counter() - began
        ran = len(self._told(1))
        listener.close()
        if abs(ran - RECURRING * took) > 3 * RECURRING:
            raise AssertionError(f"{ran:,} runs in {took:.0f} s of {RECURRING:,} jobs that recur every second")
        return Point(
            kind="recurring", waiting=RECURRING, processes=1, cores=os.cpu_count() or 1, server_us=used[0] / ran * 1e6,
            listener_us=used[1] / ran * 1e6, add_server_us=added / RECURRING * 1e6,
            producer_us=made / RECURRING * 1e6, rate=ran / took, bytes=each,
        )  # fmt: skip

    def idle(self, count: int) -> Idle:
        """Let listeners wait, and count what they ask for."""
        self._client.flushall()
        process = self._processes.python(LISTENERS, self._server.url, str(count))
        process.wait_for("ready")
        time.sleep(3)
        before, calls = (spent(self._server.pid), spent(process.pid)), self._calls()
        time.sleep(IDLE_S)
        used = spent(self._server.pid) - before[0], spent(process.pid) - before[1]
        asked = self._calls() - calls - 1
        process.tell("")
        process.wait()
        return Idle(
            listeners=count, requests=asked / IDLE_S / count, server_us=used[0] / IDLE_S / count * 1e6,
            listener_us=used[1] / IDLE_S / count * 1e6,
        )  # fmt: skip

    def _rows(self, kind: str, due: datetime) -> Iterator[dict[str, Any]]:
        for n in range(self._jobs):
            key = {"unique_key": f"key:{n}"} if kind == "unique" else {}
            yield {"fn": KINDS[kind], "at": due, "args": [n]} | key

    def _listen(self) -> Any:
        process = self._processes.workkit("listen", "bench", "--redis", self._server.url, "--import", "app")
        process.wait_for(r"\blistening\b")
        return process

    def _told(self, processes: int) -> list[int]:
        """Give what the handlers noted since the last time, of all processes."""
        found: list[int] = []
        told: set[str] = set()
        while len(told) < processes:
            teller = schedule.add_now(self._s, "app:tell", args=[str(self._folder)])
            until(partial(self._is_over, teller.id), timeout=60)
            for file in self._folder.glob("*.told"):
                told.add(file.name.partition("-")[0])
                found += json.loads(file.read_text())
                file.unlink()
        return found

    def _is_over(self, id: str) -> bool:
        return not self._client.hexists("bench:jobs", id)

    def _check(self, ran: list[int], wanted: list[int]) -> None:
        if ran != wanted:
            raise AssertionError("not every job ran exactly once: there are no figures")

    def _memory(self) -> int:
        return int(self._client.info("memory")["used_memory"])

    def _calls(self) -> int:
        return int(self._client.info("stats")["total_commands_processed"])


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["20000", "1000000", "5"][len(sys.argv) - 1 :])))
