"""Our side of a mixed fleet: handlers that write the same lines as those of the Go peer, and a listener of them.

Of the jobs, `theirs` has no handler here, and `ours` and `keyed` have none in the Go pools.
"""

from __future__ import annotations

import json
import logging
import os
import time
from functools import cache
from typing import Any

from workkit import current_job, events, job, schedule

HERE = "tests.acceptance.mixed_cast"
NAMESPACE = "mixed"
LIMIT = 4  # of `limited`, in both languages
LOG = "WORKKIT_TEST_LOG"


@cache
def _file() -> int:
    return os.open(os.environ[LOG], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _write(**line: Any) -> None:
    os.write(_file(), json.dumps({**line, "at_ms": round(time.time() * 1000)}).encode() + b"\n")


def _run(*, sleep_ms: float = 0, fail: str | None = None, fail_n: int | None = None, **rest: Any) -> None:
    run = current_job()
    me = {"name": run.fn, "id": run.id, "args": rest, "fails": run.attempt}
    _write(event="run", **me)
    time.sleep(sleep_ms / 1000)
    _write(event="end", **me)
    if fail is not None and (fail_n is None or run.attempt < fail_n):
        raise RuntimeError(fail)


@job("plain")
def plain(**args: Any) -> None:
    _run(**args)


@job("slow")
def slow(**args: Any) -> None:
    _run(**args)


@job("limited", limit=LIMIT)
def limited(**args: Any) -> None:
    _run(**args)


@job("once")
def once(**args: Any) -> None:
    _run(**args)


@job("keyed")
def keyed(**args: Any) -> None:
    _run(**args)


@job("flaky", retries=3, base="1s", backoff="constant", jitter=False)
def flaky(**args: Any) -> None:
    _run(**args)


@job("dies", retries=1, base="1s", backoff="constant", jitter=False)
def dies(**args: Any) -> None:
    _run(**args)


@job("ours", retries=3, base="1s", backoff="constant", jitter=False)
def ours(**args: Any) -> None:
    _run(**args)


def listen(url: str, timeout: str) -> None:
    def heard(event: events.Event) -> None:
        if event.name == "fenced":
            _write(event="fenced", away_ms=event.fields.get("ago_ms") or 0)

    logging.getLogger("workkit").addHandler(logging.NullHandler())  # the errors of the cast; any other output counts
    events.subscribe(heard)
    s = schedule.create(NAMESPACE, redis=url, layout="gocraft")
    schedule.listen(s, threads=8, imports=[HERE], folder=None, listener_timeout=timeout, deadline="5s")
