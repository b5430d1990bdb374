"""Real listeners of two code versions sync at once, restart and die in the middle; the newer plan holds, and no due
time runs twice (spec/plans.md).
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from tests.plans import NEW, OLD, imported, write
from tests.processes import Process, Processes, until
from tests.servers import Server, program
from workkit import schedule

APP = """
import os
from workkit import current_job
LOG = os.open("../log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

@s.every("second", name="tick", args=[{version!r}])
def tick(version):
    os.write(LOG, f"{{current_job().due.timestamp():.0f}} {{version}} {{os.getpid()}}\\n".encode())

@s.every("day at 3am", name={name!r})
def nightly(): ...
"""
LISTENERS = """
import os, signal, sys
import redis, workkit.brokers.native.broker, workkit.verbs.syncing, workkit.worker.listener
from workkit import events, schedule

def listen(version):
    os.chdir(version)
    sys.path.insert(0, os.getcwd())
    events.subscribe(lambda event: os.write(1, f"{version} {os.getpid()} {event.name}\\n".encode()))
    s = schedule.create(sys.argv[1], redis=sys.argv[2])
    schedule.listen(s, imports=["planapp"], sync=True, threads=2)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    if not (pid := os.fork()):
        listen(line.strip())
        os._exit(0)
    os.write(1, f"begun {pid}\\n".encode())
"""
EACH = 5  # listeners of each version


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with closing(Server(program("redis"), folder=tmp_path_factory.mktemp("redis"), is_durable=False)) as own:
        own.start()
        yield own


class Run(NamedTuple):
    """One run of the job of each second."""

    due: str
    version: str
    pid: str


class Fleet:
    """Listeners of two versions of one module, each version in a folder of its own."""

    def __init__(self, folder: Path, server: Server, name: str, processes: Processes) -> None:
        self.folder, self.server, self.name, self._processes = folder, server, name, processes
        self.s = schedule.create(name, redis=server.url)
        self._listeners: Process | None = None
        for version, kept, written in (("old", "gone", OLD), ("new", "fresh", NEW)):
            place = folder / version
            place.mkdir()
            write(place, "planapp", APP.format(version=version, name=kept), schedule=name, written=written)

    def begin(self) -> Process:
        """Start the process that forks a listener for each version it is told, all of which import at once."""
        self._listeners = self._processes.python(LISTENERS, self.name, self.server.url)
        return self._listeners

    def close(self) -> None:
        """End the listeners."""
        if self._listeners is not None:
            for line in self._listeners.lines:
                if line.startswith("begun "):
                    with suppress(ProcessLookupError):
                        os.kill(int(line.split()[1]), signal.SIGKILL)

    def listen_and_die(self, version: str, *, fault: str) -> Process:
        """Start the command line, which is killed at a point."""
        words = ("listen", self.name, "--import", "planapp", "--sync", "--redis", self.server.url)
        env = {"WORKKIT_TEST_FAULT": f"{fault}|process|1|early", "WORKKIT_TEST_HISTORY": str(self.folder / "history")}
        command = (sys.executable, "-m", "tests.acceptance.faulty", *words)
        return self._processes.run(*command, cwd=self.folder / version, env=env, is_warm=False)

    def sync(self, version: str, *words: str) -> Process:
        command = ("sync", self.name, "--import", "planapp", *words, "--redis", self.server.url)
        return self._processes.workkit(*command, cwd=self.folder / version)

    def imported(self, version: str) -> AbstractContextManager[ModuleType]:
        """Import a version here."""
        return imported(self.folder / version / "planapp.py")

    def runs(self) -> list[Run]:
        log = self.folder / "log"
        return [Run(*line.split()) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def fleet(tmp_path: Path, server: Server, name: str) -> Iterator[Fleet]:
    processes = Processes(tmp_path)
    with closing(processes), closing(Fleet(tmp_path, server, name, processes)) as found:
        yield found


def names(fleet: Fleet) -> set[str | None]:
    return {job.name for job in schedule.jobs(fleet.s)}


def test_ten_listeners_of_two_versions_at_once_end_as_the_newer_plan_says(fleet: Fleet) -> None:
    listeners = fleet.begin()
    listeners.tell("\n".join(["old", "new"] * EACH))
    for version in ("old", "new"):
        listeners.wait_for(rf"^{version} \d+ listening$", count=EACH)
    assert names(fleet) == {"tick", "fresh"}
    until(lambda: sum(run.version == "new" for run in fleet.runs()) >= 2)
    last = max(int(run.due) for run in fleet.runs() if run.version == "new")
    dead = listeners.wait_for(r"^old (\d+) listening$")[1]
    os.kill(int(dead), signal.SIGKILL)
    told = sum(bool(re.search(r"^old \d+ outdated$", line)) for line in listeners.lines)
    listeners.tell("old")  # as a crash loop, or a scaler, would
    listeners.wait_for(r"^old \d+ outdated$", count=told + 1)
    listeners.wait_for(r"^old \d+ listening$", count=EACH + 1)
    until(lambda: max(int(run.due) for run in fleet.runs()) >= last + 2)
    assert names(fleet) == {"tick", "fresh"}
    assert {run.version for run in fleet.runs() if int(run.due) > last} == {"new"}
    # What the killed one had begun may run again.
    times = Counter(run.due for run in fleet.runs() if run.pid != dead)
    assert [due for due, count in times.items() if count > 1] == [], fleet.runs()
    back = fleet.sync("old", "--rollback")
    assert back.wait() == 0
    listeners.tell("new")
    listeners.wait_for(r"^new \d+ outdated$")
    until(lambda: names(fleet) == {"tick", "gone"})  # a run of the job that was replaced ends first


@pytest.mark.parametrize("point", ["plan decided", "plan put"])
def test_a_sync_that_is_killed_in_the_middle_is_completed_by_the_next(fleet: Fleet, point: str) -> None:
    with fleet.imported("old"):
        schedule.sync(fleet.s)
    assert names(fleet) == {"tick", "gone"}
    died = fleet.listen_and_die("new", fault=point)  # it compiles each module anew, to die there
    assert died.wait(timeout=90) == -signal.SIGKILL
    assert names(fleet) == ({"tick", "gone"} if point == "plan decided" else {"tick", "gone", "fresh"})
    with fleet.imported("old"):
        assert schedule.sync(fleet.s).older == ("planapp",)
    with fleet.imported("new"):
        schedule.sync(fleet.s)
    assert names(fleet) == {"tick", "fresh"}
