"""How late jobs start on an idle listener: start minus due, p50 and p99.

    python -m tests.benchmarks.bench_lateness [JOBS]

A listener of its own process, a server of its own. Scheduled jobs are due one a second, so that each finds the
listener asleep; immediate ones come 20 ms apart. Every job must run exactly once, or the figures are void.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import redis

from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

APP = """
import os, time, redis
r = redis.Redis.from_url(os.environ["SEEN"])
def start(kind, due): r.rpush(kind, time.time() - due)
"""


def main(jobs: int) -> None:
    """Run all of it and print the figures."""
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-"))
    (folder / "app.py").write_text(APP)
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    assert program, "no redis-server on PATH"
    server, processes = Server(program, folder=folder, is_durable=False), Processes(folder)
    try:
        server.start()
        process = processes.workkit("listen", "bench", "-q", "--redis", server.url, env={"SEEN": server.url})
        s, client = schedule.create("bench", redis=server.url), server.client()
        schedule.add_now(s, "app:start", args=["warm", time.time()])
        until(lambda: client.llen("warm"))
        print(f"{server.program} {redis.__name__}-py {redis.__version__}, {os.cpu_count()} cores, {jobs} jobs each")
        _immediate(s, jobs)
        _scheduled(s, jobs)
        for kind in ("immediate", "scheduled"):
            until(lambda kind=kind: client.llen(kind) >= jobs, timeout=10)  # type: ignore[misc]
            late = sorted(float(x) * 1000 for x in client.lrange(kind, 0, -1))
            assert len(late) == jobs, f"{len(late)} runs of {jobs} jobs"
            p99 = late[math.ceil(0.99 * jobs) - 1]
            print(f"{kind:10} p50 {statistics.median(late):.2f} ms   p99 {p99:.2f} ms   max {late[-1]:.2f} ms")
        assert process.is_running
    finally:
        processes.close()
        server.close()
        shutil.rmtree(folder)


def _immediate(s: schedule.Schedule, jobs: int) -> None:
    for _ in range(jobs):
        schedule.add_now(s, "app:start", args=["immediate", time.time()])
        time.sleep(0.02)


def _scheduled(s: schedule.Schedule, jobs: int) -> None:
    for _ in range(jobs):
        due = math.ceil(time.time()) + 2
        job = schedule.add(s, "app:start", in_=f"{due - time.time() - 0.001:.3f} seconds", args=["scheduled", due])
        assert job.due is not None
        assert job.due.timestamp() == due, (job.due, due)
        time.sleep(math.ceil(time.time()) - time.time() + 0.3)  # sometime inside the next second


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
