"""`current_job().due`: every run has one, also where its job has none that a calendar knows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import cpu
from tests.servers import Server
from workkit import Retry, current_job, job, schedule
from workkit.schedule import Schedule

SECOND = timedelta(seconds=1)
seen: list[Any] = []


@job("look")
def look() -> None:
    run = current_job()
    seen.append((run.due, run.started, run.lateness))


@job(cpu=True)
def wait_once(folder: str) -> None:
    """Ask to wait for two seconds, then note the due time, the start and the lateness."""
    run = current_job()
    if not run.attempt:
        raise Retry("2s")
    assert run.started is not None
    cpu.note(folder, run.due.timestamp(), run.started.timestamp(), run.lateness.total_seconds())


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    seen.clear()


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def test_a_run_has_the_due_time_of_its_job(s: Schedule) -> None:
    added = schedule.add(s, look, at="now")
    schedule.drain(s, imports=[__name__])
    ((due, started, lateness),) = seen
    assert due == added.due
    assert abs(started - due - lateness) < SECOND


@pytest.mark.parametrize("score", ["-9e15", "-1e14"])
def test_a_run_is_due_at_its_start_if_no_calendar_has_its_due_time(s: Schedule, server: Server, score: str) -> None:
    schedule.add_now(s, look)
    client = server.client()
    (item,) = client.zrange(f"{s.name}:next", 0, -1)
    client.zadd(f"{s.name}:next", {item: score})
    schedule.drain(s, imports=[__name__])
    ((due, started, _),) = seen
    assert due == started
    assert abs(datetime.now(UTC) - due) < timedelta(minutes=1)


@pytest.mark.parametrize("t", [10**15, 10**13])
def test_a_run_of_a_go_job_has_a_due_time_if_its_own_is_none(server: Server, name: str, t: int) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    client = server.client()
    client.sadd(f"{name}:known_jobs", "look")
    client.lpush(f"{name}:jobs:look", json.dumps({"name": "look", "id": "4f5e", "t": t, "args": None}))
    schedule.drain(s, imports=[__name__])
    ((due, started, _),) = seen
    assert due == started
    assert abs(datetime.now(UTC) - due) < timedelta(minutes=1)


def test_a_run_in_another_process_that_waited_has_its_own_start(s: Schedule, tmp_path: Path) -> None:
    began = time.time()
    with schedule.listener(s, imports=["tests.worker.test_due"], threads=1):
        schedule.add_now(s, wait_once, args=[str(tmp_path)], keep="1 minute").result()
    (file,) = tmp_path.iterdir()
    due, started, lateness = map(float, file.read_text().split())
    assert began - 1 < due < began + 1
    assert started - due > 2
    assert lateness < started - due - 1


def test_a_handler_that_a_test_calls_is_due_now() -> None:
    look()
    ((due, started, lateness),) = seen
    assert abs(datetime.now(UTC) - due) < timedelta(minutes=1)
    assert (started, lateness) == (None, timedelta())
