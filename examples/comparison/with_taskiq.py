"""Ten tasks in Taskiq. Worker: `taskiq worker with_taskiq:broker`. The limit needs a second worker: `taskiq worker -w 1
--max-async-tasks 2 with_taskiq:narrow`. Later, recurring and retried tasks need a scheduler: `taskiq scheduler
with_taskiq:scheduler`.
"""

# setup
import asyncio
import os
from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
import shop
from redis import Redis
from taskiq import InMemoryBroker, SmartRetryMiddleware, TaskiqDepends, TaskiqScheduler
from taskiq.depends.progress_tracker import ProgressTracker, TaskState
from taskiq.schedule_sources import LabelScheduleSource
from taskiq_redis import ListRedisScheduleSource, RedisAsyncResultBackend, RedisStreamBroker

URL = os.environ["REDIS_URL"]
results = RedisAsyncResultBackend(URL)
source = ListRedisScheduleSource(URL)
broker = InMemoryBroker(await_inplace=True) if os.getenv("UNIT_TESTS") else RedisStreamBroker(URL)
broker = broker.with_result_backend(results).with_middlewares(SmartRetryMiddleware(schedule_source=source))
scheduler = TaskiqScheduler(broker, [source, LabelScheduleSource(broker)])
connection = Redis.from_url(URL)


@broker.task
async def export(day: str) -> int:
    return shop.write(day)


# now


async def now() -> None:
    await export.kiq("monday")


# later


async def later() -> None:
    await export.schedule_by_time(source, datetime.now(UTC) + timedelta(seconds=2), "tuesday")


# recurring


@broker.task(schedule=[{"cron": "0 9 * * 1-5", "cron_offset": "Europe/Paris", "args": ["wednesday"]}])
async def digest(day: str) -> None:
    shop.write(day)


# retry


@broker.task(retry_on_error=True, max_retries=4, delay=1)
async def load() -> None:
    shop.load()


async def retry() -> None:
    await load.kiq()


# unique: none; by hand


@broker.task
def rebuild(number: int) -> None:
    try:
        shop.rebuild(number)
    finally:
        connection.delete(f"rebuilding:{number}")


async def unique() -> None:
    if connection.set("rebuilding:42", 1, nx=True, ex=3600):
        await rebuild.kiq(42)


# limit: none; by hand


narrow = RedisStreamBroker(URL, queue_name="taskiq:narrow", consumer_group_name="narrow")


@narrow.task  # its only worker: taskiq worker -w 1 --max-async-tasks 2 with_taskiq:narrow
def convert(picture: int) -> None:
    shop.convert(picture)


async def limit() -> None:
    await convert.kiq(1)


# result


async def result() -> int:
    job = await export.kiq("friday")
    return (await job.wait_result(timeout=10)).return_value


# cancel


async def cancel() -> None:
    job = await export.schedule_by_time(source, datetime.now(UTC) + timedelta(seconds=2), "saturday")
    await job.unschedule()


# progress


@broker.task
async def count(most: int, progress: Annotated[ProgressTracker[list[int]], TaskiqDepends()]) -> None:
    for done in range(most):
        await progress.set_progress(TaskState.STARTED, [done, most])
        await asyncio.sleep(0.1)


async def progress() -> object:
    job = await count.kiq(9)
    while not (progress := await job.get_progress()):
        await asyncio.sleep(0.1)
    return progress.meta


# test


@pytest.mark.anyio
async def test_export() -> None:
    await export.kiq("sunday")
    assert shop.exported.pop() == "sunday"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
