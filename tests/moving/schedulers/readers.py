"""A line of each table, as its reader in `workkit.moving` reads it, and as the real engine does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.moving.schedulers.tables import NOW, Line, Read, apscheduler_trigger, celery_schedule, rewrite
from tests.optional import needed
from workkit.moving import apscheduler, celery, rq_scheduler
from workkit.moving.timing import Engine


def of_celery(line: Line) -> Read:
    schedule, app = celery_schedule(line)
    return celery.timing_of(schedule, app=app, now=NOW)


def engine_of_celery(line: Line) -> Engine:
    """Beat asks when a job is due that ran last at a time."""
    schedule, _ = celery_schedule(line)

    def following(at: datetime) -> datetime:
        schedule.nowfun = lambda: at
        due, seconds = schedule.is_due(at)
        assert not due
        return at.astimezone(UTC) + timedelta(seconds=seconds)

    return following


def of_apscheduler(line: Line) -> Read:
    loading = apscheduler.Loading(start=NOW, end=NOW)
    return apscheduler.timing_of(apscheduler_trigger(line), loading=loading)


def engine_of_apscheduler(line: Line) -> Engine:
    """A scheduler asks for the time after the last one."""
    trigger = apscheduler_trigger(line)
    asked: list[Any] = []

    if line.source.startswith("date"):
        return lambda at: trigger.run_date if trigger.run_date > at else None

    def following(at: datetime) -> datetime | None:
        previous = asked[-1] if asked and asked[-1] == at else None
        found: datetime | None = trigger.get_next_fire_time(
            previous, at if previous else at + timedelta(microseconds=1)
        )
        asked.append(found)
        return found

    return following


def of_rq(line: Line) -> Read:
    return rq_scheduler.cron_timing(line.source, tz=line.zone, now=NOW)


def engine_of_rq(line: Line) -> Engine:
    """rqscheduler asks for the local time after that of its machine."""
    crontab, local = needed("crontab").CronTab(line.source), ZoneInfo(line.zone)

    def following(at: datetime) -> datetime | None:
        wall = at.astimezone(local).replace(tzinfo=None)
        while (wall := crontab.next(now=wall, return_datetime=True, default_utc=False)) is not None:
            found: datetime = wall.replace(tzinfo=local).astimezone(UTC)
            if found > at:
                return found
        return None

    return following


if __name__ == "__main__":
    rewrite("celery", of_celery)
    rewrite("apscheduler", of_apscheduler)
    rewrite("rq-scheduler", of_rq)
