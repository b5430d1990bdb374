"""Handlers in worker processes: what they see there, what ends them, what remains."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import cpu
from tests.metronome import Metronome
from tests.processes import Process, Processes, is_alive, parent_of, until
from tests.servers import Server
from tests.worker.observation import named
from workkit import schedule
from workkit.events import Event
from workkit.worker.run.run import JobLogFilter

HOW: dict[str, Any] = {"imports": ["tests.cpu"], "folder": None}


def lines(folder: Path) -> dict[int, list[str]]:
    """The whole lines that each process has written, of those that have written one."""
    texts = {int(file.name): file.read_text() for file in folder.iterdir() if file.name.isdigit()}
    return {pid: text[: text.rindex("\n")].splitlines() for pid, text in texts.items() if "\n" in text}


def only(folder: Path) -> list[str]:
    """What the only process has said, once it has said anything."""
    (said,) = until(lambda: lines(folder)).values()
    return said


def test_two_runs_overlap_and_their_processes_are_used_again(
    s: schedule.Schedule, seen: list[Event], tmp_path: Path
) -> None:
    with schedule.listener(s, threads=2, **HOW):
        for _ in range(2):
            schedule.add_now(s, cpu.meet, args=[str(tmp_path), 2])
        until(lambda: len(named(seen, "done")) == 2)
        for _ in range(3):
            schedule.add_now(s, cpu.burn, args=[str(tmp_path), 0.01])
        until(lambda: len(named(seen, "done")) == 5)
        said = lines(tmp_path)
        assert len(said) == 2
        assert os.getpid() not in said
        assert all(is_alive(pid) and os.getpgid(pid) == pid for pid in said)
    assert not any(parent_of(pid) for pid in said)  # nor is one left as a zombie


@pytest.mark.parametrize("fn", [cpu.look, cpu.look_async])
def test_a_run_is_as_it_is_elsewhere(server: Server, seen: list[Event], tmp_path: Path, fn: Any) -> None:
    watched = schedule.create(cpu.watched.name, redis=server.url)
    with schedule.listener(watched, **HOW):
        job = schedule.add_now(watched, fn, args=[str(tmp_path)])
        until(lambda: named(seen, "done") or named(seen, "failed"))
    said = only(tmp_path)
    if fn is cpu.look:
        assert said == [f"{job.id} #'tests.cpu/look 0 set around True", "around [0, 'handler']"]
    else:
        assert said == [f"{job.id} set around", "around a coroutine", "around [0]"]


def test_middleware_decides_on_errors_there(server: Server, seen: list[Event], tmp_path: Path) -> None:
    watched = schedule.create(cpu.watched.name, redis=server.url)
    with schedule.listener(watched, **HOW):
        schedule.add_now(watched, cpu.fail, args=[str(tmp_path), "own"])
        (discarded,) = until(lambda: named(seen, "discarded"))
    assert discarded.fields["reason"] == "as told around"


def test_middleware_that_a_process_cannot_find_is_an_error(
    s: schedule.Schedule, seen: list[Event], tmp_path: Path
) -> None:
    @s.middleware
    def hidden() -> Iterator[None]:
        yield

    with schedule.listener(s, **HOW):
        schedule.add_now(s, cpu.look, args=[str(tmp_path)])
        (failed,) = until(lambda: named(seen, "failed"))
    assert failed.fields["error_type"] == "InvalidFunction"
    assert "hidden is not registered where tests.worker.test_offload is imported" in failed.fields["error"]


@pytest.mark.parametrize(
    ("kind", "attempts", "outcome", "error"),
    [
        ("own", 1, "discarded", None),
        ("os", 4, "dead", ("OSError", "[Errno 5] disk full")),
        ("two", 4, "dead", ("Unusual", "one and two")),
    ],
)
def test_errors_come_back_as_themselves(
    s: schedule.Schedule,
    seen: list[Event],
    tmp_path: Path,
    kind: str,
    attempts: int,
    outcome: str,
    error: tuple[str, str] | None,
) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, cpu.fail, args=[str(tmp_path), kind])
        (ended,) = until(lambda: named(seen, outcome))
    assert sum(map(len, lines(tmp_path).values())) == attempts
    if error is not None:
        assert (ended.fields["error_type"], ended.fields["error"]) == error
        assert ended.fields["where"].startswith("cpu.py:")
        trace = ended.fields["traceback"]
        assert "in fail\n    raise errors[kind]" in trace
        assert "workkit/worker/" not in trace


def test_arguments_that_do_not_fit_end_it_there_too(s: schedule.Schedule, seen: list[Event], tmp_path: Path) -> None:
    with schedule.listener(s, keep_unfit="0s", **HOW):
        schedule.add_now(s, "tests.cpu:typed", args=[str(tmp_path), "7"], retries=5)
        schedule.add_now(s, "tests.cpu:typed", args=[str(tmp_path)], retries=5)
        failed = until(lambda: (found := named(seen, "dead"))[1:] and found)
    assert sorted(event.fields["error"] for event in failed) == [
        "typed(folder, number) takes 2 arguments; args has 1.",
        "typed(folder, number): number='7' is a str, and number is annotated int.",
    ]


def test_a_timeout_kills_the_process_and_what_it_started(
    s: schedule.Schedule, seen: list[Event], tmp_path: Path, machine: Metronome
) -> None:
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, cpu.hang, args=[str(tmp_path)], timeout="0.3s")
        (failed,) = until(lambda: named(seen, "failed"))
        (line,) = only(tmp_path)
        until(lambda: not any(is_alive(int(pid)) for pid in line.split()))
        schedule.add_now(s, cpu.burn, args=[str(tmp_path), 0.01])
        until(lambda: named(seen, "done"))
    assert failed.fields["error_type"] == "JobTimeout"
    assert failed.fields["error"] == "took longer than its timeout of 0.3 s"
    assert 300 <= failed.fields["took_ms"] < 3000 + 1000 * machine.slack


def test_a_run_extends_its_time_from_there(s: schedule.Schedule, seen: list[Event], tmp_path: Path) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, cpu.extend, args=[str(tmp_path), 0.8])
        until(lambda: named(seen, "done") or named(seen, "failed"))
    assert named(seen, "done")


def test_cancelling_kills_the_process(s: schedule.Schedule, seen: list[Event], tmp_path: Path) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, cpu.hang, args=[str(tmp_path)], retries=3)
        (line,) = only(tmp_path)
        schedule.cancel(s, job)
        (discarded,) = until(lambda: named(seen, "discarded"))
        until(lambda: not any(is_alive(int(pid)) for pid in line.split()))
    assert discarded.fields["reason"] == "cancelled"
    assert schedule.counts(s).dead == 0


@pytest.mark.parametrize(
    ("how", "said"), [("exit", "ended with status 3"), ("segfault", "was killed by SIGSEGV")], ids=str
)
def test_a_process_that_dies_fails_its_run(
    s: schedule.Schedule, seen: list[Event], tmp_path: Path, how: str, said: str
) -> None:
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, cpu.fall, args=[str(tmp_path), how], retries=1, base="0s")
        (dead,) = until(lambda: named(seen, "dead"))
        first, second = lines(tmp_path).values()
        assert sorted([*first, *second]) == ["0", "1"]  # another process for the other attempt
    assert dead.fields["error_type"] == "WorkerLost"
    assert dead.fields["error"].endswith(f" {said} in the middle of the run.")
    assert dead.fields["error"].startswith("worker process ")


def test_progress_is_passed_on_and_cheap(s: schedule.Schedule, seen: list[Event], tmp_path: Path) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, cpu.count, args=[str(tmp_path), 20_000])
        until(lambda: schedule.job(s, job).progress == "counted")
        (took,) = only(tmp_path)
        (tmp_path / "go on").touch()
        until(lambda: named(seen, "done"))
    assert float(took) / 20_000 < 20e-6


def listener_in_a_process(processes: Processes, s: schedule.Schedule, server: Server) -> Process:
    listening = processes.workkit("listen", s.name, "--redis", server.url, "--import", "tests.cpu")
    listening.wait_for("listening")
    return listening


def test_the_death_of_the_listener_leaves_no_process(
    server: Server, s: schedule.Schedule, processes: Processes, tmp_path: Path
) -> None:
    listening = listener_in_a_process(processes, s, server)
    busy, idle = tmp_path / "busy", tmp_path / "idle"
    busy.mkdir()
    idle.mkdir()
    for folder, fn, args in ((idle, cpu.burn, [0.3]), (busy, cpu.hang, [])):
        schedule.add_now(s, fn, args=[str(folder), *args])
    (line,) = only(busy)
    pids = [*map(int, line.split()), *until(lambda: lines(idle))]
    assert all(is_alive(pid) for pid in pids)
    listening.send(signal.SIGKILL)
    until(lambda: not any(is_alive(pid) for pid in pids))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux sends a signal at the end of a pipe")
@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGTERM]], ids=["killed", "second TERM"])
def test_the_death_of_the_listener_ends_a_process_whose_interpreter_is_kept(
    server: Server, s: schedule.Schedule, processes: Processes, tmp_path: Path, signals: list[signal.Signals]
) -> None:
    listening = listener_in_a_process(processes, s, server)
    schedule.add_now(s, cpu.keep, args=[str(tmp_path)])
    (line,) = only(tmp_path)
    pids = [*map(int, line.split())]
    assert all(is_alive(pid) for pid in pids)
    for number in signals:
        listening.send(number)
        if number is signal.SIGTERM:
            listening.wait_for(" stopping ")
    try:
        until(lambda: not any(is_alive(pid) for pid in pids), timeout=10)
    finally:
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGKILL)
    assert listening.wait() == (-signal.SIGKILL if len(signals) == 1 else 143)


def test_signals_are_for_the_listener_to_decide_on(
    server: Server, s: schedule.Schedule, processes: Processes, tmp_path: Path
) -> None:
    listening = listener_in_a_process(processes, s, server)
    schedule.add_now(s, cpu.burn, args=[str(tmp_path), 0.01])
    (pid,) = until(lambda: lines(tmp_path))
    assert os.getsid(pid) != os.getsid(listening.pid)  # a Ctrl-C does not reach it
    schedule.add_now(s, cpu.meet, args=[str(tmp_path), 2])
    until(lambda: len(lines(tmp_path)[pid]) == 2)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    listening.send(signal.SIGTERM)
    (tmp_path / "go").touch()
    assert listening.wait() == 0
    assert list(schedule.jobs(s)) == []  # it ended in time
    assert not is_alive(pid)


MAIN = """
from workkit import current_job, events, job, schedule
s = schedule.create({name!r}, redis={url!r})

