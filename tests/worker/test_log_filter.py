"""A handler's own log lines name its job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import until
from workkit import JobLogFilter, current_job, job, schedule
from workkit.schedule import Schedule

LOGGER = logging.getLogger("tests.log_filter")
HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
FORMAT = "%(job_id)s %(job_name)s %(job_fn)s %(job_schedule)s %(job_attempt)s | %(message)s"


def say(text: str) -> None:
    LOGGER.warning("%s", text)


async def say_async(text: str) -> None:
    await asyncio.sleep(0)
    LOGGER.warning("%s", text)
    await asyncio.to_thread(LOGGER.warning, "%s, from a thread", text)


def fail_once() -> None:
    LOGGER.warning("attempt")
    if current_job().attempt == 0:
        raise OSError("disk full")


@job(cpu=True)
def say_elsewhere(path: str, text: str) -> None:
    handler = logging.FileHandler(path)
    handler.addFilter(JobLogFilter())
    handler.setFormatter(logging.Formatter(FORMAT))
    LOGGER.addHandler(handler)
    LOGGER.warning("%s", text)
    handler.close()


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What handlers have logged, in the format above."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(self.format(record))

    handler = Kept()
    handler.addFilter(JobLogFilter())
    handler.setFormatter(logging.Formatter(FORMAT))
    loggers = (LOGGER, logging.getLogger("workkit"))
    for logger in loggers:
        logger.addHandler(handler)
    yield said
    for logger in loggers:
        logger.removeHandler(handler)


def test_a_line_of_a_handler_in_a_thread_names_its_job(s: Schedule, lines: list[str]) -> None:
    added = schedule.add(s, at="now", fn=say, args=["hello"], name="greeting")
    schedule.drain(s, **HOW)
    assert lines == [f"{added.id} greeting {__name__}.say {s.name} 1 | hello"]


def test_a_line_of_a_coroutine_names_its_job_also_from_a_thread_that_it_starts(s: Schedule, lines: list[str]) -> None:
    added = [schedule.add_now(s, say_async, args=[text]) for text in ("a", "b")]
    with schedule.listener(s, threads=2, **HOW):
        until(lambda: len([line for line in lines if " | " in line]) == 4)
    head = f"- {__name__}.say_async {s.name} 1 |"
    expected = [
        f"{one.id} {head} {text}{more}"
        for one, text in zip(added, "ab", strict=True)
        for more in ("", ", from a thread")
    ]
    assert sorted(lines) == sorted(expected)


def test_a_line_in_a_worker_process_names_its_job(s: Schedule, tmp_path: Path) -> None:
    added = schedule.add_now(s, say_elsewhere, args=[str(tmp_path / "log"), "hello"])
    schedule.drain(s, **HOW)
    assert (tmp_path / "log").read_text() == f"{added.id} - {__name__}.say_elsewhere {s.name} 1 | hello\n"


def test_attempts_count_from_one_as_on_every_line(s: Schedule, lines: list[str]) -> None:
    added = schedule.add_now(s, fail_once, retries=1, base="0s")
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: schedule.counts(s).waiting + schedule.counts(s).running == 0 and len(lines) >= 3)
    name = f"{added.id} - {__name__}.fail_once {s.name}"
    assert [line.partition(" | ")[0] for line in lines] == [f"{name} 1", f"{name} 1", f"{name} 2"]


def test_a_line_outside_a_run_has_the_value_for_none(lines: list[str]) -> None:
    LOGGER.warning("no job here")
    assert lines == ["- - - - - | no job here"]
    record = logging.makeLogRecord({"msg": "x", "job_id": "their own"})
    assert JobLogFilter(missing=None).filter(record)
    assert (record.__dict__["job_id"], record.__dict__["job_fn"]) == ("their own", None)


def test_the_error_of_a_dead_job_has_its_whole_id(s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    added = schedule.add_now(s, "tests.handlers:fail")
    with schedule.listener(s, threads=1, imports=["tests.handlers"], folder=None):
        until(lambda: schedule.counts(s).dead == 1)
    errors = [one for one in caplog.records if one.levelno == logging.ERROR]
    (record,) = [one for one in errors if one.__dict__.get("job_schedule") == s.name]  # a listener before may end late
    fields = {name: value for name, value in record.__dict__.items() if name.startswith("job_") or name == "event"}
    assert fields == {
        "event": "failed",
        "job_id": added.id,
        "job_fn": "tests.handlers.fail",
        "job_schedule": s.name,
        "job_attempt": 1,
    }
