"""What history costs: one listener, with history full, counts and off in turns.

    python -m tests.benchmarks.bench_history recurring [JOBS] [RUNS]
    python -m tests.benchmarks.bench_history kept [JOBS]

recurring: JOBS jobs that recur every second, for 5 seconds; give so many that one listener cannot keep up. Runs a
second, and the processor time that a run costs listener and server together, which other programs on the machine
disturb less. Medians; on Linux. Of jobs that run once, `bench_job` measures it.

kept: what is left in the keys of history after so many one-shots of 200 functions, a twentieth of them failures.
"""

from __future__ import annotations

import statistics
import sys
import time

from tests.benchmarks.stage import spent, stage
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.contract.admin import Remembered
from workkit.jobs.admission import HISTORIES, History
from workkit.verbs.opening import producer_of

APP = "def note(n): pass\n"
KEPT = "\n".join(f"def f{n}(i):\n    if i % 20 == 0: raise OSError('disk full')" for n in range(200))
SECONDS, PORTION = 5, 50_000
Figure = tuple[float, float]  # runs a second; us of processor time for one


def recurring(server: Server, processes: Processes, jobs: int, history: History) -> Figure:
    """Of jobs that recur, once all are running."""
    s, client = schedule.create("bench", redis=server.url), server.client()
    producer_of(s).admin.steer(Remembered(history))  # each time: the server has forgotten all
    schedule.add_many(s, ({"fn": "app:note", "every": "second", "args": [n]} for n in range(jobs)))
    listener = processes.workkit("listen", "bench", "-q", "--redis", server.url)

    def done() -> int:
        return sum(int(n) for what, n in client.hgetall("bench:stats").items() if what.startswith(b"done:"))

    until(lambda: done() > jobs, timeout=60)
    before, first, began = spent(listener.pid, server.pid), done(), time.perf_counter()
    time.sleep(SECONDS)
    ran, took = done() - first, time.perf_counter() - began
    used = spent(listener.pid, server.pid) - before
    listener.close()
    return ran / took, 1e6 * used / ran


def kept(jobs: int) -> None:
    """Print the keys, entries and bytes of each kind of history after so many runs."""
    with stage(KEPT) as (server, processes, _folder):
        s, client = schedule.create("bench", redis=server.url), server.client()
        listener = processes.workkit("listen", "bench", "-q", "--redis", server.url)
        for first in range(0, jobs, PORTION):
            of = range(first, min(jobs, first + PORTION))
            schedule.add_many(s, ({"fn": f"app:f{n % 200}", "at": "now", "args": [n]} for n in of))
            until(lambda: not client.exists("bench:jobs"), timeout=600)
        listener.close()
        found: dict[str, list[int]] = {}
        for key in client.scan_iter("bench:*"):
            kind = key.decode().split(":")[1]
            if kind in ("lately", "days", "runs", "past"):
                size = client.xlen(key) if kind == "runs" else client.hlen(key)
                sums = found.setdefault(kind, [0, 0, 0])
                for place, n in enumerate((1, size, client.memory_usage(key, samples=0))):
                    sums[place] += n
    for kind, (keys, entries, size) in found.items():
        print(f"{kind:7} {keys:5,} keys  {entries:7,} entries  {size / 1e6:6.2f} MB")
    print(f"after {jobs:,} runs: {sum(size for _, _, size in found.values()) / 1e6:.2f} MB")


def main(jobs: int, runs: int) -> None:
    figures: dict[History, list[Figure]] = {history: [] for history in HISTORIES}
    with stage(APP) as (server, processes, _folder):
        for run in range(runs + 1):
            for history in HISTORIES if run % 2 else reversed(HISTORIES):
                figure = recurring(server, processes, jobs, history)
                server.client().flushall()
                if run:
                    figures[history].append(figure)
    print(f"{jobs:,} jobs that recur, medians of {runs}")
    rates = {history: statistics.median(rate for rate, _ in values) for history, values in figures.items()}
    costs = {history: statistics.median(cost for _, cost in values) for history, values in figures.items()}
    for history in HISTORIES:
        rate, cost = rates[history], costs[history]
        beside = f"{rate / rates['off']:.1%} of off, {cost / costs['off'] - 1:+.1%} processor time"
        print(f"{history:6} {rate:8,.0f}/s {cost:6.1f} us a run: {beside}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["kept"]:
        kept(int((*sys.argv[2:], "1000000")[0]))
    else:
        _, count, times = (*sys.argv[1:], *("recurring", "50000", "5")[len(sys.argv) - 1 :])
        main(int(count), int(times))
