"""Recurring jobs with runs of every kind, on a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests import handlers
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.jobs.job import Job
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def overdue(server: Server, s: Schedule, job: Job, *, by_ms: int) -> None:
    """Let the next run of a job be due so long ago."""
    client = server.client()
    now_ms = int(client.time()[0]) * 1000
    client.zadd(Keys(s.name).next, {f'{{"id":"{job.id}"}}': now_ms - by_ms}, xx=True)


def one_of_each(server: Server, s: Schedule) -> Job:
    """Add a job that is well, and ones that fail, are late, missed or paused; the one without a name is returned."""
    schedule.add(s, handlers.note, args=("well",), every="day at 12:00", name="well")
    failing = schedule.add(s, handlers.fail, every="3 hours", name="failing")
    start = datetime.now(UTC) - timedelta(hours=1)  # far from its times, one of which a late run would stand for too
    late = schedule.add(s, handlers.note, args=("late",), every="2 hours", start=start, name="late")
    start = datetime.now(UTC) - timedelta(minutes=90)  # its last time was 30 minutes ago: too long to be only late
    missed = schedule.add(s, handlers.note, args=("missed",), every="hour", start=start, name="missed", catch_up="skip")
    schedule.add(s, handlers.note, args=("paused",), every="4 hours", name="paused")
    plain = schedule.add(s, handlers.note, args=("plain",), every="5 hours")
    for _ in range(3):
        schedule.run(s, "failing")
        schedule.drain(s, raise_errors=False, **HOW)
    schedule.run(s, "well")
    overdue(server, s, late, by_ms=65_000)
    overdue(server, s, missed, by_ms=3_000_000)
    assert failing.name
    schedule.drain(s, raise_errors=False, **HOW)
    schedule.pause(s, "paused", reason="the partner's API moves", until="in 2 days")
    return plain
