# mypy: ignore-errors
"""dramatiq: actors on its Redis broker, no result middleware; messages are sent one by one, as it has no bulk way."""

import os
from time import time

import dramatiq
import proof
from dramatiq.brokers.redis import RedisBroker

broker = RedisBroker(url=os.environ["BENCH_SERVER"])
dramatiq.set_broker(broker)


@dramatiq.actor
def f0(n):
    proof.ran(n)


@dramatiq.actor
def f1(n):
    proof.ran(n)


@dramatiq.actor
def f2(n):
    proof.ran(n)


@dramatiq.actor
def f3(n):
    proof.ran(n)


@dramatiq.actor
def f4(n):
    proof.ran(n)


@dramatiq.actor
def told():
    proof.tell()


ALL = [f0, f1, f2, f3, f4]


def add(numbers):
    for n in numbers:
        ALL[n % 5].send(n)


def one(n):
    f0.send(n)


def later(n, due):
    f0.send_with_options(args=(n,), delay=round((due - time()) * 1000))


def tell():
    told.send()
