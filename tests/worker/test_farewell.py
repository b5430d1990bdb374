"""What a listener that stops says, and what it stores, while its server is away."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import Process, Processes, until
from tests.servers import Server, program
from workkit import schedule
from workkit.schedule import Schedule

APP = """
import time
from pathlib import Path

def until_let(n, seconds=30):
    with open("begun", "a") as file:
        file.write(f"{n}\\n")
    ends = time.monotonic() + seconds
    while not Path("let").exists() and time.monotonic() < ends:
        time.sleep(0.01)
"""


@pytest.fixture
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A durable server that the test stops; which product it is plays no part here."""
    server = Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=True)
    with closing(server):
        server.start()
        yield server


@pytest.fixture
def s(away: Server, name: str, tmp_path: Path) -> Schedule:
    (tmp_path / "app.py").write_text(APP)
    made = schedule.create(name, redis=away.url)
    for n in range(3):
        schedule.add_now(made, "app:until_let", args=[n])
    return made


def begun(folder: Path) -> list[str]:
    file = folder / "begun"
    return file.read_text().split() if file.exists() else []


def listening(processes: Processes, s: Schedule, *options: str) -> Process:
    """Start a listener, and wait until its three jobs run."""
    listener = processes.workkit("listen", s.name, "--redis", str(s.redis), *options)
    listener.wait_for(" listening ")
    until(lambda: len(begun(processes.folder)) == 3, what="three runs")
    return listener


def test_a_stop_stores_its_endings_if_the_server_returns_within_the_deadline(
    processes: Processes, away: Server, s: Schedule, tmp_path: Path
) -> None:
    listener = listening(processes, s, "--deadline", "20s")
    away.kill()
    listener.wait_for(" lost ")
    listener.send(signal.SIGTERM)
    listener.wait_for(" stopping ")
    (tmp_path / "let").touch()
    listener.wait_for(" done ", count=3)
    time.sleep(4.0)  # longer than a listener tried before
    assert listener.is_running, listener.transcript()
    away.start()
    assert listener.wait() == 0, listener.transcript()
    assert not re.search("not stored", listener.transcript())
    assert not list(schedule.jobs(s))
    assert schedule.counts(s).listeners == 0


def test_a_process_of_several_that_could_not_store_its_endings_ends_all_with_status_1(
    processes: Processes, away: Server, s: Schedule, tmp_path: Path
) -> None:
    listener = listening(processes, s, "--deadline", "2s", "--processes", "2")
    away.kill()
    listener.wait_for(" lost ", count=2)
    listener.send(signal.SIGTERM)
    listener.wait_for(" stopping ")
    (tmp_path / "let").touch()
    assert listener.wait() == 1, listener.transcript()
    told = [re.search(r"(\d) endings? not stored", line) for line in listener.lines]
    assert sum(int(found[1]) for found in told if found) == 3, listener.transcript()
