"""Long runs, frozen listeners and a server that is killed again and again: who runs what, and how often."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.crash_cast import HERE
from tests.acceptance.history import complete_lines
from tests.acceptance.scene import DURABLE
from tests.metronome import Metronome
from tests.processes import Process, Processes, until
from tests.servers import Server, program
from workkit import schedule

# The promise is made for minutes; WORKKIT_TEST_REAL tests those.
LONG, FROZEN, TIMEOUT = (180.0, 30.0, 10) if os.environ.get("WORKKIT_TEST_REAL") else (12.0, 9.0, 5)  # seconds
TIMES = 10  # that the server is killed
PICK_UP = 2.0  # seconds after its return within which listeners go on
LISTEN = f"""
import sys
from {HERE} import listen
listen(url=sys.argv[1], name=sys.argv[2], threads=4, deadline="1s", timeout="{TIMEOUT}s")
"""


class Place:
    """A server, a schedule on it, and the history of what ran."""

    def __init__(self, server: Server, *, name: str, processes: Processes, folder: Path) -> None:
        self.server, self.name, self.processes, self.folder = server, name, processes, folder
        self.history = folder / "history"
        self.history.touch()
        self.schedule = schedule.create(name, redis=server.url)

    def listen(self) -> Process:
        env = {"WORKKIT_TEST_HISTORY": str(self.history)}
        process = self.processes.python(LISTEN, self.server.url, self.name, env=env)
        until(lambda: self.count("said listening", process.pid) or not process.is_running, what="the listener")
        return process

    def lines(self, what: str, pid: int | None = None) -> list[dict[str, Any]]:
        return [line for line in complete_lines(self.history) if line["what"] == what and pid in (None, line["pid"])]

    def count(self, what: str, pid: int | None = None) -> int:
        return len(self.lines(what, pid))

    def has_ended(self, runs: int) -> bool:
        return self.count("end") >= runs

    def has_started_since(self, at: float) -> bool:
        return any(line["at"] > at for line in self.lines("start"))


@pytest.fixture
def place(own_server: Server, name: str, processes: Processes, tmp_path: Path) -> Place:
    return Place(own_server, name=name, processes=processes, folder=tmp_path)


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
def test_a_run_longer_than_listener_timeout_runs_once(place: Place) -> None:
    listeners = [place.listen() for _ in range(2)]
    schedule.add_now(place.schedule, f"{HERE}:slow", args=["long", LONG])
    until(lambda: place.count("end"), timeout=LONG + 10, what="the end of the long run")
    until(lambda: not place.server.client().hlen(f"{place.name}:jobs"), what="its settle")
    assert place.count("start") == place.count("end") == 1
    assert place.count("said fenced") == place.count("said crashed") == 0
    for listener in listeners:
        listener.send(signal.SIGTERM)
        assert listener.wait() == 0


@pytest.mark.parametrize("own_server", ["valkey"], indirect=True)
def test_a_listener_that_was_stopped_and_continued_ends_nothing_and_goes_on(place: Place, machine: Metronome) -> None:
    first = place.listen()
    job = schedule.add_now(place.schedule, f"{HERE}:slow", args=["slow", 1.0])
    until(lambda: place.count("start", first.pid), what="its run")
    first.send(signal.SIGSTOP)
    stopped = time.monotonic()
    second = place.listen()
    until(lambda: place.count("end", second.pid), timeout=TIMEOUT + 10, what="its run elsewhere")
    took = time.monotonic() - stopped
    until(lambda: not place.server.client().hlen(f"{place.name}:jobs"), what="its settle")
    until(lambda: time.monotonic() - stopped >= FROZEN, timeout=FROZEN + 1)
    first.send(signal.SIGCONT)
    until(lambda: place.count("said fenced", first.pid), what="the refusal")
    assert [line["id"] for line in place.lines("said fenced")] == [job.id]
    (away_ms,) = [line["ago_ms"] for line in place.lines("said fenced")]
    assert (FROZEN - 1) * 1000 <= away_ms <= (FROZEN + 5 + machine.slack) * 1000
    assert took < TIMEOUT + 1 + 2 + machine.slack, "listener_timeout, the run, and a margin"

    before = place.lines("said listening", first.pid)[0]["listener"]
    second.send(signal.SIGTERM)
    assert second.wait() == 0
    (again,) = until(lambda: [one.listener for one in schedule.listeners(place.schedule)])
    assert again != before
    assert again.split(":")[1] == str(first.pid)
    schedule.add_now(place.schedule, f"{HERE}:note", args=["after"])
    until(lambda: "after" in [line["label"] for line in place.lines("end", first.pid)], what="a run under its new name")
    first.send(signal.SIGTERM)
    assert first.wait() == 0
    assert place.count("start") == 3


class Adding:
    """Adds one job after the other in a thread of its own, and remembers what was acknowledged."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.acknowledged: list[str] = []
        self.raised = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._add)
        self._thread.start()

    def _add(self) -> None:
        number = 0
        while not self._over.is_set():
            label = f"job-{number}"
            try:
                schedule.add_now(self.place.schedule, f"{HERE}:note", args=[label])
            except ConnectionError:
                self.raised += 1
                self._over.wait(0.01)
                continue
            self.acknowledged.append(label)
            number += 1
            self._over.wait(0.005)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture(params=["redis", "valkey"])
def hardy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A durable server that has written what it acknowledges: see DURABLE."""
    folder = tmp_path / "server"
    folder.mkdir()
    server = Server(program(request.param), folder=folder, is_durable=True, options=DURABLE)
    server.start()
    yield server
    server.close()


def test_a_server_killed_ten_times_under_load_loses_nothing(
    hardy: Server, name: str, processes: Processes, tmp_path: Path, machine: Metronome
) -> None:
    place = Place(hardy, name=name, processes=processes, folder=tmp_path)
    listeners = [place.listen() for _ in range(2)]
    adding = Adding(place)
    pick_ups = []
    try:
        for _ in range(TIMES):
            before = place.count("end")
            until(partial(place.has_ended, before + 20), what="runs under load")
            hardy.kill()
            hardy.start()
            back = time.time()
            until(partial(place.has_started_since, back), what="a run after its return")
            pick_ups.append(min(line["at"] for line in place.lines("start") if line["at"] > back) - back)
    finally:
        adding.close()
    until(lambda: not hardy.client().hlen(f"{name}:jobs"), timeout=20, what="the end of all work")
    for listener in listeners:
        listener.send(signal.SIGTERM)
        assert listener.wait() == 0
    ended = [line["label"] for line in place.lines("end")]
    assert set(adding.acknowledged) <= set(ended), "acknowledged, and never run"
    started = [(line["id"], line["due"]) for line in place.lines("start")]
    assert len(started) == len(set(started)), "run twice, and no listener had died"
    assert adding.raised, "the server was never away"
    assert max(pick_ups) < PICK_UP + machine.slack, pick_ups
