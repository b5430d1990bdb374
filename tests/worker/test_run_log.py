"""What runs log: seen while they run and after they failed, bounded, and written with few requests."""

from __future__ import annotations

import asyncio
import io
import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import redirect_stderr
from typing import Any

import pytest

from tests import logging_handlers as handlers
from tests.processes import Processes, until
from tests.servers import Server
from workkit import aio, schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.errors import NotFound, Unsupported
from workkit.worker.run.running_job import LONGEST_LINE, MOST_BYTES, MOST_LINES, RunLog, lines_of

HOW: dict[str, Any] = {"imports": ["tests.logging_handlers"], "folder": None}
Told = list[list[Any]]


@pytest.fixture
def s(server: Server, name: str) -> Iterator[schedule.Schedule]:
    handlers.gate.clear()
    logging.getLogger("shop").setLevel(logging.INFO)
    yield schedule.create(name, redis=server.url)
    handlers.gate.set()
    logging.getLogger("shop").setLevel(logging.NOTSET)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What was written of each run that has logged."""
    seen: Told = []
    tell = NativeBroker.tell

    def noted(self: NativeBroker, said: Any, logs: Any = ()) -> None:
        seen.append([text for _, text in logs])
        tell(self, said, logs)

    monkeypatch.setattr(NativeBroker, "tell", noted)
    return seen


def texts(lines: list[str]) -> list[str]:
    """The lines without their times."""
    return [line.partition(" ")[2] for line in lines]


def logs(server: Server, s: schedule.Schedule) -> dict[bytes, bytes]:
    return dict(server.client().hgetall(f"{s.name}:logs"))


@pytest.mark.parametrize("fn", ["work", "work_async", "work_elsewhere"])
def test_lines_of_a_run_are_read_while_it_runs_and_removed_when_it_is_done(
    server: Server, s: schedule.Schedule, fn: str
) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, getattr(handlers, fn), args=[3])
        wanted = ["INFO shop: step 0", "INFO shop: step 1", "INFO shop: step 2"]
        lines = until(lambda: found if len(found := schedule.log(s, job)) == 3 else [], what="the lines")
        assert texts(lines) == wanted
        assert lines[0][:2] == "20"
        assert lines[0].partition(" ")[0].endswith("Z")
        handlers.gate.set()
        until(lambda: schedule.counts(s).running == 0 and not logs(server, s), what="the end")
    assert schedule.log(s, schedule.job(s, job)) == []


def test_lines_of_a_failed_run_stay_with_its_record_and_with_the_dead_job(server: Server, s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.fail_each_time, retries=1, base="0s")
    schedule.drain(s, raise_errors=False, **HOW)
    assert [texts(schedule.log(s, run)) for run in schedule.runs(s)] == [
        ["WARNING shop: attempt 1 fails"],
        ["WARNING shop: attempt 0 fails"],
    ]
    (dead,) = schedule.dead(s)
    assert texts(schedule.log(s, dead)) == texts(schedule.log(s, job)) == ["WARNING shop: attempt 1 fails"]
    assert asyncio.run(aio.log(s, dead)) == schedule.log(s, dead)
    assert 0 < server.client().ttl(f"{s.name}:logs") <= 90 * 86_400
    schedule.discard(s, dead)
    assert [texts(schedule.log(s, run)) for run in schedule.runs(s)] == [[], ["WARNING shop: attempt 0 fails"]]


def test_a_job_that_waits_for_its_next_attempt_shows_the_lines_of_the_last(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.fail_each_time, retries=1, base="1h")
    schedule.drain(s, raise_errors=False, **HOW)
    assert schedule.job(s, job).state == "retrying"
    assert texts(schedule.log(s, job)) == ["WARNING shop: attempt 0 fails"]


def test_each_failed_run_of_a_recurring_job_has_its_own_lines(s: schedule.Schedule) -> None:
    schedule.add(s, handlers.fail_each_time, every="hour", name="hourly")
    for _ in range(2):
        schedule.run(s, "hourly")
        schedule.drain(s, raise_errors=False, **HOW)
    runs = schedule.runs(s, "hourly")
    assert len({schedule.log(s, run)[0] for run in runs}) == 2
    assert schedule.log(s, "hourly") == schedule.log(s, runs[0])


def test_lines_of_a_worker_process_are_kept_too(s: schedule.Schedule) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.fail_in_a_process, args=[3])
        (dead,) = until(lambda: list(schedule.dead(s)), what="the failure")
    said = texts(schedule.log(s, dead))
    assert said[:3] == ["WARNING shop: step 0", "WARNING shop: step 1", "WARNING shop: step 2"]
    assert said[3] == "ERROR shop: it fails"
    assert said[4] == "(most recent call last):"
    assert schedule.log(s, dead)[-1] == "OSError: disk full"


def test_lines_of_a_run_that_is_discarded_or_waits_are_not_kept(server: Server, s: schedule.Schedule) -> None:
    jobs = [schedule.add_now(s, handlers.answer, args=[how]) for how in ("discard", "retry")]
    with schedule.listener(s, **HOW):
        until(lambda: [run.ending for run in schedule.runs(s)] == ["discarded"], what="the end of the one")
        until(lambda: schedule.job(s, jobs[1]).state == "waiting", what="the end of the other")
        until(lambda: not logs(server, s), what="the end of their lines")


def test_a_job_that_logs_nothing_writes_nothing(server: Server, s: schedule.Schedule, told: Told) -> None:
    for n in range(20):
        schedule.add_now(s, handlers.quiet, args=[n])
    with schedule.listener(s, **HOW):
        until(lambda: schedule.counts(s).due + schedule.counts(s).running == 0, what="the runs")
    assert told == []
    assert server.client().exists(f"{s.name}:logs") == 0


def test_many_lines_are_written_once_a_second(s: schedule.Schedule, told: Told) -> None:
    began = time.monotonic()
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.work, args=[5_000])
        until(lambda: any("step 4999" in text for texts in told for text in texts), what="the last line")
        assert len(told) <= 2 + time.monotonic() - began
        handlers.gate.set()


def test_the_last_200_lines_and_16_kb_are_kept() -> None:
    log = RunLog()
    log.add(f"{n}" for n in range(1000))
    assert log.text().split("\n") == [str(n) for n in range(1000 - MOST_LINES, 1000)]
    log.add(["é" * 900] * 50)
    assert MOST_BYTES - 1802 < len(log.text().encode()) <= MOST_BYTES


def test_news_are_the_lines_since_the_last_call() -> None:
    log = RunLog()
    log.add(["a", "b"])
    assert (log.news(), log.news()) == (["a", "b"], [])
    log.add(map(str, range(500)))
    assert log.news() == [str(n) for n in range(500 - MOST_LINES, 500)]


def test_long_and_broken_lines_are_cut_and_split() -> None:
    record = logging.LogRecord("shop", logging.INFO, "f.py", 1, "one\ntwo \ud800 %s", ("x" * 5000,), None)
    first, second = lines_of(record)
    assert first.endswith(" INFO shop: one")
    assert second.startswith("two \\ud800 xxx")
    assert len(second) <= LONGEST_LINE + 5


def test_a_line_that_cannot_be_written_fails_no_job(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.log_badly)
    assert schedule.drain(s, **HOW).ran == 1


def test_an_interruption_reaches_a_handler_that_does_nothing_but_log(s: schedule.Schedule) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.log_for_ever, timeout="1s")
        (dead,) = until(lambda: list(schedule.dead(s)), what="the timeout")
    assert dead.failure is not None
    assert dead.failure.type == "JobTimeout"
    assert len(schedule.log(s, dead)) > 50


def test_logging_stays_as_its_program_has_it(s: schedule.Schedule) -> None:
    """No handler is added: `basicConfig` still does its work, and Python prints warnings where there is none."""
    root = logging.root
    before, level = root.handlers[:], root.level
    schedule.add_now(s, handlers.quiet, args=[1])
    schedule.drain(s, **HOW)
    assert (root.handlers, root.level) == (before, level)
    root.handlers[:] = []
    try:
        with redirect_stderr(io.StringIO()) as printed:
            logging.lastResort, kept = logging._StderrHandler(logging.WARNING), logging.lastResort  # type: ignore[attr-defined]
            schedule.add_now(s, handlers.fail_each_time)
            schedule.drain(s, raise_errors=False, **HOW)
        assert "attempt 0 fails" in printed.getvalue()
    finally:
        root.handlers[:], logging.lastResort = before, kept


def test_records_outside_a_run_and_of_the_listener_are_in_no_log(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.log_beside)
    schedule.drain(s, raise_errors=False, **HOW)
    logging.getLogger("shop").warning("outside")
    assert texts(schedule.log(s, job)) == ["WARNING shop: mine"]


def test_unknown_jobs_and_other_layouts_are_refused(server: Server, s: schedule.Schedule, name: str) -> None:
    with pytest.raises(NotFound):
        schedule.log(s, "nothing")
    other = schedule.create(f"{name}_go", redis=server.url, layout="gocraft")
    job = schedule.add_now(other, "clean", kwargs={})
    with pytest.raises(Unsupported, match="native"):
        schedule.log(other, job)


def test_a_key_that_is_no_hash_of_logs_stops_no_job(server: Server, s: schedule.Schedule) -> None:
    client = server.client()
    client.set(f"{s.name}:logs", "text")
    job = schedule.add_now(s, handlers.fail_each_time)
    schedule.drain(s, raise_errors=False, **HOW)
    assert [dead.id for dead in schedule.dead(s)] == [job.id]
    assert schedule.log(s, job) == []
    client.delete(f"{s.name}:logs")
    (dead,) = schedule.dead(s)
    for value in ("", "text", "12", "x y", b"\xff \xff"):
        client.hset(f"{s.name}:logs", f"{dead.dead_id}.0", value)
        assert schedule.log(s, dead) == []


def test_the_oldest_lines_make_room(server: Server, s: schedule.Schedule) -> None:
    client = server.client()
    client.hset(f"{s.name}:logs", mapping={f"{n}@1.0": f"{n} old" for n in range(5000)})
    job = schedule.add_now(s, handlers.fail_each_time)
    schedule.drain(s, raise_errors=False, **HOW)
    assert client.hlen(f"{s.name}:logs") == 5000
    assert texts(schedule.log(s, job)) == ["WARNING shop: attempt 0 fails"]


def test_shards_have_their_own_logs(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    jobs = [schedule.add_now(s, handlers.fail_each_time, kwargs={"n": n}) for n in range(6)]
    schedule.drain(s, raise_errors=False, **HOW)
    assert [len(schedule.log(s, job)) for job in jobs] == [1] * 6


def test_a_listener_that_is_killed_leaves_the_lines_of_its_run(
    server: Server, s: schedule.Schedule, processes: Processes
) -> None:
    listening = processes.workkit("listen", s.name, "--redis", server.url, "--import", "tests.logging_handlers")
    listening.wait_for("listening")
    job = schedule.add_now(s, handlers.work_for_ever)
    until(lambda: schedule.log(s, job), what="the lines")
    assert texts(schedule.log(s, job)) == ["INFO shop: step 0"], "a listener of its own lets INFO through"
    listening.send(signal.SIGKILL)
    assert texts(schedule.log(s, job)) == ["INFO shop: step 0"]


def test_lines_of_threads_of_one_run_are_all_kept() -> None:
    log = RunLog()

    def add_some() -> None:
        for _ in range(40):
            log.add(["x"])

    threads = [threading.Thread(target=add_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.text().split("\n")) == 160
