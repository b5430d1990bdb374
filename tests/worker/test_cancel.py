"""Cancelling a job that runs: threads and coroutines are interrupted, others are not hit, and what was cancelled is
over, whoever dies meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.metronome import Metronome
from tests.processes import Process, Processes, until
from tests.servers import Server
from tests.worker.observation import named
from workkit import Retry, current_job, job, schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.record import MARKED_MS, MARKS, heard_upto
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim, ListenerInfo
from workkit.errors import JobCancelled, JobTimeout
from workkit.events import Event
from workkit.jobs.job import Job
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.worker import lane, loop
from workkit.worker.executor import Executor
from workkit.worker.lane import Lane, LaneRun
from workkit.worker.run.run import Run

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
INFO = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1)
calls: list[Any] = []
gate = threading.Event()


def note(value: Any) -> None:
    calls.append(value)


@job(retries=5, base="0s")
def spin(seconds: float) -> None:
    calls.append("begun")
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            pass
        calls.append("got through")
    finally:
        calls.append("cleaned up")


@job(retries=5, base="0s")
async def wait_async(seconds: float) -> None:
    calls.append("begun")
    try:
        await asyncio.sleep(seconds)
        calls.append("got through")
    finally:
        calls.append("cleaned up")


async def tidy_slowly() -> None:
    """Once it is cancelled, go on until the gate is open."""
    calls.append("begun")
    try:
        await asyncio.sleep(20)
    finally:
        while not gate.is_set():
            await asyncio.sleep(0.001)


def sleep_in_one(seconds: float) -> None:
    calls.append("begun")
    time.sleep(seconds)
    calls.append("got through")


def ignore() -> None:
    """Go on after the interruption, and ask whether to."""
    calls.append("begun")
    with suppress(JobCancelled):
        while True:
            time.sleep(0.001)
    for ask in (current_job().checkin, current_job().extend):
        try:
            ask("1s")
        except JobCancelled:
            calls.append("told")
    gate.wait(20)


@job(retries=5, base="0s")
def stumble(answer: str) -> None:
    calls.append("begun")
    try:
        while True:
            time.sleep(0.001)
    finally:
        raise Retry if answer == "Retry" else OSError("disk full")


@job(timeout="0.2s")
def outlast_its_timeout() -> None:
    with suppress(JobTimeout):
        while True:
            time.sleep(0.001)
    calls.append("begun")
    while True:
        time.sleep(0.001)


def wait_for_gate(value: Any) -> None:
    calls.append(value)
    gate.wait(20)


@job(retries=1, base="1s", jitter=False)
def fail_first() -> None:
    calls.append("begun")
    raise OSError("not yet")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    calls.clear()
    gate.clear()
    yield
    gate.set()


@pytest.fixture
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let listeners beat more often than they do, so that they hear sooner."""
    monkeypatch.setattr(loop, "TICK", 0.1)
    monkeypatch.setattr(lane, "TICK", 0.1)


def begun(n: int = 1) -> None:
    until(lambda: calls.count("begun") >= n)


@pytest.mark.parametrize("fn", [spin, wait_async], ids=["function", "coroutine"])
def test_a_cancelled_run_ends_and_is_over(s: schedule.Schedule, seen: list[Event], fn: Any, machine: Metronome) -> None:
    with schedule.listener(s, threads=1, **HOW):
        job = schedule.add_now(s, fn, args=[20])
        begun()
        began = time.monotonic()
        assert schedule.cancel(s, job).state == "cancelling"
        assert [job.state for job in schedule.jobs(s)] == ["cancelling"]
        (discarded,) = until(lambda: named(seen, "discarded"))
        assert time.monotonic() - began < 2.5 + machine.slack
        schedule.add_now(s, note, args=["the thread is free"])
        until(lambda: "the thread is free" in calls)
        until(lambda: not schedule.counts(s).running)
    assert discarded.fields["reason"] == "cancelled"
    assert calls == ["begun", "cleaned up", "the thread is free"]
    assert schedule.counts(s).totals == {"discarded": 1, "done": 1}
    assert not list(schedule.jobs(s))


@pytest.mark.usefixtures("prompt")
def test_a_call_that_cannot_be_interrupted_ends_first(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, threads=1, **HOW):
        job = schedule.add_now(s, sleep_in_one, args=[0.5])
        begun()
        schedule.cancel(s, job)
        (discarded,) = until(lambda: named(seen, "discarded"))
    assert discarded.fields["reason"] == "cancelled"
    assert calls == ["begun"]


