# mypy: ignore-errors
"""saq: coroutines, jobs deleted when complete (ttl -1); jobs are enqueued 50 at a time, as it has no bulk way."""

import asyncio
import os

import proof
from saq import Queue

queue = Queue.from_url(os.environ["BENCH_SERVER"])


async def f0(ctx, *, n):
    await proof.ran_async(n)


async def f1(ctx, *, n):
    await proof.ran_async(n)


async def f2(ctx, *, n):
    await proof.ran_async(n)


async def f3(ctx, *, n):
    await proof.ran_async(n)


async def f4(ctx, *, n):
    await proof.ran_async(n)


async def told(ctx):
    proof.tell()


settings = {"queue": queue, "functions": [f0, f1, f2, f3, f4, told], "concurrency": 10}


async def add(numbers):
    for at in range(0, len(numbers), 50):
        await asyncio.gather(*[queue.enqueue(f"f{n % 5}", n=n, ttl=-1) for n in numbers[at : at + 50]])


async def one(n):
    await queue.enqueue("f0", n=n, ttl=-1)


async def later(n, due):
    await queue.enqueue("f0", n=n, ttl=-1, scheduled=round(due))


async def tell():
    await queue.enqueue("told", ttl=-1)
