"""Measure one peer: how fast it adds and runs, how late it starts, what it asks of the server meanwhile."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.peers.installing import Place
from tests.benchmarks.peers.peer import Dues, Peer
from tests.benchmarks.peers.postgres import Postgres, postgres
from tests.benchmarks.peers.running import Failed, Mark, Stage, stage
from tests.benchmarks.report import percentile
from tests.benchmarks.stage import stage as serving
from tests.processes import until

WARM = 0.1  # the part of a run's jobs that is not counted
STEADY = 0.3  # the part of a run's jobs that must be counted
MARKS = 20  # how often in a run a worker notes its CPU time
MARK_SLACK = 0.05  # seconds: a job that is as old as its mark counts
DEADLINE = 90.0  # seconds for one run
PAUSE = 0.01  # seconds that a function takes where it does not take none
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
    postgres: Postgres | None = None

    def url(self, peer: Peer) -> str:
        """Return where the peer's server is."""
        if not peer.is_on_postgres:
            return self.redis
        if self.postgres is None:
            raise Failed("no PostgreSQL runs here")
        return self.postgres.url

    def usage(self, peer: Peer) -> Usage:
        """Say what the peer's server has done so far; of PostgreSQL only its CPU time is known."""
        if peer.is_on_postgres and self.postgres is not None:
            return Usage(commands=0, reads=0, cpu=self.postgres.cpu())
        return Usage.of(self.client)

    def clear(self) -> None:
        """Wait until nobody but this benchmark is connected, and empty the servers."""
        if self.postgres is not None:
            self.postgres.clear()
        until(lambda: len(self.client.client_list(_type="normal")) == 1, what="the last peer's connections to close")
        self.client.flushall()


@contextlib.contextmanager
def running_bench(*, has_postgres: bool = False) -> Iterator[Bench]:
    """Give a server of its own, without persistence, and PostgreSQL beside it, if asked for and to be had."""
    with serving() as (server, _, _), postgres() if has_postgres else contextlib.nullcontext() as other:
        yield Bench(client=server.client(), redis=server.url, postgres=other)


