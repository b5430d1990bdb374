"""Plays the ten tasks of examples/comparison, as the program of a user that sends jobs, or as a worker:

    python comparing.py send
    python comparing.py work taskiq

The sender reads the names of systems, line by line, and prints the result of each task. For the recurring task it asks
the scheduler of the system for the next time, and makes it send the job now. As a worker it runs Dramatiq and
Taskiq in one process each, by their own functions; their command lines start several.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

TASKS = ("now", "recurring", "retry", "unique", "unique", *["limit"] * 4, "cancel", "later", "result", "progress")


async def send(system: str) -> None:
    """Do each task as the file of the system does it, and print what it gave."""
    module = importlib.import_module(f"with_{system}")
    if system == "taskiq":
        await module.broker.startup()
        await module.narrow.startup()
    for task in TASKS:
        began = time.time()
        try:
            given = RECURRING[system](module) if task == "recurring" else getattr(module, task)()
            given = await given if inspect.isawaitable(given) else given
        except Exception as error:
            given = type(error).__name__
        given = given.isoformat() if isinstance(given, datetime) else given
        print(f"{system} {task} at {began:.2f}: {given}", flush=True)


def recurring_of_workkit(module: Any) -> datetime | None:
    from workkit import schedule

    module.recurring()
    (job,) = (one for one in schedule.jobs(module.s) if one.recurs)
    schedule.run(module.s, job)
    return job.due


def recurring_of_celery(module: Any) -> Any:
    from celery.beat import Scheduler

    module.recurring()
    scheduler = Scheduler(module.app)
    entry = scheduler.schedule["export"]
    begun, left, _ = entry.schedule.remaining_delta(entry.schedule.now())
    scheduler.apply_entry(entry)
    return begun + left


def recurring_of_rq(module: Any) -> Any:
    module.recurring()
    (job,) = module.cron.create_cron(module.connection).get_jobs()
    job.enqueue(module.connection)
    return job.get_next_enqueue_time()


def recurring_of_dramatiq(module: Any) -> Any:
    module.recurring()
    (job,) = module.scheduler.get_jobs()
    due = job.next_run_time
    job.modify(next_run_time=datetime.now(UTC))
    return due


async def recurring_of_taskiq(module: Any) -> datetime:
    from taskiq.cli.scheduler.run import is_cron_task_now

    _, source = module.scheduler.sources
    await source.startup()
    (job,) = await source.get_schedules()
    await module.scheduler.on_ready(source, job)
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    while not is_cron_task_now(job.cron, minute, job.cron_offset):
        minute += timedelta(minutes=1)
    return minute


RECURRING: dict[str, Any] = {
    "workkit": recurring_of_workkit,
    "celery": recurring_of_celery,
    "rq": recurring_of_rq,
    "dramatiq": recurring_of_dramatiq,
    "taskiq": recurring_of_taskiq,
}


async def work_taskiq(module: Any) -> None:
    from taskiq.api import run_receiver_task, run_scheduler_task

    second = timedelta(seconds=1)
    await asyncio.gather(
        run_receiver_task(module.broker, run_startup=True),
        run_receiver_task(module.narrow, run_startup=True, max_async_tasks=2),
        run_scheduler_task(module.scheduler, interval=second, loop_interval=second),
    )


async def work_dramatiq(module: Any) -> None:
    from dramatiq import Worker

    Worker(module.broker, worker_threads=8).start()
    await asyncio.Event().wait()


async def main(act: str, system: str = "") -> None:
    if act == "work":
        await {"taskiq": work_taskiq, "dramatiq": work_dramatiq}[system](importlib.import_module(f"with_{system}"))
    for line in sys.stdin:
        await send(line.strip())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
