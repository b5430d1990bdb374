"""How late jobs start: start minus due, p50 and p99, on an idle listener and on a busy one.

    python -m tests.benchmarks.bench_lateness [JOBS] [SECONDS]

A listener of its own process, a server of its own. On the idle listener: scheduled jobs due one a second, so that each
finds the listener asleep; ten that recur every second. `bench_job` measures immediate ones. Then 5,000 immediate jobs a
second for SECONDS, 50 every 10 ms whether or not the listener keeps up. Every job must run exactly once, and a
recurring one at each of its seconds, or the figures are void.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import redis

from tests.benchmarks.stage import stage
from tests.processes import until
from workkit import schedule

APP = """
import json, os, time
from workkit import current_job
seen = []
def start(due, n): seen.append([(time.time() - due) * 1000, n])
def tick(n):
    due = current_job().due.timestamp()
    seen.append([(time.time() - due) * 1000, due * 1000 + n])
def tell(path):
    with open(path + "~", "w") as file: json.dump(seen, file)
    os.rename(path + "~", path)
    seen.clear()
"""
RECURRING = 10
BATCH, PAUSE = 50, 0.01  # jobs, and seconds between these: 5,000 a second


class Listener:
    """The listener, and what it has seen."""

    def __init__(self, s: schedule.Schedule, folder: Path) -> None:
        self.s, self._told = s, folder / "told"

    def heard(self) -> list[tuple[float, float]]:
        """Each run since the last time: how late it was, in ms, and its number."""
        schedule.add_now(self.s, "app:tell", args=[str(self._told)])
        until(self._told.exists, timeout=30)
        seen = [(late, n) for late, n in json.loads(self._told.read_text())]
        self._told.unlink()
        return seen


def main(jobs: int, seconds: int) -> None:
    """Run all of it and print the figures."""
    with stage(APP) as (server, processes, folder):
        process = processes.workkit("listen", "bench", "-q", "--redis", server.url)
        listener = Listener(schedule.create("bench", redis=server.url), folder)
        listener.heard()
        print(f"{Path(server.program).name}, redis-py {redis.__version__}, {os.cpu_count()} cores")
        s = listener.s
        _scheduled(s, jobs)
        _say("scheduled", listener.heard(), range(jobs))
        first, last = _recurring(s, jobs)
        dues = range(first, last + 1)
        _say("recurring", listener.heard(), [due * 1000 + n for due in dues for n in range(RECURRING)])
        added = _busy(s, seconds)
        _say(f"{BATCH / PAUSE:,.0f} a second", listener.heard(), range(added))
        assert process.is_running


def _say(kind: str, runs: Sequence[tuple[float, float]], expected: Iterable[float]) -> None:
    assert sorted(n for _, n in runs) == sorted(expected), f"{kind}: not every job ran exactly once"
    late = sorted(late for late, _ in runs)
    p99 = late[math.ceil(0.99 * len(late)) - 1]
    print(f"{kind:16} {len(late):8,} runs   p50 {statistics.median(late):6.2f} ms   ", end="")
    print(f"p99 {p99:6.2f} ms   max {late[-1]:6.2f} ms")


def _scheduled(s: schedule.Schedule, jobs: int) -> None:
    for n in range(jobs):
        due = math.ceil(time.time()) + 2
        schedule.add(s, "app:start", at=datetime.fromtimestamp(due, UTC), args=[due, n])
        time.sleep(math.ceil(time.time()) - time.time() + 0.3)  # sometime inside the next second
    _drained(s)


def _recurring(s: schedule.Schedule, jobs: int) -> tuple[int, int]:
    """The first and the last second at which they ran."""
    time.sleep(math.ceil(time.time()) - time.time() + 0.3)
    added = [schedule.add(s, "app:tick", every="second", args=[n]) for n in range(RECURRING)]
    first, last = math.ceil(time.time()), math.floor(time.time()) + math.ceil(jobs / RECURRING)
    time.sleep(last + 0.5 - time.time())
    for job in added:
        schedule.cancel(s, job)
    return first, last


def _busy(s: schedule.Schedule, seconds: int) -> int:
    """How many were added."""
    began, batches = time.time(), round(seconds / PAUSE)
    for batch in range(batches):
        time.sleep(max(0.0, began + batch * PAUSE - time.time()))
        now = time.time()
        numbers = range(batch * BATCH, (batch + 1) * BATCH)
        schedule.add_many(s, [{"fn": "app:start", "at": "now", "args": [now, n]} for n in numbers])
    _drained(s)
    return BATCH * batches


def _drained(s: schedule.Schedule) -> None:
    def is_empty() -> bool:
        counts = schedule.counts(s)
        return not (counts.waiting or counts.due or counts.running)

    until(is_empty, timeout=30)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [200, 60][len(given) :]))
