# mypy: ignore-errors
"""RQ: plain functions; results kept for 0 seconds; many are added with enqueue_many, 1,000 in one pipeline."""

import os
from datetime import UTC, datetime

import proof
from redis import Redis
from rq import Queue

queue = Queue(connection=Redis.from_url(os.environ["BENCH_SERVER"]))


def f0(n):
    proof.ran(n)


def f1(n):
    proof.ran(n)


def f2(n):
    proof.ran(n)


def f3(n):
    proof.ran(n)


def f4(n):
    proof.ran(n)


def told():
    proof.tell()


ALL = [f0, f1, f2, f3, f4]


def add(numbers):
    for at in range(0, len(numbers), 1000):
        queue.enqueue_many([Queue.prepare_data(ALL[n % 5], (n,), result_ttl=0) for n in numbers[at : at + 1000]])


def one(n):
    queue.enqueue(f0, n, result_ttl=0)


def later(n, due):
    queue.enqueue_at(datetime.fromtimestamp(due, UTC), f0, n, result_ttl=0)


def tell():
    queue.enqueue(told, result_ttl=0)
