"""What adding to a schedule and running from it cost, when 10^3 to 10^6 jobs wait in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.benchmarks.peers.installing import Place
from tests.benchmarks.peers.measuring import Bench, Usage, rate
from tests.benchmarks.peers.roster import WORKKIT
from tests.processes import until
from workkit import schedule

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SHORT_SIZES = (1_000, 10_000, 100_000)
ADDS = 500  # one by one, and taken out again
RUNS = 20_000  # jobs that are due now, above those that wait
FIRST_DUE = datetime(2100, 1, 1, tzinfo=UTC)
TOGETHER = 100  # waiting jobs that are due in the same second
FRESH_DUE = datetime(2200, 1, 1, tzinfo=UTC)  # each job that is added one by one is due at a time never seen before


def costs(bench: Bench, *, where: Place, sizes: tuple[int, ...], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield, for each size, lists of microseconds per job: of both sides' CPU, and of the clock."""
    bench.clear()
    s = schedule.create("bench", redis=bench.redis)
    bare = bench.client.info("memory")["used_memory"]
    waiting = 0
    for size in sizes:
        schedule.add_many(s, (_row(n, FIRST_DUE + timedelta(seconds=n // TOGETHER)) for n in range(waiting, size)))
        waiting = size
        found: dict[str, Any] = {"size": size, "bytes_per_job": (_used(bench) - bare) / size}
        for repeat in range(repeats + 1):
            each = _adds(bench, s, first=size + repeat * ADDS) | _runs(bench, where)
            if bench.client.zcard("bench:next") != size:
                raise AssertionError(f"{bench.client.zcard('bench:next'):,} jobs wait, not {size:,}")
            if repeat:  # the first one warms up
                for name, value in each.items():
                    found.setdefault(name, []).append(value)
        yield found


def _row(n: int, due: datetime) -> dict[str, Any]:
    return {"fn": "workkit_app:f0", "at": due, "args": [n]}


def _adds(bench: Bench, s: schedule.Schedule, *, first: int) -> dict[str, float]:
    rows = [_row(n, FRESH_DUE + timedelta(seconds=n)) for n in range(first, first + ADDS)]
    server, client, clock = Usage.of(bench.client), time.process_time(), time.perf_counter()
    added = [schedule.add(s, **row) for row in rows]
    took, used, spent = time.perf_counter() - clock, time.process_time() - client, Usage.of(bench.client) - server
    for job in added:
        schedule.cancel(s, job)
    return {
        "add_us": took / ADDS * 1e6,
        "add_client_us": used / ADDS * 1e6,
        "add_server_us": spent.cpu / ADDS * 1e6,
    }


def _runs(bench: Bench, where: Place) -> dict[str, float]:
    connected = len(bench.client.client_list())
    found = rate(bench, WORKKIT, where=where, jobs=RUNS)
    # the listener was killed: nothing of it may be left to the next one
    until(lambda: len(bench.client.client_list()) <= connected, what="the listener's connections to close")
    for key in bench.client.scan_iter("bench:*"):
        if key not in (b"bench:next", b"bench:jobs"):
            bench.client.delete(key)
    return {
        "run_us": 1e6 / found["run_rate"],
        "run_client_us": found["worker_us"],
        "run_server_us": found["run_server_us"],
    }


def _used(bench: Bench) -> float:
    return float(bench.client.info("memory")["used_memory"])
