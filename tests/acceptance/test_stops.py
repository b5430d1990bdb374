"""The table of stops in `spec/lifecycle.md`: each row of it, with INT and with TERM, against real listeners."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import ROOT, Process, Processes, is_alive, until
from tests.servers import Server, program
from workkit import schedule
from workkit.worker.service import shell_status

APP = """
import asyncio, os, time
from pathlib import Path
from workkit import job

def begin(key):
    Path(f"begun-{key}").write_text(str(os.getpid()))

def end(key):
    return Path(f"let-{key}").exists()

def plain(key):
    begin(key)
    while not end(key):
        time.sleep(0.02)

@job(cpu=True)
def elsewhere(key):
    plain(key)

async def coroutine(key):
    begin(key)
    while not end(key):
        await asyncio.sleep(0.02)
"""
SLOW_IMPORT = """
import os, sys, time
from pathlib import Path
key = os.environ["KEY"]
Path(f"begun-{key}").touch()
while not Path(f"let-{key}").exists():
    time.sleep(0.02)
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAUNCHER = """
import ctypes, json, os, select, sys, time
from pathlib import Path
import workkit.schedule, workkit.brokers.native.session, workkit.worker.listener, workkit.worker.health
import workkit.cli.tree, workkit.cli.commands.listen, workkit.cli.commands.processes, workkit.cli.log
import workkit.schedule, workkit.brokers.native.session, workkit.worker.listener, workkit.worker.health
import workkit.cli.tree, workkit.cli.commands.listen, workkit.cli.commands.processes, workkit.cli.log
from workkit.cli import main

def run(key, words, is_first):
    os.setsid()
    log = os.open(f"log-{key}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(log, 1), os.dup2(log, 2)
    os.environ["KEY"], sys.argv = key, ["workkit", *words]
    if is_first and ctypes.CDLL(None).unshare(0x20000000):  # CLONE_NEWPID
        os._exit(99)
    if is_first and (inner := os.fork()):
        Path(f"pid-{key}").write_text(str(inner))
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 0xFF)
    sys.exit(main(words))

running = {}
while True:
    if select.select([sys.stdin], [], [], 0.02)[0]:
        key, words, is_first = json.loads(os.read(0, 65536))
        if not (pid := os.fork()):
            run(key, words, is_first)
        running[pid] = key
        if not is_first:
            Path(f"pid-{key}").write_text(str(pid))
        print("started", flush=True)
    while running and (ended := os.waitpid(-1, os.WNOHANG))[0]:
        told = f"{os.waitstatus_to_exitcode(ended[1])} {time.monotonic()}"
        Path("new").write_text(told)
        os.rename("new", f"ended-{running.pop(ended[0])}")
"""
DEADLINE = 3.0  # the least that a listener tries without its server
SPARE = 10.0  # seconds that a busy machine may take longer


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table, as it is tried with one signal, sent so many times."""

    stage: str
    number: signal.Signals
    times: int
    runs: str
    status: str
    ends: str
    says: tuple[str, ...]
    work: str

    @property
    def statuses(self) -> set[int]:
        return {int(text) if text.isdigit() else 128 + self.number for text in self.status.split(", or ")}


def table() -> Iterator[Row]:
    section = (ROOT / "spec" / "lifecycle.md").read_text().split("\n## 9. ")[1]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    for line in lines[1:]:
        stages, times, runs, status, ends, says, work = (cell.strip() for cell in line.strip("|").split("|"))
        told = tuple(re.findall("`([^`]*)`", says))
        for stage, count, number in itertools.product(stages.split(", "), map(int, times.split(", ")), SIGNALS):
            yield Row(
                stage=stage, number=number, times=count, runs=runs, status=status, ends=ends, says=told, work=work
            )


ROWS = tuple(table())
FUNCTIONS = {"coroutines": "app:coroutine", "cpu=True": "app:elsewhere"}
STAGES = ("starting", "idle", "busy", "coroutines", "cpu=True", "two processes", "PID 1", "Redis away")


@dataclass(kw_only=True)
class Tried:
    """A listener that is stopped as one row says. `key` is what its schedule and files are named by."""

    row: Row
    key: str
    s: schedule.Schedule
    folder: Path
    asked: float = 0.0

    def file(self, name: str) -> Path:
        return self.folder / f"{name}-{self.key}"

    def said(self) -> str:
        return self.file("log").read_text()

    def wait_for(self, text: str) -> None:
        until(lambda: text in self.said(), what=f"{text!r} of {self.row}")

    def ready(self) -> None:
        """Wait until it is in the stage of its row."""
        if self.row.stage != "starting":
            self.wait_for(" listening ")
        if self.row.stage != "idle":
            until(self.file("begun").exists, what=f"the begin of {self.row}")

    def ask(self) -> None:
        """Send the signals, each once the one before was heard; then let its run, or its import, end."""
        pid = int(self.file("pid").read_text())
        self.asked = time.monotonic()
        for sent in range(self.row.times):
            if sent and self.row.stage == "starting":
                time.sleep(0.1)  # it says nothing, and two at once are one signal
            elif sent == 1 and self.row.stage != "idle":
                self.wait_for(" stopping ")
            with suppress(ProcessLookupError):
                os.kill(pid, self.row.number)
        if self.row.runs == "end in time":
            self.wait_for(" stopping ")  # which says how many run: the run ends after that
        if self.row.runs == "end in time" or (self.row.stage, self.row.times) == ("starting", 1):
            self.file("let").touch()

    def check(self) -> None:
        until(self.file("ended").exists, what=f"the end of {self.row}")
        status, at = self.file("ended").read_text().split()
        took, said = float(at) - self.asked, self.said()
        # a signal may come when the handlers are gone
        assert shell_status(int(status)) in self.row.statuses, (self.row, status, said)
        for text in self.row.says:
            assert text in said, (self.row, said)
        assert self.row.work == "given back" or "given back; " not in said, (self.row, said)
        at_deadline = self.row.ends == "at the deadline"
        assert (DEADLINE - 0.1 if at_deadline else 0) <= took, (self.row, said)
        assert took <= (DEADLINE if at_deadline else 0) + SPARE, (self.row, said)

    def check_work(self) -> None:
        waiting, running = {"untouched": (1, 0), "done": (0, 0), "given back": (1, 0), "held": (0, 1)}[self.row.work]
        counts = schedule.counts(self.s)
        assert (counts.due + counts.waiting, counts.running) == (waiting, running), (self.row, counts)
        assert [job.attempt for job in schedule.jobs(self.s)] == [0] * (waiting + running)
        if self.row.stage not in ("PID 1", "starting") and self.file("begun").exists():
            until(lambda: not is_alive(int(self.file("begun").read_text())), what="the end of the process that ran it")


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A durable server that a row may stop; which product it is plays no part here."""
    server = Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=True)
    with closing(server):
        server.start()
        yield server


