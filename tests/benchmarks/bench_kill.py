"""How many jobs run again after `kill -9` of a listener at full speed: those that had ended and were not settled.

    python -m tests.benchmarks.bench_kill [JOBS] [RUNS]

Each run: a server, a listener process with ten threads, JOBS no-op jobs, and then a tenth as many of 5 ms; the kill
comes at a random moment. A run of a job is a line in a file, so that what was run twice is counted exactly.
"""

from __future__ import annotations

import random
import signal
import statistics
import sys

from tests.benchmarks.stage import stage
from tests.processes import until
from workkit import schedule

APP = """
import os, time
fd = os.open("ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(n): os.write(fd, b"%d\\n" % n)
def slow(n): time.sleep(0.005); os.write(fd, b"%d\\n" % n)
"""


def main(jobs: int, runs: int) -> None:
    """Run all of it and print the figures."""
    for fn, count in (("note", jobs), ("slow", jobs // 10)):
        again = [_killed(fn, count) for _ in range(runs)]
        print(f"{count:,} jobs of app:{fn}, run again: median {statistics.median(again):g} of {sorted(again)}")


def _killed(fn: str, jobs: int) -> int:
    with stage(APP) as (server, processes, folder):
        s, client = schedule.create("bench", redis=server.url), server.client()
        schedule.add_many(s, [{"fn": f"app:{fn}", "at": "now", "args": [n]} for n in range(jobs)])
        listener = processes.workkit("listen", "bench", "-q", "--redis", server.url)
        left = jobs * random.uniform(0.3, 0.7)
        until(lambda: client.hlen("bench:jobs") <= left, timeout=120)
        listener.send(signal.SIGKILL)
        listener.wait()
        processes.workkit("listen", "bench", "-q", "--redis", server.url)
        until(lambda: not client.exists("bench:jobs"), timeout=120, what="the rest, taken over")
        ran = (folder / "ran").read_text().split()
        assert len(set(ran)) == jobs, "not every job ran: this figure is void"
        return len(ran) - jobs


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["100000", "5"][len(sys.argv) - 1 :])))
