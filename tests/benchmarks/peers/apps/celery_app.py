# mypy: ignore-errors
"""Celery: threads, results ignored, a large prefetch; many are added as a group."""

import os
from datetime import UTC, datetime

import proof
from celery import Celery, group

app = Celery("bench", broker=os.environ["BENCH_SERVER"])
app.conf.task_ignore_result = True


@app.task
def f0(n):
    proof.ran(n)


@app.task
def f1(n):
    proof.ran(n)


@app.task
def f2(n):
    proof.ran(n)


@app.task
def f3(n):
    proof.ran(n)


@app.task
def f4(n):
    proof.ran(n)


@app.task
def told():
    proof.tell()


ALL = [f0, f1, f2, f3, f4]


def add(numbers):
    group(ALL[n % 5].s(n) for n in numbers).apply_async()


def one(n):
    f0.delay(n)


def later(n, due):
    f0.apply_async((n,), eta=datetime.fromtimestamp(due, UTC))


def tell():
    told.delay()
