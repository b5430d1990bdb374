# mypy: ignore-errors
"""workkit: plain functions; `add_many` adds in batches. Runs with earlier commits of workkit too."""

import os
from datetime import UTC, datetime

import proof
from redis import Redis

from workkit import schedule

HISTORY = {"history": os.environ["BENCH_HISTORY"]} if "BENCH_HISTORY" in os.environ else {}
s = schedule.create("bench", redis=os.environ["BENCH_SERVER"], **HISTORY)
bare = Redis.from_url(os.environ["BENCH_SERVER"])


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


STEPS = {  # single round trips
    "PING": lambda n: bare.ping(),
    "add_now": lambda n: schedule.add_now(s, f0, args=[n]),
    "add(at=)": lambda n: schedule.add(s, f0, at="7pm tomorrow", args=[n]),
    "unique_key=": lambda n: schedule.add_now(s, f0, args=[n], unique_key=f"key:{n}"),
    "named every=": lambda n: schedule.add(s, f0, every="weekday at 9am", args=[n], name=f"name:{n}"),
}