def rate(bench: Bench, peer: Peer, *, where: Place, jobs: int, workers: int = 1) -> dict[str, float]:
    """Add `jobs` jobs to what the server has, then have fresh workers run them. Raises Failed.

    Gives jobs per second, and costs per job. The first tenth warms producer and worker up; what is timed begins where
    each worker has run so many, and ends where the first of them has run its last.
    """
    warm = int(jobs * WARM)
    with stage(peer, where, server=bench.url(peer)) as it:
        producer = it.start_producer()
        empty = bench.usage(peer)
        adding, add_cpu = producer.add(jobs, warm=warm)
        full = bench.usage(peer)
        marks = sorted({*range(warm, jobs + 1, max(1, jobs // MARKS)), jobs})
        it.start_worker(marks, is_busy=True, count=workers)
        if workers == 1:
            it.await_mark(jobs, timeout=DEADLINE)
        else:  # workkit's own: no worker knows what the others have run
            it.until(lambda: not bench.client.exists("bench:jobs"), timeout=DEADLINE, what="all jobs to have run")
        done = bench.usage(peer)
        told = it.await_exactly(jobs, producer.tell)
        if min(map(len, told)) <= warm:
            raise Failed(f"a worker ran no more than {warm:,} jobs, so that it was not warm")
        began, ended = max(runs[warm - 1][1] for runs in told), min(runs[-1][1] for runs in told)
        steady = sum(began < at <= ended for runs in told for _, at in runs)
        if steady < jobs * STEADY:
            raise Failed(f"only {steady:,} of {jobs:,} jobs ran while all workers did")
        worker_us = _worker_us([it.marks(place) for place in range(workers)], began)
    added, ran = full - empty, done - full
    return {
        "run_rate": steady / (ended - began),
        "worker_us": worker_us,
        "run_commands": ran.commands / jobs,
        "run_reads": ran.reads / jobs,
        "run_server_us": ran.cpu / jobs * 1e6,
        "add_rate": (jobs - warm) / adding,
        "add_us": add_cpu / (jobs - warm) * 1e6,
        "add_commands": added.commands / jobs,
        "add_reads": added.reads / jobs,
        "add_server_us": added.cpu / jobs * 1e6,
    }


def _worker_us(workers: list[dict[int, Mark]], began: float) -> float:
    """Give the CPU microseconds of a job, between the first and the last mark of each worker since `began`."""
    cpu, jobs = 0.0, 0
    for marks in workers:
        steady = [count for count, mark in marks.items() if mark.at >= began - MARK_SLACK]
        if len(steady) > 1:
            cpu += marks[steady[-1]].cpu - marks[steady[0]].cpu
            jobs += steady[-1] - steady[0]
    if not jobs:
        raise Failed("no worker ran long enough to tell its CPU time")
    return cpu / jobs * 1e6


def pausing(bench: Bench, peer: Peer, *, where: Place, jobs: int, half: int) -> dict[str, float]:
    """Have a fresh worker run jobs of 10 ms that were added one by one; then add `half` more at half of its rate.

    Gives the rate, what adding one costs, and how late jobs start at half load. Raises Failed.
    """
    warm = int(jobs * WARM)
    with stage(peer, where, server=bench.url(peer)) as it:
        producer = it.start_producer()
        producer.each("one", 0, warm)
        before = bench.usage(peer)
        adding, add_cpu = producer.each("one", warm, jobs - warm)
        added = bench.usage(peer) - before
        variables = {"BENCH_PAUSE": str(PAUSE), **peer.pausing_variables}
        it.start_worker((warm, jobs, jobs + half), is_busy=True, variables=variables)
        it.await_mark(jobs, timeout=DEADLINE)
        marks = it.marks(0)
        rate = (jobs - warm) / (marks[jobs].at - marks[warm].at)
        began = producer.now(jobs, half, gap=2 / rate)
        it.await_mark(jobs + half, timeout=DEADLINE)
        started = dict(it.await_exactly(jobs + half, producer.tell)[0])
    late = sorted((started[n] - at) * 1000 for n, at in began.items())
    times = sorted(began.values())
    return {
        "pausing_rate": rate,
        "one_us": adding / (jobs - warm) * 1e6,
        "one_cpu_us": add_cpu / (jobs - warm) * 1e6,
        "one_server_us": added.cpu / (jobs - warm) * 1e6,
        "half_rate": (half - 1) / (times[-1] - times[0]),
        "half_p50_ms": percentile(late, 0.5),
        "half_p99_ms": percentile(late, 0.99),
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
    with stage(peer, where, server=bench.url(peer)) as it:
        producer = it.start_producer()
        it.start_worker((WARM_UP_JOBS, at_once, everything), is_busy=False)
        producer.now(0, WARM_UP_JOBS, gap=GAP)
        it.await_mark(WARM_UP_JOBS, timeout=30)
        began = producer.now(WARM_UP_JOBS, wait.immediate, gap=GAP)
        it.await_mark(at_once, timeout=30)
        found: dict[str, Any] = {}
        if wait.idle_seconds:
            found |= _idle(bench, peer, wait.idle_seconds)
        dues = _schedule(it, producer.later, first=at_once, jobs=wait.scheduled)
        it.await_mark(everything, timeout=30 + wait.scheduled)
        started = dict(it.await_exactly(everything, producer.tell)[0])
    found["immediate_ms"] = [(started[n] - at) * 1000 for n, at in began.items()]
    found["scheduled_ms"] = [(started[n] - due) * 1000 for n, due in dues.items()]
    return found


def _idle(bench: Bench, peer: Peer, seconds: float) -> dict[str, float]:
    """Count what is asked per second while nothing happens, after a moment in which what is late may end."""
    time.sleep(0.5)
    before, began = bench.usage(peer), time.perf_counter()
    time.sleep(seconds)
    spent, took = bench.usage(peer) - before, time.perf_counter() - began
    return {"idle_commands": spent.commands / took, "idle_reads": spent.reads / took}


def _schedule(it: Stage, later: Any, *, first: int, jobs: int) -> dict[int, float]:
    whole = it.peer.dues is Dues.SECONDS
    start = time.time() + LEAD
    dues = [math.ceil(start) + n if whole else start + n * STEP for n in range(jobs)]
    later(first, dues)
    return dict(enumerate(dues, first))
