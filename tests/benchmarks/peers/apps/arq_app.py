# mypy: ignore-errors
"""arq: coroutines, results kept for 0 seconds; jobs are enqueued 50 at a time, as it has no bulk way."""

import asyncio
import os
from datetime import UTC, datetime

import proof
from arq import create_pool
from arq.connections import RedisSettings

QUIET = {"version": 1, "disable_existing_loggers": False}  # else a line is logged for each start and end of a job
SETTINGS = RedisSettings.from_dsn(os.environ["BENCH_SERVER"])


async def f0(ctx, n):
    await proof.ran_async(n)


async def f1(ctx, n):
    await proof.ran_async(n)


async def f2(ctx, n):
    await proof.ran_async(n)


async def f3(ctx, n):
    await proof.ran_async(n)


async def f4(ctx, n):
    await proof.ran_async(n)


async def told(ctx):
    proof.tell()


class WorkerSettings:
    functions = (f0, f1, f2, f3, f4, told)
    redis_settings = SETTINGS
    max_jobs = 10
    keep_result = 0
    log_results = False
    poll_delay = float(os.environ.get("BENCH_ARQ_POLL_DELAY", "0.5"))


async def open():
    global pool
    pool = await create_pool(SETTINGS)


async def add(numbers):
    for at in range(0, len(numbers), 50):
        await asyncio.gather(*[pool.enqueue_job(f"f{n % 5}", n) for n in numbers[at : at + 50]])


async def one(n):
    await pool.enqueue_job("f0", n)


async def later(n, due):
    await pool.enqueue_job("f0", n, _defer_until=datetime.fromtimestamp(due, UTC))


async def tell():
    await pool.enqueue_job("told")
