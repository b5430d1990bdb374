"""What the features of jobs cost, and whether they hold under load.

    python -m tests.benchmarks.bench_features [limits | slots | schedules] [JOBS] [RUNS]

limits: a limit of 5 over 4 listener processes; every job counts itself in and out on the server, in one step each, and
the most that were ever in is printed beside the limit. slots: a limit of 1 over 2 processes, each job of 5 ms; from the
end of one handler to the start of the next. schedules: one listener on one schedule, and on 50 of which 49
are empty, in turns. Every job must run exactly once, or the figures are void.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

from tests.benchmarks.stage import stage
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

LIMIT, PROCESSES, SCHEDULES = 5, 4, 50
APP = """
import json
import os
import time
from workkit import job
seen = []
def note(n): seen.append(n)
def tell(path):
    with open(path, "w") as file: json.dump(sorted(seen), file)
    seen.clear()

IN = "local n = redis.call('INCR', KEYS[1]); if n > tonumber(redis.call('GET', KEYS[2]) or 0) then "
IN += "redis.call('SET', KEYS[2], n) end return redis.call('HINCRBY', KEYS[3], ARGV[1], 1)"
def client(made=[]):
    if not made:
        import redis
        made.append(redis.Redis.from_url(os.environ["COUNTS_URL"]))
    return made[0]
@job(limit=LIMIT)
def counted(n):
    client().eval(IN, 3, "in", "most", "ran", n)
    client().decr("in")
@job(limit=1)
def stamped(n):
    start = time.time()
    time.sleep(0.005)
    client().rpush("stamps", json.dumps([n, start, time.time()]))
""".replace("LIMIT", str(LIMIT))


def limits(jobs: int, _: int) -> None:
    """Never more at once than the limit, and all of them once."""
    with stage(APP) as (server, processes, _folder):
        s, client = schedule.create("bench", redis=server.url), server.client()
        schedule.add_many(s, ({"fn": "app:counted", "at": "now", "args": [n]} for n in range(jobs)))
        env = {"COUNTS_URL": server.url}
        for _process in range(PROCESSES):
            processes.workkit("listen", "bench", "-q", "--redis", server.url, env=env)
        began = time.perf_counter()
        until(lambda: not client.exists("bench:jobs"), timeout=3600)
        took = time.perf_counter() - began
        ran = client.hgetall("ran")
        assert len(ran) == jobs, f"{len(ran):,} of {jobs:,} ran"
        assert set(ran.values()) == {b"1"}, "some ran twice"
        until(lambda: not client.exists("bench:slots", "bench:waiting", "bench:again"))
        print(f"limit of {LIMIT}, {PROCESSES} processes, {jobs:,} jobs: {jobs / took:,.0f}/s")
        print(f"most at once {int(client.get('most'))}, all once, no slot and nobody waiting left")


def slots(jobs: int, _: int) -> None:
    """How soon a slot that is free is taken."""
    with stage(APP) as (server, processes, _folder):
        s, client = schedule.create("bench", redis=server.url), server.client()
        schedule.add_many(s, ({"fn": "app:stamped", "at": "now", "args": [n]} for n in range(jobs)))
        env = {"COUNTS_URL": server.url}
        for _process in range(2):
            processes.workkit("listen", "bench", "-q", "--redis", server.url, env=env)
        until(lambda: client.llen("stamps") == jobs, timeout=600)
        stamps = sorted((json.loads(text) for text in client.lrange("stamps", 0, -1)), key=lambda stamp: stamp[1])
        assert sorted(n for n, _, _ in stamps) == list(range(jobs)), "not every job ran exactly once"
        gaps = sorted(1000 * (later[1] - earlier[2]) for earlier, later in pairwise(stamps))
        assert gaps[0] >= 0, "two ran at once"
        p50, p99 = gaps[len(gaps) // 2], gaps[len(gaps) * 99 // 100]
        print(f"from the end of one to the start of the next, {jobs:,} jobs: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def schedules(jobs: int, runs: int) -> None:
    """One listener on one schedule, and on many of which one has work."""
    figures: dict[int, list[float]] = {1: [], SCHEDULES: []}
    with stage(APP) as (server, processes, folder):
        for run in range(runs + 1):
            for count in figures if run % 2 else reversed(figures):
                rate = _drained(server, processes, folder, jobs=jobs, count=count)
                if run:
                    figures[count].append(rate)
    one, many = (statistics.median(values) for values in figures.values())
    print(f"{jobs:,} jobs, medians of {runs}: 1 schedule {one:,.0f}/s, {SCHEDULES} schedules {many:,.0f}/s")
    print(f"per job {one / many - 1:+.1%}")


def _drained(server: Server, processes: Processes, folder: Path, *, jobs: int, count: int) -> float:
    """Runs a second."""
    s, client = schedule.create("s0", redis=server.url), server.client()
    schedule.add_many(s, ({"fn": "app:note", "at": "now", "args": [n]} for n in range(jobs)))
    listener = processes.workkit("listen", *(f"s{n}" for n in range(count)), "-q", "--redis", server.url)
    until(lambda: client.zcard("s0:next") < jobs, timeout=60)
    began, left = time.perf_counter(), client.hlen("s0:jobs")
    while client.exists("s0:jobs"):
        time.sleep(0.01)
    rate = int(left) / (time.perf_counter() - began)
    told = folder / "told"
    schedule.add_now(s, "app:tell", args=[str(told)])
    until(lambda: told.exists() and told.read_text().endswith("]"), timeout=30)
    assert told.read_text() == str(list(range(jobs))), "not every job ran exactly once: these figures are void"
    told.unlink()
    listener.close()
    client.flushall()
    return rate


if __name__ == "__main__":
    what, count, times = (*sys.argv[1:], *("limits", "100000", "5")[len(sys.argv) - 1 :])
    {"limits": limits, "slots": slots, "schedules": schedules}[what](int(count), int(times))