@s.middleware
def around():
    print("around", current_job().fn, flush=True)
    yield

class Own(Exception):
    pass

@job(cpu=True, discard_on=Own)
def square(n: int) -> None:
    print("squared", n * n, __name__, flush=True)
    raise Own("enough")

{guard}
    events.subscribe(lambda event: print(event.name, event.fields.get("reason"), flush=True))
    schedule.add_now(s, square, args=[12])
    schedule.listen(s)
"""


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ('if __name__ == "__main__":', ["around #'app/square", "squared 144 app", "discarded Own: enough"]),
        ("if True:", ["cannot_run .* importing app there failed: schedule.add_now was called at app.py:20 while"]),
    ],
    ids=["guarded", "unguarded"],
)
def test_functions_of_the_main_program_run_too_or_say_why_not(
    server: Server, name: str, processes: Processes, tmp_path: Path, guard: str, expected: list[str]
) -> None:
    (tmp_path / "app.py").write_text(MAIN.format(name=name, url=server.url, guard=guard))
    main = processes.run(sys.executable, "app.py")
    for pattern in expected:
        main.wait_for(pattern)
    main.send(signal.SIGTERM)
    assert main.wait() == 0


def test_more_runs_than_processes_wait_and_can_be_cancelled(
    s: schedule.Schedule, seen: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with schedule.listener(s, threads=3, **HOW):
        first = schedule.add_now(s, cpu.hang, args=[str(tmp_path)])
        only(tmp_path)
        second = schedule.add_now(s, cpu.burn, args=[str(tmp_path), 0.01], timeout="0.5s")
        third = schedule.add_now(s, cpu.burn, args=[str(tmp_path), 0.01])
        until(lambda: schedule.counts(s).running == 3)
        schedule.cancel(s, third)
        until(lambda: named(seen, "discarded"))
        time.sleep(0.6)  # the time of the second is not counted while it waits
        schedule.cancel(s, first)
        until(lambda: named(seen, "done"))
    assert [event.fields["job"].id for event in named(seen, "done")] == [second.id]
    assert {event.fields["job"].id for event in named(seen, "discarded")} == {first.id, third.id}
    assert not named(seen, "failed")


def test_a_log_line_of_a_worker_process_reaches_the_logging_of_the_listener(
    s: schedule.Schedule, seen: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.handler.addFilter(told := JobLogFilter())
    with schedule.listener(s, **HOW):
        jobs = [schedule.add_now(s, cpu.log, args=[text]) for text in ("first", "second")]
        until(lambda: len(named(seen, "done")) == 2)
    caplog.handler.removeFilter(told)
    lines = [record for record in caplog.records if record.name == "tests.cpu"]
    assert sorted(record.getMessage() for record in lines) == ["computing first", "computing second"]
    assert {vars(record)["job_id"] for record in lines} == {job.id for job in jobs}
    assert {vars(record)["place"] for record in lines} == {7}
    assert os.getpid() not in {record.process for record in lines}
