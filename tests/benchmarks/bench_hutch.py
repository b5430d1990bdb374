"""workkit beside plain pika on one RabbitMQ, in turn: messages a second, published with confirms and consumed with
acknowledgements.

    python -m tests.benchmarks.bench_hutch [MESSAGES] [RUNS] [--processes N]

A broker of its own. `plain_pika` says what the other side does. Both sides publish persistent, mandatory messages with
the same properties, at most 1,000 unconfirmed, and consume with the same prefetch and a near-no-op function. Consumers
find the queue full; their first 5,000 messages are their warm-up, and the time counts from there to the last run. Each
side runs in as many processes as `--processes` says. Medians of RUNS with ranges; a ratio is that of one round, in
which the sides take turns. Every message must run exactly once, or the figures are void.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pika

from tests.benchmarks.counting import counted, seen
from tests.processes import Process, Processes, until
from tests.rabbit import Rabbit, connected
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import MOST_PRIORITY

THREADS, PREFETCH, WARM = 10, 2048, 5000
NAMES = Names(exchange="bench", dialect="hutch")
KEY = "bench.note"
QUEUE = NAMES.queue(KEY)
APP = f"""
import atexit, pathlib
from tests.benchmarks.counting import Counter
from workkit import job
counter = None
@job("{KEY}")
def note(body):
    counter.note(body)
def begin():
    global counter
    counter = Counter(pathlib.Path.cwd())
    atexit.register(counter.close)
begin()
"""
OURS = f"""
import json, sys, time
from workkit import schedule
url, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = schedule.create("{NAMES.exchange}", amqp=url, layout="hutch")
schedule.add_many(s, [{{"fn": "{KEY}", "at": "now", "args": [{{"n": first}}]}}])
print("ready", flush=True)
sys.stdin.readline()
began = time.monotonic()
schedule.add_many(s, ({{"fn": "{KEY}", "at": "now", "args": [{{"n": n}}]}} for n in range(first + 1, last)))
print(json.dumps([began, time.monotonic()]), flush=True)
"""


class Bench:
    """One broker, and a folder in which all processes run."""

    def __init__(self, broker: Rabbit, processes: Processes, folder: Path, *, messages: int, count: int) -> None:
        self.broker, self.processes, self.folder = broker, processes, folder
        self.messages, self.count = messages, count

    # Publishing.

    def published(self, start: Callable[[int, int], Process]) -> float:
        """Messages a second of as many producers as there are processes."""
        each = self.messages // self.count
        started = [start(place * each, (place + 1) * each) for place in range(self.count)]
        for process in started:
            process.wait_for("^ready$")
        for process in started:
            process.tell("go")
        spans = [json.loads(process.wait_for(r"^\[.*\]$", timeout=300)[0]) for process in started]
        for process in started:
            assert process.wait() == 0, process.transcript()
        took: float = max(end for _, end in spans) - min(begin for begin, _ in spans)
        return each * self.count / took

    def ours_publishes(self, first: int, last: int) -> Process:
        return self.processes.python(OURS, self.broker.url, str(first), str(last))

    def pika_publishes(self, first: int, last: int) -> Process:
        words = [self.broker.url, NAMES.exchange, KEY, str(first), str(last)]
        return self.processes.run(sys.executable, "-m", "tests.benchmarks.plain_pika", "publish", *words)

    # Consuming.

    def consumed(self, start: Callable[[], list[Process]]) -> float:
        """Messages a second of as many consumers as there are processes, after their warm-up."""
        self.fill()
        started = start()
        until(lambda: counted(self.folder) >= self.messages, timeout=300, what="the last message")
        for process in started:
            process.send(signal.SIGTERM)
        for process in started:
            assert process.wait() == 0, process.transcript()
        runs = sorted(seen(self.folder), key=lambda run: run[1])
        with connected(self.broker.url) as channel:
            left = channel.queue_declare(QUEUE, passive=True).method.message_count
        numbers = sorted(n for n, _ in runs)
        assert (numbers, left) == (list(range(self.messages)), 0), "not every message ran exactly once: void"
        return (self.messages - WARM) / (runs[-1][1] - runs[WARM - 1][1])

    def ours_consumes(self) -> list[Process]:
        options = ["--layout", "hutch", "--import", "app", "--jobs", KEY, "--threads", str(THREADS), "-q"]
        options += ["--processes", str(self.count)] if self.count > 1 else []
        return [self.processes.workkit("listen", NAMES.exchange, "--amqp", self.broker.url, *options)]

    def pika_consumes(self, threads: int) -> list[Process]:
        words = [self.broker.url, QUEUE, str(PREFETCH), str(threads)]
        command = [sys.executable, "-m", "tests.benchmarks.plain_pika", "consume", *words]
        return [self.processes.run(*command) for _ in range(self.count)]

    def fill(self) -> None:
        """Empty the queue, then publish the messages that this round consumes."""
        with connected(self.broker.url) as channel:
            channel.queue_purge(QUEUE)
        self.published(self.pika_publishes)

    def prepare(self) -> None:
        """Declare what all use."""
        with connected(self.broker.url) as channel:
            channel.exchange_declare(NAMES.exchange, "topic", durable=True)
            channel.queue_declare(QUEUE, durable=True, arguments={"x-max-priority": MOST_PRIORITY})
            channel.queue_bind(QUEUE, NAMES.exchange, KEY)


def main() -> None:
    """Run all of it and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_hutch")
    parser.add_argument("messages", type=int, nargs="?", default=50_000)
    parser.add_argument("runs", type=int, nargs="?", default=5)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-"))
    (folder / "app.py").write_text(APP)
    broker, processes = Rabbit(folder / "node"), Processes(folder)
    try:
        broker.start()
        bench = Bench(broker, processes, folder, messages=given.messages, count=given.processes)
        bench.prepare()
        print(f"RabbitMQ, pika {pika.__version__}, {os.cpu_count()} cores, {given.messages:,} messages, ", end="")
        print(f"{given.runs} runs, processes on each side: {given.processes}")
        _compare(bench, given.runs)
    finally:
        processes.close()
        broker.close()
        shutil.rmtree(folder)


def _compare(bench: Bench, runs: int) -> None:
    sides: dict[str, Callable[[], float]] = {
        "publish, workkit": lambda: bench.published(bench.ours_publishes),
        "publish, pika": lambda: bench.published(bench.pika_publishes),
        f"consume, workkit, {THREADS} threads": lambda: bench.consumed(bench.ours_consumes),
        f"consume, pika, {THREADS} threads": lambda: bench.consumed(lambda: bench.pika_consumes(THREADS)),
        "consume, pika, no threads": lambda: bench.consumed(lambda: bench.pika_consumes(0)),
    }
    rates: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(runs):
        for side, measure in sides.items():
            rates[side].append(measure())
    for side, values in rates.items():
        print(f"{side:34} {statistics.median(values):10,.0f} a second   ({min(values):,.0f} to {max(values):,.0f})")
    for side, values in rates.items():
        (ours,) = (found for name, found in rates.items() if name.startswith(f"{side.partition(',')[0]}, workkit"))
        if values is not ours:
            shares = [one / other for one, other in zip(ours, values, strict=True)]
            print(
                f"workkit beside {side:28} {statistics.median(shares):.0%}   ({min(shares):.0%} to {max(shares):.0%})"
            )


if __name__ == "__main__":
    main()