def start(launcher: Process, row: Row, key: str, server: Server, folder: Path) -> Tried:
    s = schedule.create(f"stop-{key}", redis=server.url)
    if row.stage == "idle":
        schedule.add(s, "app:plain", at="in 1 hour", args=[key])
    else:
        schedule.add_now(s, FUNCTIONS.get(row.stage, "app:plain"), args=[key])
    words = ["listen", s.name, "--redis", server.url, "--deadline", f"{DEADLINE:g}s", "--threads", "2"]
    words += ["--import", "slow" if row.stage == "starting" else "app"]
    words += ["--processes", "2"] if row.stage == "two processes" else []
    launcher.tell(json.dumps([key, words, row.stage == "PID 1"]))
    tried = Tried(row=row, key=key, s=s, folder=folder)
    until(lambda: tried.file("log").exists() and tried.file("pid").exists(), what="a listener, which needs namespaces")
    return tried


@pytest.mark.parametrize("stage", STAGES)
def test_a_listener_stops_as_the_table_says(stage: str, own: Server, processes: Processes, tmp_path: Path) -> None:
    if stage == "PID 1" and subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode:
        pytest.skip("no process can be the first here")
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "slow.py").write_text(SLOW_IMPORT)
    launcher = processes.python(LAUNCHER)
    rows = [row for row in ROWS if row.stage == stage]
    all_of_them = [start(launcher, row, str(number), own, tmp_path) for number, row in enumerate(rows)]
    for tried in all_of_them:
        tried.ready()
    if stage == "Redis away":
        own.kill()
        for tried in all_of_them:
            tried.wait_for(" lost ")
    for tried in all_of_them:
        tried.ask()
    for tried in all_of_them:
        tried.check()
    if stage == "Redis away":
        own.start()
    for tried in all_of_them:
        tried.check_work()


def test_every_stage_of_the_table_is_tried() -> None:
    tried = {(row.stage, row.number, row.times) for row in ROWS}
    assert tried == set(itertools.product(STAGES, SIGNALS, (1, 2, 3)))
