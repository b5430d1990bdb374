"""The histograms of `listen --processes 4` hold every run, though one process is killed with SIGKILL: only what that
one had counted since its last write may be missing, and it writes once a second (spec/history.md, 8).
"""

from __future__ import annotations

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Processes, until
from tests.servers import Server, program
from workkit import schedule
from workkit.brokers.native.look.past import read_run
from workkit.contract.history import Cell
from workkit.schedule import Schedule
from workkit.verbs.past import summed

APP = """
import os, time

LOG = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def note(n):
    os.write(LOG, f"{os.getpid()} {n} {time.time()}\\n".encode())
    if n % 50 == 0:
        raise OSError("disk full")
"""
PORTION, AFTER = 500, 1_000  # jobs added at a time, and after the kill
THREADS = 10  # of a process: so many of its runs may have ended, and its loop does not know of them yet


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for this file: which product it is plays no part here."""
    own = Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=False)
    with closing(own):
        own.start()
        yield own


class Log:
    """What the handlers wrote: a line for each run, by the process that ran it."""

    def __init__(self, folder: Path) -> None:
        lines = [line.split() for line in (folder / "log").read_text().splitlines()]
        self.ended = [(int(pid), float(at)) for pid, _, at in lines]
        self.runs = Counter(pid for pid, _ in self.ended)
        self.failed = Counter(int(pid) for pid, n, _ in lines if int(n) % 50 == 0)
        self.jobs = {int(n) for _, n, _ in lines}


def whole(s: Schedule) -> Cell:
    return summed(schedule.history(s, over="1 hour"))


def told(client: Any, name: str) -> dict[int, dict[int, int]]:
    """How many runs that were done each process has told of, by the time of its write, ms: a sample stands for all of
    its kind.
    """
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for number, fields in client.xrange(f"{name}:runs"):
        if (run := read_run(fields)) is not None and run.ending == "done" and run.listener is not None:
            found[int(run.listener.split(":")[-2])][int(number.split(b"-")[0])] += run.times
    return found


def test_counts_are_those_of_all_runs_but_for_the_last_second_of_a_killed_process(
    processes: Processes, server: Server, name: str, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    listener = processes.workkit("listen", name, "-q", "--redis", server.url, "--processes", "4")
    until(lambda: len(schedule.listeners(s)) == 4, what="four listeners")
    first, client = {info.pid for info in schedule.listeners(s)}, server.client()
    added = 0

    def add(count: int) -> None:
        nonlocal added
        schedule.add_many(s, ({"fn": "app:note", "at": "now", "args": [n]} for n in range(added, added + count)))
        added += count

    def all_have_told() -> bool:
        if schedule.counts(s).due < PORTION:
            add(PORTION)
        writes = told(client, name)
        return all(len(writes[pid]) >= 2 for pid in first)

    until(all_have_told, what="two writes of each process")
    add(AFTER)
    victim = max(first)
    os.kill(victim, signal.SIGKILL)
    until(lambda: not client.exists(f"{name}:jobs"), timeout=60, what="the end of all jobs")
    until(lambda: len({info.pid for info in schedule.listeners(s)} - {victim}) == 4, what="the victim's successor")
    listener.send(signal.SIGTERM)
    assert listener.wait(timeout=30) == 0

    log, cell, writes = Log(tmp_path), whole(s), told(client, name)
    done = {pid: sum(times.values()) for pid, times in writes.items()}
    assert log.jobs == set(range(added))
    assert cell.durations.total == cell.lateness.total == cell.runs
    assert cell.done == sum(done.values())
    before_last = sorted(writes[victim])[-2] / 1000
    at_risk = sum(pid == victim and at >= before_last for pid, at in log.ended) + THREADS
    assert sum(log.runs.values()) - at_risk <= cell.runs <= sum(log.runs.values())
    assert log.runs[victim] - at_risk <= done[victim] + cell.dead
    for pid in log.runs.keys() - {victim}:
        assert log.runs[pid] == done[pid] + log.failed[pid]
