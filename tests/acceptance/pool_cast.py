"""The cast of a scene in the gocraft layout: what a producer adds, the jobs by their names, and a listener of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tests.acceptance.crash_cast import ADDED, MANY, ONES, acknowledged, serve
from tests.acceptance.history import Promise, write
from workkit import Retry, current_job, job, schedule

HERE = "tests.acceptance.pool_cast"
DEAD = ("dies",)


def promises(base: int) -> dict[str, Promise]:
    """What each label is owed. `base` plays no part here."""
    labels = ["now-0", "now-1", "slow", "at", "later", "once", "keyed"]
    labels += [f"one-{n}" for n in range(ONES)] + [f"many-{n}" for n in range(MANY)]
    return {
        **{label: Promise() for label in labels},
        "fails": Promise(attempts=3),
        "asks": Promise(attempts=2),
        "dies": Promise(attempts=2, last="OSError"),
    }


@contextmanager
def _noted(label: str) -> Iterator[None]:
    run = current_job()
    me: dict[str, Any] = {"label": label, "id": run.id, "due": 0, "attempt": run.attempt, "pid": os.getpid()}
    write(os.environ["WORKKIT_TEST_HISTORY"], what="start", **me)
    how = "returned"
    try:
        yield
    except Exception as error:
        how = type(error).__name__
        raise
    finally:
        write(os.environ["WORKKIT_TEST_HISTORY"], what="end", how=how, **me)


@job("pool_note")
def note(label: str) -> None:
    with _noted(label):
        pass


@job("pool_slow")
def slow(label: str, seconds: float) -> None:
    with _noted(label):
        current_job().checkin("sleeping")
        time.sleep(seconds)


@job("pool_one", limit=1)
def one(label: str) -> None:
    with _noted(label):
        time.sleep(0.05)


@job("pool_fail", retries=3, base="0.1s", backoff="constant")
def fail(label: str, times: int, retries: int = 3) -> None:
    with _noted(label):
        if current_job().attempt < times:
            raise OSError("disk full")


@job("pool_die", retries=1, base="0.1s", backoff="constant")
def die(label: str) -> None:
    with _noted(label):
        raise OSError("disk full")


@job("pool_ask", retries=1)
def ask(label: str, times: int) -> None:
    with _noted(label):
        if current_job().attempt < times:
            raise Retry(after="0.1s")


@job("pool_leap", periodic="0 0 0 29 2 *")
def leap() -> None:
    """Run on 29 February: a pool enqueues it seldom, but looks whether it should."""


def produce(*, url: str, name: str, lead: int, after: str = "") -> None:
    """Add the cast, each until it is acknowledged."""
    s = schedule.create(name, redis=url, layout="gocraft")
    second = datetime.fromtimestamp(int(time.time()) + lead, UTC)
    rows = [{"fn": "pool_note", "in_": "1 second", "kwargs": {"label": f"many-{n}"}} for n in range(MANY)]

    def now(fn: str, label: str, **more: Any) -> partial[Any]:
        options = {key: more.pop(key) for key in ("unique", "unique_key") if key in more}
        return partial(schedule.add_now, s, fn, kwargs={"label": label, **more}, **options)

    add: dict[str, Callable[[], Any]] = {
        "at": lambda: schedule.add(s, "pool_note", at=second, kwargs={"label": "at"}),
        "many": lambda: schedule.add_many(s, rows),
        **{f"one-{n}": now("pool_one", f"one-{n}") for n in range(ONES)},
        "slow": now("pool_slow", "slow", seconds=1.0),
        "once": now("pool_note", "once", unique=True),
        "keyed": now("pool_note", "keyed", unique_key="key"),
        "now-0": now("pool_note", "now-0"),
        "now-1": now("pool_note", "now-1"),
        "fails": now("pool_fail", "fails", times=2),
        "asks": now("pool_ask", "asks", times=1),
        "dies": now("pool_die", "dies"),
        "later": lambda: schedule.add(s, "pool_note", in_="2 seconds", kwargs={"label": "later"}),
    }
    for label, one_ in add.items():
        acknowledged(label, one_)
    write(os.environ["WORKKIT_TEST_HISTORY"], what="ack", label=ADDED, id=None)


def listen(*, url: str, name: str) -> None:
    """Serve the jobs of this module until told to stop; what happens is written down."""
    s = schedule.create(name, redis=url, layout="gocraft")
    jobs = ["pool_note", "pool_slow", "pool_one", "pool_fail", "pool_die", "pool_ask", "pool_leap"]
    serve(s, imports=[HERE], jobs=jobs, threads=3, listener_timeout="5s", deadline="0.3s")