@pytest.mark.usefixtures("prompt")
def test_a_run_that_returns_all_the_same_is_done(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, ignore)
        begun()
        schedule.cancel(s, job)
        until(lambda: calls.count("told") == 2)
        assert [job.state for job in schedule.jobs(s)] == ["cancelling"]
        gate.set()
        until(lambda: named(seen, "done"))
        until(lambda: not schedule.counts(s).running)
    assert schedule.counts(s).totals == {"done": 1}


@pytest.mark.usefixtures("prompt")
@pytest.mark.parametrize(
    ("answer", "reason"), [("error", r"cancelled, OSError: disk full \(test_cancel.py:\d+\)"), ("Retry", "cancelled")]
)
def test_a_cancelled_run_reports_its_other_error_and_is_not_retried(
    s: schedule.Schedule, seen: list[Event], answer: str, reason: str
) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, stumble, args=[answer])
        begun()
        schedule.cancel(s, job)
        (discarded,) = until(lambda: named(seen, "discarded"))
        until(lambda: not schedule.counts(s).running)
    assert re.fullmatch(reason, discarded.fields["reason"])
    assert calls == ["begun"]
    assert not list(schedule.jobs(s))


@pytest.mark.usefixtures("prompt")
def test_a_run_that_outlasts_its_timeout_can_be_cancelled(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, outlast_its_timeout)
        begun()
        schedule.cancel(s, job)
        (discarded,) = until(lambda: named(seen, "discarded"))
    assert discarded.fields["reason"] == "cancelled"


@pytest.mark.usefixtures("prompt")
def test_of_a_recurring_job_one_occurrence_can_be_cancelled(
    s: schedule.Schedule, server: Server, name: str, seen: list[Event]
) -> None:
    schedule.add(s, tidy_slowly, every="second")
    with schedule.listener(s, deadline="0s", **HOW) as listener:
        begun(2)
        first, second = sorted(listener._loop._router.runs(), key=lambda run: run.claim.due_ms)[:2]
        server.client().zadd(f"{name}:cancelled", {first.claim.occurrence: time.time() * 1000 + 1000})
        states = {job.due: job.state for job in schedule.jobs(s) if job.state in ("running", "cancelling")}
        assert [state for _, state in sorted(states.items())][:2] == ["cancelling", "running"]
        gate.set()
        until(lambda: named(seen, "discarded"))
        assert (first.cancelled, second.cancelled) == (True, False)
        assert first not in listener._loop._runner.held
        assert second in listener._loop._runner.held


@pytest.mark.usefixtures("prompt")
def test_a_cancelled_job_that_waits_for_another_attempt_does_not_run(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, fail_first)
        until(lambda: [job.state for job in schedule.jobs(s)] == ["retrying"])
        schedule.cancel(s, job)
        until(lambda: named(seen, "cancelled"))
        until(lambda: not schedule.counts(s).running)
    assert calls == ["begun"]
    assert not list(schedule.jobs(s))


def test_a_run_by_hand_of_a_cancelled_job_is_told_as_cancelled(s: schedule.Schedule, seen: list[Event]) -> None:
    job = schedule.add(s, note, every="day at 9am", args=["called"])
    schedule.run(s, job)
    schedule.cancel(s, job)
    schedule.drain(s, **HOW)
    assert (len(named(seen, "cancelled")), named(seen, "missing")) == (1, [])
    assert (calls, list(schedule.jobs(s))) == ([], [])


def test_a_cancelled_claim_that_no_thread_has_begun_is_not_called(server: Server, name: str, seen: list[Event]) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, note, args=["called"])
    broker = NativeBroker(connect(server.url), schedule=name)
    broker.register(INFO)
    run = LaneRun(broker.claim(1).claims[0], Lane(broker))
    run.cancel()
    executor = Executor(Registry(imports=(__name__,), folder=None))
    executor.registry.load()
    executor.run(run)
    executor.close()
    assert calls == []
    assert isinstance(run.error, JobCancelled)


