"""A listener inside a program tells the standard logger `workkit` what it does; `workkit listen` prints it instead."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import HOW
from workkit import aio, events, job, schedule, wire
from workkit.schedule import Schedule

PROGRAM = """
import sys
import time
from workkit import schedule

def export(row):
    raise OSError(f"disk full at {row}")

if __name__ == "__main__":
    s = schedule.create(sys.argv[1], redis=sys.argv[2])
    schedule.add_now(s, export, args=["row-7"])
    with schedule.listener(s, threads=1):
        while not schedule.counts(s).dead:
            time.sleep(0.05)
"""


@job(cpu=True)
def fail_elsewhere() -> None:
    raise OSError("disk full")


def dead(s: Schedule, count: int = 1) -> None:
    until(lambda: schedule.counts(s).dead == count, what="the job to be dead")


def of_jobs(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[logging.LogRecord]:
    """The records of the logger from a level on."""
    return [record for record in caplog.records if record.name == "workkit" and record.levelno >= level]


def test_a_program_without_logging_shows_the_error_of_a_dead_job_with_its_traceback(
    server: Server, name: str, tmp_path: Path, processes: Processes
) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    program = processes.run(sys.executable, str(tmp_path / "app.py"), name, server.url, cwd=tmp_path)
    assert program.wait() == 0
    text = program.transcript()
    assert text.count("OSError: disk full at row-7") == 2, "in the line, and at the end of the traceback"
    assert text.count("Traceback (most recent call last)") == 1
    assert 'raise OSError(f"disk full at {row}")' in text
    assert "executor.py" not in text
    assert f"failed {schedule.dead(schedule.create(name, redis=server.url))[0].id[:8]}" in text


def test_a_dead_job_is_one_error_with_its_exception(s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    added = schedule.add_now(s, handlers.fail, args=["secret"])
    with schedule.listener(s, threads=1, **HOW):
        dead(s)
    (record,) = of_jobs(caplog)
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith(f"failed {added.id[:8]} tests.handlers.fail of {s.name}: ")
    assert "OSError: secret (handlers.py:" in record.getMessage()
    assert "attempt 1 of 1" in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], OSError)
    assert record.exc_info[2] is not None
    assert record.exc_info[2].tb_frame.f_code.co_name == "fail", "the frames begin with the handler"


def test_an_attempt_that_another_follows_is_a_warning_without_a_traceback(
    s: Schedule, caplog: pytest.LogCaptureFixture
) -> None:
    schedule.add_now(s, handlers.fail, retries=1, base="0s")
    with schedule.listener(s, threads=1, **HOW):
        dead(s)
    again, last = of_jobs(caplog)
    assert (again.levelno, again.exc_info) == (logging.WARNING, None)
    assert "OSError: disk full" in again.getMessage()
    assert "attempt 1 of 2, again in" in again.getMessage()
    assert "Traceback" not in again.getMessage()
    assert (last.levelno, last.exc_info is None) == (logging.ERROR, False)
    assert "attempt 2 of 2" in last.getMessage()


def test_several_listeners_of_a_program_write_each_record_once(s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    with schedule.listener(s, threads=1, **HOW), schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, handlers.fail)
        dead(s)
    assert len(of_jobs(caplog)) == 1


def test_a_listener_that_has_ended_leaves_no_subscriber(s: Schedule) -> None:
    with schedule.listener(s, threads=1, **HOW):
        assert events.wanted("dead")
    assert not events.wanted("dead")


def test_a_coroutine_that_fails_under_an_asynchronous_listener_is_an_error(
    s: Schedule, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with aio.listener(s, threads=1, **HOW):
            await aio.add_now(s, handlers.fail_async)
            await asyncio.to_thread(dead, s)

    asyncio.run(main())
    (record,) = of_jobs(caplog)
    assert "ValueError: no such user" in record.getMessage()
    assert record.exc_info is not None


def test_an_error_of_a_worker_process_is_logged_with_the_traceback_from_there(
    s: Schedule, caplog: pytest.LogCaptureFixture
) -> None:
    schedule.add_now(s, fail_elsewhere)
    with schedule.listener(s, threads=1, imports=[__name__], folder=None):
        dead(s)
    (record,) = of_jobs(caplog)
    assert record.levelno == logging.ERROR
    assert caplog.text.count("Traceback") == 1
    assert "in fail_elsewhere" in caplog.text


def test_what_the_listener_itself_has_to_say_is_logged_too(s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "workkit")
    schedule.add_now(s, "nowhere:f")
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: of_jobs(caplog), what="a warning")
    (record,) = of_jobs(caplog)
    assert record.getMessage().startswith("cannot run ")
    words = [one.getMessage().split()[0] for one in of_jobs(caplog, logging.INFO)]
    assert words == ["listening:", "may", "cannot", "stopping:", "stopped:"]
    assert "Ctrl-C" not in caplog.text


def test_a_listener_in_a_thread_that_an_error_ends_says_so(s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("no more files")

    listener = schedule.listener(s, threads=1, **HOW).start()
    listener._loop.post(fail)
    with pytest.raises(OSError, match="no more files"):
        listener.wait()
    (record,) = of_jobs(caplog)
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "ended: OSError: no more files")


def test_a_late_start_is_no_warning(s: Schedule, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "workkit")
    payload = b'{"args":[1],"cron":"2014 3 5 * 9 34 16","job":"#\'tests.handlers/note"}'
    server.client().hset(f"{s.name}:jobs", wire.job_id(payload), payload)
    server.client().zadd(f"{s.name}:next", {wire.item(wire.job_id(payload)): 1394012056000})
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: handlers.calls, what="the run")
    (late,) = [one for one in of_jobs(caplog, logging.INFO) if one.getMessage().startswith("late")]
    assert late.levelno == logging.INFO


def test_workkit_listen_prints_an_error_once(server: Server, name: str, tmp_path: Path, processes: Processes) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    schedule.add_now(schedule.create(name, redis=server.url), "app:export", args=["row-7"])
    process: Any = processes.workkit("listen", name, "--redis", server.url, "--burst", cwd=tmp_path)
    assert process.wait() == 0
    assert process.transcript().count("OSError: disk full at row-7") == 2
    assert process.transcript().count("Traceback") == 1
