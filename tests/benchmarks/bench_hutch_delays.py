"""How late a delay on RabbitMQ ends, and what an idle listener sends.

    python -m tests.benchmarks.bench_hutch_delays [MESSAGES] [SECONDS]

A broker of its own. Messages with delays from 50 ms to SECONDS are published in no order, 20 at once, and a plain
consumer notes when each arrives: lateness is arrival minus due. Every message must arrive exactly once and never before
it is due, or the figures are void. Then a listener is idle for SECONDS, and the frames are counted that it sends.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pika

from tests.brokers.hutch.relay import Relay
from tests.processes import Processes, until
from tests.rabbit import Rabbit, connected
from workkit import schedule

KEY, AT_ONCE, SHORTEST = "bench.note", 20, 0.05
APP = f"""
from workkit import job
@job("{KEY}")
def note(body): pass
"""


def main(messages: int, seconds: float) -> None:
    """Run all of it and print the figures."""
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-"))
    (folder / "app.py").write_text(APP)
    broker, processes = Rabbit(folder / "node"), Processes(folder)
    try:
        broker.start()
        print(f"RabbitMQ, pika {pika.__version__}, {os.cpu_count()} cores")
        late = _delayed(broker.url, messages, seconds)
        print(f"{len(late):,} delays up to {seconds:g} s, late by ms: ", end="")
        print(", ".join(f"p{share} {_share(late, share):.1f}" for share in (1, 50, 90, 99)), f"max {late[-1]:.1f}")
        before = {name: statistics.median(found) for name, found in _by_length(late).items()}
        print("median by length:", ", ".join(f"{name} {value:.1f}" for name, value in before.items()))
        print(f"an idle listener sends in {seconds:g} s: {_idle(broker, processes, seconds)}")
    finally:
        processes.close()
        broker.close()
        shutil.rmtree(folder)


class Late(float):
    """Milliseconds, of a delay of so many seconds."""

    seconds = 0.0


def _delayed(url: str, messages: int, seconds: float) -> list[Late]:
    s, chance = schedule.create("bench", amqp=url, layout="hutch"), random.Random(1)
    late: dict[int, Late] = {}
    with connected(url) as channel:
        channel.exchange_declare("bench", "topic", durable=True)
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "bench", KEY)

        def arrived(_: Any, __: Any, properties: Any, body: bytes) -> None:
            said = json.loads(body)
            assert said["n"] not in late, "arrived twice: these figures are void"
            late[said["n"]] = one = Late(time.time() * 1000 - properties.headers["workkit-due"])
            one.seconds = said["seconds"]

        channel.basic_consume(queue, arrived, auto_ack=True)
        schedule.add(s, KEY, in_=f"{seconds} seconds", args=[{"n": -1, "seconds": seconds}])  # declares what is needed
        for first in range(0, messages, AT_ONCE):
            delays = [chance.uniform(SHORTEST, seconds) for _ in range(AT_ONCE)]
            rows = [
                {"fn": KEY, "in_": f"{delay:.3f} seconds", "args": [{"n": first + n, "seconds": delay}]}
                for n, delay in enumerate(delays)
            ]
            schedule.add_many(s, rows)
            channel.connection.process_data_events(0.1)
        until(lambda: channel.connection.process_data_events(0.1) or len(late) == messages + 1, timeout=seconds + 30)
    found = sorted(late.values())
    assert found[0] >= 0, "before its time: these figures are void"
    return found


def _by_length(late: Sequence[Late]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in sorted(late, key=lambda one: one.seconds):
        name = next(f"up to {most} s" for most in (1, 5, 20, 100_000) if one.seconds <= most)
        found.setdefault(name, []).append(float(one))
    return found


def _share(late: Sequence[float], percent: int) -> float:
    return late[math.ceil(len(late) * percent / 100) - 1]


def _idle(broker: Rabbit, processes: Processes, seconds: float) -> dict[str, int]:
    with Relay(broker.port) as relay:
        url = f"amqp://guest:guest@127.0.0.1:{relay.port}/"
        process = processes.workkit("listen", "bench", "--layout", "hutch", "--amqp", url, "--import", "app", "-q")
        until(lambda: relay.sent["method"])
        quiet = [time.monotonic(), relay.sent["method"]]
        while time.monotonic() < quiet[0] + 2:  # it begins to listen
            if relay.sent["method"] > quiet[1]:
                quiet = [time.monotonic(), relay.sent["method"]]
            time.sleep(0.1)
        before = relay.sent.copy()
        time.sleep(seconds)
        assert process.is_running
        return dict(relay.sent - before)


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    main(*(int(given[0]) if given else 400, given[1] if len(given) > 1 else 60.0))
