"""A supervisor over processes that only pretend to listen: which it replaces, when it gives up, what it reports."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, is_alive, until
from tests.worker.observation import named
from workkit import errors, events
from workkit.events import Event
from workkit.worker import listener_process
from workkit.worker.listener_process import Seat
from workkit.worker.service import how_it_ended
from workkit.worker.supervisor import Exit, ProcessPlan, Supervisor

CHILD = """
import json, os, signal, sys, time
orders, reports = map(int, sys.argv[1].split(","))

def tell(name, **fields):
    os.write(reports, json.dumps({"name": name, "fields": fields}).encode() + b"\\n")

def listen():
    tell("listening", schedules={"t": 1}, url="redis://h:1/0", listener="h:1:x", threads=3, pid=1, version="0.1.0")
    tell("may_run", text="functions")

def refuse(status):
    tell("refused", reason="no. Ask again.", text="error: no. Ask again.")
    sys.exit(status)

def serve():
    for line in os.fdopen(orders):
        print(line.strip(), file=open(f"orders-{os.getpid()}", "a"), flush=True)
        if line == "stop\\n":
            tell("stopping", running=2, deadline_ms=1000)
            tell("stopped", ran=5, failed=1, given_back=2)
            return

def first():
    try:
        os.close(os.open("begun", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def supervisor(source: str, *, processes: int = 2, **plan: Any) -> Supervisor:
    program = [sys.executable, "-I", "-S", "-c", CHILD + source]
    plan.setdefault("deadline", timedelta(seconds=1))
    return Supervisor(ProcessPlan(command=lambda ends: [*program, ends], processes=processes, **plan))


def on(name: str, act: Callable[[Event], None]) -> Callable[[], None]:
    """Call `act` at each event of that name, in the supervisor's own thread."""
    return events.subscribe(lambda event: act(event) if event.name == name else None)


def signals(number: signal.Signals) -> Callable[[Event], None]:
    return lambda _: os.kill(os.getpid(), number)


@pytest.fixture
def ends_on() -> Iterator[Callable[[str], None]]:
    """Stop the supervisor at the event of a name, as a TERM would, once."""
    done: list[Callable[[], None]] = []

    def stop_at(name: str) -> None:
        def stop(event: Event) -> None:
            done.pop()()
            signals(signal.SIGTERM)(event)

        done.append(on(name, stop))

    yield stop_at
    for end in done:
        end()


def test_the_supervisor_reports_for_all_processes(seen: list[Event], ends_on: Callable[[str], None]) -> None:
    ends_on("may_run")
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    assert supervisor("listen(); serve()", processes=3).run() == Exit(status=0)
    assert [event.name for event in seen] == ["listening", "may_run", "stopping", "stopped"]
    listening, _, stopping, stopped = (event.fields for event in seen)
    assert (listening["processes"], listening["threads"], listening["pid"]) == (3, 3, os.getpid())
    assert stopping == {"running": 6, "deadline_ms": 1000}
    assert {**stopped, "up_ms": 0} == {"ran": 15, "failed": 3, "given_back": 6, "up_ms": 0, "uncounted": 0}
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before


def test_listening_is_emitted_when_the_last_process_listens(seen: list[Event], ends_on: Callable[[str], None]) -> None:
    ends_on("listening")
    supervisor("if not first(): time.sleep(0.5)\nopen('late', 'a').write('x'); listen(); serve()").run()
    assert Path("late").read_text() == "xx"
    assert len(named(seen, "listening")) == 1


def test_pauses_between_restarts_double_with_jitter_up_to_half_a_minute() -> None:
    slot = Seat()
    assert slot.pause(lived=1.0) == 0.0
    pauses = [slot.pause(lived=1.0) for _ in range(20)]
    wanted = [min(30.0, 0.5 * 2**n) for n in range(20)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, wanted, strict=True))
    assert len(set(pauses)) == 20
    assert slot.pause(lived=60.0) == 0.0, "after a long life the first again"
    assert slot.pause(lived=59.0) > 0.0


def test_a_process_that_dies_is_replaced_after_a_growing_pause(
    seen: list[Event], ends_on: Callable[[str], None]
) -> None:
    def stop_at_third(event: Event) -> None:
        if len(named(seen, "restarted")) == 3:
            signals(signal.SIGTERM)(event)

    end = on("restarted", stop_at_third)
    began = time.monotonic()
    ending = supervisor("listen()\nif first(): serve()\nelse: time.sleep(0.05); os._exit(70)").run()
    end()
    assert ending == Exit(status=0)
    told = [event.fields for event in named(seen, "restarted")]
    assert [fields["status"] for fields in told] == [70, 70, 70]
    assert told[0]["reason"] == "ended with status 70"
    assert told[0]["after_ms"] == 0
    assert 250 <= told[1]["after_ms"] <= 500
    assert 500 <= told[2]["after_ms"] <= 1000
    assert time.monotonic() - began > told[1]["after_ms"] / 1000
    assert named(seen, "stopped")[0].fields["uncounted"] == 3


def test_a_process_that_is_stopped_alone_is_replaced(seen: list[Event], ends_on: Callable[[str], None]) -> None:
    ends_on("restarted")
    assert supervisor("listen()\nif first(): time.sleep(0.3)\nelse: serve()").run().status == 0
    assert named(seen, "restarted")[0].fields["status"] == 0


@pytest.mark.parametrize("processes", [1, 4])
def test_a_refusal_at_the_start_ends_all_and_is_reported_once(seen: list[Event], processes: int) -> None:
    ending = supervisor("refuse(69)", processes=processes).run()
    assert ending == Exit(status=69, text="error: no. Ask again.")
    assert seen == []


def test_a_process_refused_at_the_start_stops_the_others(seen: list[Event]) -> None:
    ending = supervisor("if first(): time.sleep(0.2); refuse(69)\nlisten(); serve()").run()
    assert ending == Exit(status=69, text="error: no. Ask again.")
    assert named(seen, "restarted") == []
    assert len(list(Path().glob("orders-*"))) == 1, "the other was told to stop"


def test_a_death_before_any_has_listened_ends_all_with_a_line(seen: list[Event]) -> None:
    ending = supervisor("os.kill(os.getpid(), signal.SIGSEGV)", processes=1).run()
    assert ending.status == 128 + signal.SIGSEGV
    assert ending.text.endswith("was killed by SIGSEGV before it listened.")
    ending = supervisor("os._exit(3)", processes=1).run()
    assert ending.status == 3
    assert ending.text.endswith("ended with status 3 before it listened.")


def test_a_process_refused_after_it_has_listened_is_replaced(seen: list[Event], ends_on: Callable[[str], None]) -> None:
    """The server is away, or the code was just edited: the others go on, and so will this one."""

    def kill_once(event: Event) -> None:
        if event.fields["status"] == 69:
            signals(signal.SIGTERM)(event)

    end = on("restarted", kill_once)
    ending = supervisor("if first(): listen(); time.sleep(0.1); os._exit(70)\nrefuse(69)", processes=1).run()
    end()
    assert ending.status == 0
    assert named(seen, "restarted")[1].fields["reason"] == "ended with status 69: no. Ask again."


def test_a_lasting_refusal_of_the_server_ends_all(seen: list[Event]) -> None:
    ending = supervisor("listen()\nif first(): time.sleep(0.3); refuse(69)\nserve()").run()
    assert ending == Exit(status=69, text="error: no. Ask again.")
    assert named(seen, "restarted") == []
    assert len(named(seen, "stopped")) == 1


def test_burst_ends_with_the_worst_status(seen: list[Event]) -> None:
    source = "listen(); tell('stopped', ran=3, failed=0, given_back=0)\nos._exit(70 if first() else 0)"
    assert supervisor(source, burst=True).run() == Exit(status=70)
    assert named(seen, "restarted") == []
    assert named(seen, "stopped")[0].fields["ran"] == 6


def test_a_process_that_does_not_end_is_killed_after_deadline_and_grace(
    seen: list[Event], ends_on: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.worker.supervisor.GRACE", 0.2)
    ends_on("listening")
    ending = supervisor("listen()\nwhile True: time.sleep(60)", deadline=timedelta(seconds=0.1)).run()
    assert ending.status == 128 + signal.SIGKILL
    assert named(seen, "stopping")[0].fields["running"] == 0
    assert named(seen, "stopped")[0].fields["uncounted"] == 2


def test_a_process_that_starts_meanwhile_is_quiet_too(seen: list[Event], ends_on: Callable[[str], None]) -> None:
    end = on("listening", signals(signal.SIGTSTP))
    ends_on("restarted")
    source = "listen()\nif first(): time.sleep(0.5); os._exit(1)\nserve()"
    supervisor(source).run()
    end()
    assert len(named(seen, "quiet")) == 1
    told = [file.read_text().split() for file in Path().glob("orders-*")]
    assert told.count(["quiet", "stop"]) >= 1


def test_a_port_that_is_taken_refuses_before_any_child_starts(seen: list[Event]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(errors.InvalidOptions, match="address already in use"):
            supervisor("first()", health=("127.0.0.1", taken.getsockname()[1])).run()
    assert not Path("begun").exists()


def test_a_child_has_a_session_of_its_own_and_no_terminal_input(
    seen: list[Event], ends_on: Callable[[str], None]
) -> None:
    ends_on("listening")
    source = "open('who', 'w').write(f'{os.getsid(0)} {os.getpid()} {sys.stdin.read()!r}'); listen(); serve()"
    supervisor(source, processes=1).run()
    session, pid, read = Path("who").read_text().split()
    assert session == pid
    assert read == "''"
    until(lambda: not is_alive(int(pid)))


CHILDS_END = """
import sys, time
from datetime import timedelta
from workkit.worker import listener_process as supervised

class Listener:
    def __getattr__(self, name):
        return lambda: print(name, flush=True)

supervised.GRACE = 0.2
supervised.Supervised(sys.argv[1]).obey(Listener(), deadline=timedelta(seconds=0.1))
time.sleep(60)
"""


def test_a_child_that_hangs_ends_all_the_same_when_its_supervisor_is_gone() -> None:
    orders, ours = os.pipe()
    theirs, reports = os.pipe()
    os.write(ours, b"quiet\nresume\nsto")
    command = [sys.executable, "-c", CHILDS_END, f"{orders},{reports}"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=(orders, reports),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        for end in (orders, reports, theirs):
            os.close(end)
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(2)] == ["quiet\n", "resume\n"], "those that came before, too"
        os.write(ours, b"p\n")
        assert child.stdout.readline() == "ask_to_stop\n"
        os.close(ours)
        assert child.stdout.readline() == "ask_to_stop\n"
        assert child.wait(15) == 1


@pytest.mark.parametrize(
    ("status", "words"), [(0, "ended with status 0"), (-9, "was killed by SIGKILL"), (-200, "was killed by signal 200")]
)
def test_an_end_in_words(status: int, words: str) -> None:
    assert how_it_ended(status) == words


def test_a_process_that_no_longer_answers_is_named_killed_and_replaced(
    seen: list[Event], ends_on: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_process, "GRACE", 2.0)
    ends_on("restarted")
    answers = """
for line in os.fdopen(orders) if not first() else ():
    if line == "alive\\n": tell("alive")
    if line == "stop\\n": sys.exit()
time.sleep(60)
"""
    fleet = supervisor("listen()" + answers, stuck_after=timedelta(seconds=2))
    lives: list[str | None] = []
    unsubscribe = on("stuck", lambda event: lives.append(fleet.dead()))
    try:
        fleet.run()
    finally:
        unsubscribe()
    (stuck,), (restarted,) = named(seen, "stuck"), named(seen, "restarted")
    assert lives == [stuck.fields["reason"]]
    assert stuck.fields["reason"] == f"process {restarted.fields['pid']} has not answered for 4 s"
    assert restarted.fields["status"] == -signal.SIGKILL
