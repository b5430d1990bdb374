"""What a job costs in a schedule of ten thousand waiting jobs, and in one of a million.

    python -m tests.benchmarks.bench_size [SMALL] [LARGE]

A server of its own. For each size: how many can be added in a second; what the server works on each that is added,
claimed and settled (its own statistics); what a waiting job takes of its memory, set against the two published
structures alone; how long each page of a listing takes, to the last; and how long it takes to find one job. Then
`bench_crowd`: own work among due jobs that the listener cannot run.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import redis

from tests.benchmarks import bench_crowd
from tests.benchmarks.stage import stage
from tests.servers import Server
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.brokers.redis_server.pages import PAGE
from workkit.contract.listener import ListenerInfo
from workkit.jobs.outcome import DONE

MEASURED = 20_000  # jobs that are added, and run, beside those that wait
RUNS = 5


def main(sizes: list[int]) -> None:
    """Run all of it and print the figures."""
    with stage() as (server, _processes, _folder):
        costs = []
        for size in sizes:
            server.client().flushall()
            costs.append(_costs(server, size))
            print(f"\n{size:,} waiting jobs")
            for name, values in costs[-1].items():
                print(f"  {name:44} {statistics.median(values):10,.2f}   ({min(values):,.2f} to {max(values):,.2f})")
        print(f"\n{sizes[-1]:,} set against {sizes[0]:,}")
        for name in costs[0]:
            print(f"  {name:44} {statistics.median(costs[-1][name]) / statistics.median(costs[0][name]):10,.2f} times")


def _costs(server: Server, size: int) -> dict[str, list[float]]:
    s, client = schedule.create("size", redis=server.url), server.client()
    empty = int(client.info("memory")["used_memory"])
    began = time.perf_counter()
    schedule.add_many(s, _rows("2100-01-01", size))
    figures: dict[str, list[float]] = {"waiting jobs added, us each": [(time.perf_counter() - began) / size * 1e6]}
    keys = {key.decode() for key in client.scan_iter("size:*")}
    assert keys - {"size:jobs", "size:next", "size:wake"} == {k for k in keys if ":producer:" in k}, keys
    figures["memory of a waiting job, bytes"] = [(int(client.info("memory")["used_memory"]) - empty) / size]
    published = sum(client.memory_usage(key, samples=0) for key in ("size:jobs", "size:next"))
    figures["of which in the two published structures"] = [published / size]
    for _ in range(RUNS):
        for name, value in _run(s, client).items():
            figures.setdefault(name, []).append(value)
    pages = list(_pages(s))
    assert len(pages) == size // PAGE, f"{len(pages)} pages of {PAGE} in {size} jobs"
    figures[f"a page of {PAGE} jobs, ms"] = pages
    found = next(schedule.jobs(s)).id
    figures["one job by its id, ms"] = [_milliseconds(lambda: schedule.job(s, found)) for _ in range(RUNS)]
    return figures


def _run(s: schedule.Schedule, client: redis.Redis) -> dict[str, float]:
    """Add jobs that are due, claim and settle them, all by the broker alone, and look at what the server worked."""
    before = client.zcard("size:next")
    client.config_resetstat()
    began = time.perf_counter()
    schedule.add_many(s, _rows("now", MEASURED))
    added = (time.perf_counter() - began) / MEASURED * 1e6
    in_add = _worked(client)
    broker = open_broker(s.name, redis=s.redis)
    broker.register(ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1))
    client.config_resetstat()
    turn = broker.claim(1000)
    ran = 0
    while turn.claims or turn.asked:
        ran += len(turn.claims)
        turn = broker.claim(1000, ends=[(claim, DONE) for claim in turn.claims])
    in_run = _worked(client)
    broker.leave()
    broker.close()
    assert ran == MEASURED, f"{ran} claims of {MEASURED} jobs"
    assert client.zcard("size:next") == before
    return {
        "due jobs added, us each": added,
        "server's work to add one, us": in_add,
        "server's work to claim and settle one, us": in_run,
    }


def _worked(client: redis.Redis) -> float:
    return float(client.info("commandstats")["cmdstat_evalsha"]["usec"]) / MEASURED


def _pages(s: schedule.Schedule) -> Iterator[float]:
    """Read all jobs, and say of each page how long it took."""
    jobs, left = iter(schedule.jobs(s)), True
    while left:
        began = time.perf_counter()
        left = sum(1 for _ in itertools.islice(jobs, PAGE)) == PAGE
        if left:
            yield (time.perf_counter() - began) * 1000


def _milliseconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _rows(at: str, number: int) -> Iterator[dict[str, object]]:
    return ({"fn": f"app:f{n % 5}", "at": at, "args": [n]} for n in range(number))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10_000, 1_000_000])
    bench_crowd.main(bench_crowd.CROWDS)
