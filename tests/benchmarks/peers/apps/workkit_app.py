# mypy: ignore-errors
"""workkit: plain functions; `add_many` adds in batches of 500."""

import os
from datetime import UTC, datetime

import proof

from workkit import schedule

s = schedule.create("bench", redis=os.environ["BENCH_REDIS"])


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


def add(numbers):
    schedule.add_many(s, ({"fn": f"workkit_app:f{n % 5}", "at": "now", "args": [n]} for n in numbers))


def one(n):
    schedule.add_now(s, "workkit_app:f0", args=[n])


def later(n, due):
    schedule.add(s, "workkit_app:f0", at=datetime.fromtimestamp(due, UTC), args=[n])


def tell():
    schedule.add_now(s, "workkit_app:told")
