"""Measure one peer: how fast it adds and runs, how late it starts, what it asks of the server meanwhile."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.peers.installing import Place
from tests.benchmarks.peers.peer import Dues, Peer
from tests.benchmarks.peers.running import Stage, stage
from tests.processes import until

WARM = 0.1  # the part of a run's jobs that is not counted
DEADLINE = 90.0  # seconds for one run
WARM_UP_JOBS = 20  # before anything is timed on a waiting worker
GAP = 0.015  # mean seconds between two immediate jobs
STEP = 0.37  # seconds between two due times: every phase of a clock that ticks once a second
LEAD = 1.2  # seconds from the addition to the first due time

OURS = ("info", "config", "flushall", "client", "auth", "hello")  # commands of this benchmark, left out of counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the server has done for others: commands run, those inside of scripts among them; reads from sockets, which
    tell round trips, as one pipeline takes one, or few; and CPU seconds."""

    commands: int
    reads: int
    cpu: float

    def __sub__(self, other: Usage) -> Usage:
        """Return what was done between two questions; the second one's own read is left out."""
        return Usage(
            commands=self.commands - other.commands,
            reads=self.reads - other.reads - 1,
            cpu=self.cpu - other.cpu,
        )

    @classmethod
    def of(cls, client: Any) -> Usage:
        """Ask the server."""
        told = client.info("everything")
        calls = {
            name.removeprefix("cmdstat_"): row["calls"] for name, row in told.items() if name.startswith("cmdstat_")
        }
        return cls(
            commands=sum(count for name, count in calls.items() if name.partition("|")[0] not in OURS),
            reads=told["total_reads_processed"],
            cpu=told["used_cpu_user"] + told["used_cpu_sys"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A server for the peers, one after the other."""

    client: Any
    redis: str

    def clear(self) -> None:
        """Wait until nobody but this benchmark is connected, and empty the server."""
        until(lambda: len(self.client.client_list(_type="normal")) == 1, what="the last peer's connections to close")
        self.client.flushall()


def rate(bench: Bench, peer: Peer, *, where: Place, jobs: int) -> dict[str, float]:
    """Add `jobs` jobs to what the server has, then have a fresh worker run them. Raises Failed.

    Gives jobs per second, and costs per job. The first tenth warms the worker up: the rate, and the worker's CPU time,
    are those of the rest.
    """
    warm = int(jobs * WARM)
    with stage(peer, where, redis=bench.redis) as it:
        producer = it.start_producer()
        empty = Usage.of(bench.client)
        adding = producer.add(jobs)
        full = Usage.of(bench.client)
        it.start_worker((warm, jobs), is_busy=True)
        began = it.await_mark(warm, timeout=DEADLINE)
        ended = it.await_mark(jobs, timeout=DEADLINE)
        done = Usage.of(bench.client)
        producer.tell()
        it.await_exactly(jobs)
    added, ran = full - empty, done - full
    return {
        "run_rate": (jobs - warm) / (ended.at - began.at),
        "worker_us": (ended.cpu - began.cpu) / (jobs - warm) * 1e6,
        "run_commands": ran.commands / jobs,
        "run_reads": ran.reads / jobs,
        "run_server_us": ran.cpu / jobs * 1e6,
        "add_rate": jobs / adding,
        "add_commands": added.commands / jobs,
        "add_reads": added.reads / jobs,
        "add_server_us": added.cpu / jobs * 1e6,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How much is measured on a waiting worker."""

    immediate: int
    scheduled: int
    idle_seconds: float


def waits(bench: Bench, peer: Peer, *, where: Place, wait: Wait) -> dict[str, Any]:
    """Start a worker that has nothing to do, and give it jobs now and then. In milliseconds. Raises Failed."""
    at_once = WARM_UP_JOBS + wait.immediate
    everything = at_once + wait.scheduled
    time.sleep(random.random())  # so that clocks that tick once a second meet due times in another phase each time
    with stage(peer, where, redis=bench.redis) as it:
        producer = it.start_producer()
        it.start_worker((WARM_UP_JOBS, at_once, everything), is_busy=False)
        producer.now(0, WARM_UP_JOBS, gap=GAP)
        it.await_mark(WARM_UP_JOBS, timeout=30)
        began = producer.now(WARM_UP_JOBS, wait.immediate, gap=GAP)
        it.await_mark(at_once, timeout=30)
        found: dict[str, Any] = {}
        if wait.idle_seconds:
            found |= _idle(bench, wait.idle_seconds)
        dues = _schedule(it, producer.later, first=at_once, jobs=wait.scheduled)
        it.await_mark(everything, timeout=30 + wait.scheduled)
        producer.tell()
        started = dict(it.await_exactly(everything))
    found["immediate_ms"] = [(started[n] - at) * 1000 for n, at in began.items()]
    found["scheduled_ms"] = [(started[n] - due) * 1000 for n, due in dues.items()]
    return found


def _idle(bench: Bench, seconds: float) -> dict[str, float]:
    """Count what is asked per second while nothing happens, after a moment in which what is late may end."""
    time.sleep(0.5)
    before, began = Usage.of(bench.client), time.perf_counter()
    time.sleep(seconds)
    spent, took = Usage.of(bench.client) - before, time.perf_counter() - began
    return {"idle_commands": spent.commands / took, "idle_reads": spent.reads / took}


def _schedule(it: Stage, later: Any, *, first: int, jobs: int) -> dict[int, float]:
    whole = it.peer.dues is Dues.SECONDS
    start = time.time() + LEAD
    dues = [math.ceil(start) + n if whole else start + n * STEP for n in range(jobs)]
    later(first, dues)
    return dict(enumerate(dues, first))