def test_heartbeats_repeat_a_cancellation_for_a_while(server: Server, name: str) -> None:
    """The listener's answer to an earlier claim may not have been read when it first hears of it."""
    s = schedule.create(name, redis=server.url)
    broker = NativeBroker(connect(server.url), schedule=name)
    broker.register(INFO)
    job = schedule.add_now(s, note, args=[1])
    broker.claim(1)
    schedule.cancel(s, job)
    assert [broker.beating()().cancelled for _ in range(2)] == [{job.id}, {job.id}]


@pytest.mark.parametrize(
    ("marks", "before", "upto"),
    [
        ([], 0, 500_000 - MARKED_MS),
        ([b"a", b"490000"], 0, 500_000 - MARKED_MS),
        ([], 480_000, 480_000),
        ([b"a", b"490000"] * MARKS, 0, 489_999),
        ([b"a", b"490000"] * MARKS, 489_999, 490_000),
    ],
)
def test_many_cancellation_marks_are_delivered_in_order_over_several_beats(
    marks: list[bytes], before: int, upto: int
) -> None:
    assert heard_upto(marks, 500_000, before=before) == upto


LISTENER = """
import sys, time
from workkit import events, schedule
def work(n):
    print("begun", n, flush=True)
    while True:
        time.sleep(0.01)
def say(event):
    job = event.fields.get("job")
    print(event.name, *([job.id] if job else []), file=sys.stderr, flush=True)
if __name__ == "__main__":
    events.subscribe(say)
    s = schedule.create(sys.argv[1], redis=sys.argv[2])
    schedule.listen(s, threads=1, deadline="0s", listener_timeout="5s")
"""


@pytest.fixture
def listeners(processes: Processes, server: Server, name: str) -> list[Process]:
    """Two, each of which can run one job at a time."""
    (processes.folder / "app.py").write_text(LISTENER)
    started = [processes.run(sys.executable, "app.py", name, server.url) for _ in range(2)]
    for process in started:
        process.wait_for("listening")
    return started


def test_the_listener_that_runs_the_job_receives_the_cancellation(
    s: schedule.Schedule, listeners: list[Process]
) -> None:
    jobs = [schedule.add_now(s, "app:work", args=[n]) for n in range(2)]
    until(lambda: sum(len(one.out) for one in listeners) == 2)
    cancelled, other = sorted(listeners, key=lambda one: one.out)
    assert (cancelled.out, other.out) == (["begun 0"], ["begun 1"])
    assert schedule.cancel(s, jobs[0]).state == "cancelling"
    cancelled.wait_for(f"discarded {jobs[0].id}")
    until(lambda: [(job.id, job.state) for job in schedule.jobs(s)] == [(jobs[1].id, "running")])
    assert other.is_running


def test_a_cancelled_job_whose_listener_dies_does_not_run_again(s: schedule.Schedule, listeners: list[Process]) -> None:
    job = schedule.add_now(s, "app:work", args=[0])
    until(lambda: any(one.out for one in listeners))
    other, dying = sorted(listeners, key=lambda one: one.out)
    dying.send(signal.SIGSTOP)  # it must not hear of it
    assert schedule.cancel(s, job).state == "cancelling"
    dying.send(signal.SIGKILL)
    other.wait_for(f"cancelled {job.id}")
    until(lambda: not list(schedule.jobs(s)))
    assert other.out == []


def busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("options", [UNSAID, RunOptions(timeout_ms=1)], ids=["", "with a timeout"])
def test_nothing_is_raised_after_the_end_of_a_run(options: RunOptions) -> None:
    executor = Executor(Registry(imports=(__name__,), folder=None))
    executor.registry.load()
    ended: list[BaseException | None] = []
    struck: list[BaseException] = []

    def race(n: int) -> None:
        """A run that is cancelled, and takes too long, as near to its end as can be."""
        lasts = 0.001 + (n % 11 - 5) * 1e-5
        claim = Claim(
            None, lambda _: Job(id="x", schedule="s", fn="?"), "x", f"#'{__name__}/busy", [lasts], 0, None, options
        )
        run = Run(claim)

        def cancel() -> None:
            while not run.started:
                time.sleep(0)
            busy(lasts - 1e-5)
            run.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        try:
            executor.run(run)
            ended.append(run.error)
            while canceller.is_alive():
                time.sleep(0)
        except (JobCancelled, JobTimeout) as late:
            struck.append(late)
        canceller.join()

    for n in range(300):
        race(n)
    executor.close()
    assert struck == []
    assert len(ended) == 300
