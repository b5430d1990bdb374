# mypy: ignore-errors
"""taskiq: coroutines on the stream broker, which acknowledges, no result backend; tasks are sent 50 at a time."""

import asyncio
import os
from datetime import UTC, datetime

import proof
from taskiq import TaskiqScheduler
from taskiq_redis import ListRedisScheduleSource, RedisStreamBroker

broker = RedisStreamBroker(url=os.environ["BENCH_SERVER"])
source = ListRedisScheduleSource(os.environ["BENCH_SERVER"])
scheduler = TaskiqScheduler(broker, sources=[source])


@broker.task
async def f0(n: int) -> None:
    await proof.ran_async(n)


@broker.task
async def f1(n: int) -> None:
    await proof.ran_async(n)


@broker.task
async def f2(n: int) -> None:
    await proof.ran_async(n)


@broker.task
async def f3(n: int) -> None:
    await proof.ran_async(n)


@broker.task
async def f4(n: int) -> None:
    await proof.ran_async(n)


@broker.task
async def told() -> None:
    proof.tell()


ALL = [f0, f1, f2, f3, f4]


async def open():
    await broker.startup()  # makes the consumer group, which gets only what comes after it


async def add(numbers):
    for at in range(0, len(numbers), 50):
        await asyncio.gather(*[ALL[n % 5].kiq(n) for n in numbers[at : at + 50]])


async def one(n):
    await f0.kiq(n)


async def later(n, due):
    await f0.schedule_by_time(source, datetime.fromtimestamp(due, UTC), n)


async def tell():
    await told.kiq()
