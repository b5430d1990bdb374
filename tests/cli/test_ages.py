"""Ages and distances are by the server's clock, whatever this machine's says."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.cli.conftest import begin
from tests.processes import Process, Processes, until
from tests.servers import Server

# Runs the command line on a machine whose clock is off by so many seconds; a timestamp is one of the true class.
OFF = """
import datetime, sys, time
off, true_time, true = float(sys.argv.pop(1)), time.time, datetime.datetime
class Kind(type):
    def __instancecheck__(self, other):
        return isinstance(other, true)
class Off(true, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return true.fromtimestamp(time.time(), tz)
time.time, datetime.datetime = (lambda: true_time() + off), Off
from workkit.cli import main
sys.exit(main())
"""
DAYS = 86_400
APP = 'def hi():\n    print("hi")\n\ndef fail():\n    raise OSError("disk full")\n'


@pytest.fixture(params=[3 * DAYS, -3 * DAYS], ids=["ahead", "behind"])
def off(request: pytest.FixtureRequest) -> float:
    return float(request.param)


class Machine:
    """Commands on a machine whose clock is off."""

    def __init__(self, processes: Processes, server: Server, off: float) -> None:
        self._processes, self._server, self._off = processes, server, off
        (processes.folder / "app.py").write_text(APP)

    def start(self, *words: str) -> Process:
        command = ("-c", OFF, str(self._off), *words, "--redis", self._server.url)
        return self._processes.run(sys.executable, *command, is_warm=False)  # its clock is off before workkit is there

    def says(self, *words: str) -> str:
        ran = self.start(*words)
        assert ran.wait() in (0, 1), ran.transcript()
        return "\n".join(ran.out)


@pytest.fixture
def machine(processes: Processes, server: Server, off: float) -> Machine:
    return Machine(processes, server, off)


SOON = re.compile(r"in (1 h|59 min)")


def test_a_job_is_as_far_off_as_the_server_says(machine: Machine, name: str) -> None:
    assert SOON.search(machine.says("add", name, "in 1 hour", "app:hi"))
    id = json.loads(machine.says("list", name, "--json"))[0]["id"]
    assert SOON.search(machine.says("show", name, id[:8]))
    assert re.search(r"^(today|tomorrow) ", machine.says("list", name), re.MULTILINE)


def test_a_recurring_job_is_skipped_and_paused_by_the_clock_of_the_server(
    machine: Machine, server: Server, name: str
) -> None:
    assert re.search(r"next .* in [\d.]+ s$", machine.says("add", name, "every minute", "app:hi", "--name", "poll"))
    assert re.search(r"next .*, in 1 min( \d+ s)?$", machine.says("skip", name, "poll"))
    seconds, _ = server.client().time()
    machine.says("pause", name, "--until", "in 2 hours")
    from workkit import schedule
    from workkit.verbs.opening import producer_of

    (pause,) = producer_of(schedule.create(name, redis=server.url)).inspector.control().paused.values()
    assert pause.until_ms is not None
    assert 7190 <= pause.until_ms / 1000 - seconds <= 7210


def test_a_listener_is_up_and_a_job_dead_since_when_the_server_says(
    machine: Machine, server: Server, name: str
) -> None:
    listener = machine.start("listen", name)
    listener.wait_for("listening")
    machine.says("now", name, "app:fail")
    until(lambda: server.client().zcard(f"{name}:dead"), what="the job to be dead")
    (info,) = json.loads(machine.says("listeners", name, "--json"))
    assert 0 < info["up_ms"] < 60_000
    assert info["beat_ms"] < 10_000
    assert re.search(r"^(today|yesterday) ", machine.says("dead", name), re.MULTILINE)
    assert re.search(r"late|done|failed", "\n".join(listener.lines))
    assert not re.search(r" \d+ d ", "\n".join(listener.lines))


def test_the_doctor_counts_from_the_clock_of_the_server(machine: Machine, server: Server, name: str) -> None:
    begin(server, name)
    said = machine.says("doctor", name)
    assert re.search(r"changes, of (\d+ (s|ms|min)|now)", said), said
    assert "the server's clock is" in said
