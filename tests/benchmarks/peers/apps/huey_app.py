# mypy: ignore-errors
"""huey: tasks on RedisHuey, no results stored; tasks are enqueued one by one, as it has no bulk way."""

import os
from datetime import UTC, datetime

import proof
from huey import RedisHuey

huey = RedisHuey("bench", url=os.environ["BENCH_SERVER"], results=False)


@huey.task()
def f0(n):
    proof.ran(n)


@huey.task()
def f1(n):
    proof.ran(n)


@huey.task()
def f2(n):
    proof.ran(n)


@huey.task()
def f3(n):
    proof.ran(n)


@huey.task()
def f4(n):
    proof.ran(n)


@huey.task()
def told():
    proof.tell()


ALL = [f0, f1, f2, f3, f4]


def add(numbers):
    for n in numbers:
        ALL[n % 5](n)


def one(n):
    f0(n)


def later(n, due):
    f0.schedule((n,), eta=datetime.fromtimestamp(due, UTC))


def tell():
    told()
