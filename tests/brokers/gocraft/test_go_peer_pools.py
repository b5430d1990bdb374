"""The pools of the Go peer keep the recorded timers, priorities and defects, and lose nothing when they are killed."""

from __future__ import annotations

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.gocraft import go_peer, vectors
from tests.brokers.gocraft.go_peer import Driver
from tests.brokers.gocraft.namespace import Side, differences, dump
from tests.processes import Process, Processes, until
from tests.servers import Server

QUICK = ("--heartbeat", "300ms", "--dead-after", "2s", "--reap", "500ms", "--jitter", "0", "--requeue", "50ms")
FETCHES = 1200  # so many that a share of them differs by no more than chance from the share of very many


@pytest.fixture
def client(go_server: Server) -> Iterator[Any]:
    with go_peer.database(go_server, 0) as opened:
        opened.flushdb()
        yield opened


def commands(
    client: Any, *, begin: Callable[[], Any], seconds: float = 0.0, fetches: int = 0
) -> list[tuple[float, list[str]]]:
    """Return what clients send, each with its time from the first: for so many seconds, and so many fetches of jobs."""
    found: list[tuple[float, list[str]]] = []
    fetched = 0
    with client.monitor() as monitor:
        begin()
        while not found or found[-1][0] - found[0][0] < seconds or fetched < fetches:
            each = monitor.next_command()
            if each["client_type"] != "lua":
                found.append((each["time"], each["command"].split(" ")))
                fetched += kind(found[-1][1]) == "fetch"
    return [(at - found[0][0], words) for at, words in found]


def run_pool(processes: Processes, peer: Path, server: Server, jobs: str, *options: str) -> Process:
    place = ["--redis", f"127.0.0.1:{server.port}"]
    return processes.run(str(peer), "pool", "gv", "--jobs", jobs, *place, *options)


def kind(words: Sequence[str]) -> str:
    """Name a command as timers.json does."""
    name, *rest = (re.sub(r"[0-9a-f]{24}", "ID", word.replace("gv:", "NS:", 1)) for word in words)
    if name.upper().startswith("EVAL"):
        return {"NS:retry": "requeue retry", "NS:scheduled": "requeue scheduled"}.get(rest[2], "fetch")
    return f"{name.lower()} {rest[0]}"


def test_a_pool_keeps_the_recorded_timers(client: Any, processes: Processes, peer: Path, go_server: Server) -> None:
    """A busy machine may delay some timers of one pool: then another pool keeps all of them."""
    seconds, wrong = 6.5, [""]
    recorded = {
        name: [at for at in each if at < seconds - 0.3] for name, each in vectors.load("timers")["times"].items()
    }
    for _ in range(3):
        client.flushdb()
        pools: list[Process] = []

        def begin(pools: list[Process] = pools) -> None:
            pools.append(run_pool(processes, peer, go_server, "j", "--concurrency", "1"))

        sent = commands(client, begin=begin, seconds=seconds)
        pools[0].close()
        times: dict[str, list[float]] = {}
        for at, words in sent:
            if words[0].upper() != "EVAL":  # the full text of a script follows its hash, once
                times.setdefault(kind(words), []).append(at)
        wrong = [
            f"{name}: {times.get(name)}, not {expected}"
            for name, expected in recorded.items()
            if times.get(name, [])[: len(expected) or None] != pytest.approx(expected, abs=0.25)
        ]
        if not wrong:
            break
    assert not wrong


@pytest.mark.parametrize("recording", vectors.recordings("priority"), ids=lambda one: "-".join(one["priorities"]))
def test_a_pool_orders_its_queues_by_priority(
    recording: Any, client: Any, processes: Processes, peer: Path, go_server: Server
) -> None:
    jobs = ",".join(f"{name}:{priority}" for name, priority in recording["priorities"].items())
    begin = lambda: run_pool(processes, peer, go_server, jobs, "--concurrency", "4", "--sleeps", "0,1")  # noqa: E731
    orders = [
        ",".join(word.removeprefix("gv:jobs:") for word in words[3::6][: len(recording["priorities"])])
        for _, words in commands(client, begin=begin, fetches=FETCHES)
        if kind(words) == "fetch"
    ]
    for order in {*orders, *recording["order_counts"]}:
        share = recording["order_counts"].get(order, 0) / recording["fetches"]
        assert orders.count(order) / len(orders) == pytest.approx(share, abs=0.08), order


def test_a_pool_that_was_frozen_leaves_the_lock_as_recorded(client: Any, peer: Path, go_server: Server) -> None:
    """Defect: its job runs twice, and the lock ends at -1."""
    steps = {step["step"]: step for step in vectors.steps("frozen_pool") if "dump" in step}
    job = {"name": "export", "max_concurrency": 1, "do": [{"block": "end"}]}
    pools = [
        Driver(peer, "--heartbeat", "500ms", "--dead-after", after, port=go_server.port, database=0)
        for after in ("1h", "2s")
    ]

    def reach(name: str) -> None:
        recorded = Side(dump=steps[name]["dump"], at=steps[name]["at"])

        def found() -> list[str]:
            return differences(recorded, Side(dump=dump(client, "gv"), at=time.time()), slack=60)

        until(lambda: not found(), what=f"{name}, but {found()}", timeout=15)

    def begin(pool: Driver) -> None:
        pool.ask({"op": "pool", "id": "P", "ns": "gv", "concurrency": 1, "jobs": [job], "sleep_backoffs": [0, 50]})
        pool.ask({"op": "start", "id": "P"})

    first, second = pools
    try:
        first.ask({"op": "enqueue", "ns": "gv", "name": "export", "args": '{"i": 1}'})
        begin(first)
        reach("running in process 1")
        first.process.send(signal.SIGSTOP)
        begin(second)
        reach("process 2 has reaped and runs the job")
        first.process.send(signal.SIGCONT)
        first.ask({"op": "open", "name": "end"})
        reach("both have run it; the lock is off by one")
        second.ask({"op": "open", "name": "end"})
        reach("process 2 finished too: the lock is negative")
        second.ask({"op": "stop", "id": "P"})
        reach("stopped")
    finally:
        for pool in pools:
            pool.close()


def test_jobs_of_killed_pools_all_run(client: Any, processes: Processes, peer: Path, go_server: Server) -> None:
    """The commands `pool`, `enqueue` and `client` together: failing, scheduled and slow jobs, with a kill amid them."""
    log = processes.folder / "ran"
    place = ["--redis", f"127.0.0.1:{go_server.port}"]
    options = ("--concurrency", "4", "--log", str(log), "--backoff", "0", "--sleeps", "0,10", *QUICK)

    def do(*words: str) -> Any:
        process = processes.run(str(peer), *words, *place)
        assert process.wait() == 0, process.transcript()
        return json.loads(process.out[-1])

    pools = [run_pool(processes, peer, go_server, "send:3,slow:1:3,fail:1:0:2", *options) for _ in range(2)]
    for pool in pools:
        pool.wait_for('"started"')
    do("enqueue", "gv", "slow", '{"sleep_ms": 100}', "--count", "40")
    do("enqueue", "gv", "send", "{}", "--count", "500")
    do("enqueue", "gv", "send", '{"later": true}', "--in", "1", "--count", "20")
    do("enqueue", "gv", "fail", '{"fail": "no"}', "--count", "5")
    until(lambda: log.exists() and log.read_text().count('"slow"') > 4, what="some slow jobs to begin")
    pools[0].send(signal.SIGKILL)
    until(lambda: client.scard("gv:worker_pools") == 1, what="the killed pool to be reaped")

    def ended() -> Counter[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return Counter(name for name, _ in {(line["name"], line["id"]) for line in lines if line["event"] == "end"})

    until(lambda: ended() == {"slow": 40, "send": 520, "fail": 5}, what="all jobs to end")
    until(lambda: client.zcard("gv:dead") == 5, what="the failing jobs to die")
    until(lambda: {client.get(key) for key in client.keys("gv:jobs:*:lock")} == {b"0"}, what="the locks to rest at 0")
    assert [each["worker_pool_id"] for each in do("client", "gv", "worker_pools")["returned"]]
    dead = do("client", "gv", "dead_jobs")
    assert (dead["count"], {job["err"] for job in dead["returned"]}) == (5, {"no"})
    assert {queue["count"] for queue in do("client", "gv", "queues")["returned"]} == {0}
    pools[1].send(signal.SIGTERM)
    assert pools[1].wait() == 0
    assert client.keys("gv:worker_pools*") == []
