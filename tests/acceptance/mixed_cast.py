"""Our side of a mixed fleet: handlers that write the same lines as those of the Go peer, and a listener of them.

Of the jobs, `theirs` has no handler here, and `ours` has none in the Go pools.
"""

from __future__ import annotations

import logging
from typing import Any

from tests.acceptance import fleet_log
from workkit import events, job, schedule

HERE = "tests.acceptance.mixed_cast"
NAMESPACE = "mixed"
LIMIT = 4  # of `limited`, in both languages


@job("plain")
def plain(**args: Any) -> None:
    fleet_log.run(**args)


@job("slow")
def slow(**args: Any) -> None:
    fleet_log.run(**args)


@job("limited", limit=LIMIT)
def limited(**args: Any) -> None:
    fleet_log.run(**args)


@job("once")
def once(**args: Any) -> None:
    fleet_log.run(**args)


@job("keyed")
def keyed(**args: Any) -> None:
    fleet_log.run(**args)


@job("flaky", retries=3, base="1s", backoff="constant", jitter=False)
def flaky(**args: Any) -> None:
    fleet_log.run(**args)


@job("dies", retries=1, base="1s", backoff="constant", jitter=False)
def dies(**args: Any) -> None:
    fleet_log.run(**args)


@job("ours", retries=3, base="1s", backoff="constant", jitter=False)
def ours(**args: Any) -> None:
    fleet_log.run(**args)


def listen(url: str, timeout: str) -> None:
    def heard(event: events.Event) -> None:
        if event.name == "fenced":
            fleet_log.write(event="fenced", away_ms=event.fields.get("ago_ms") or 0)

    logging.getLogger("workkit").addHandler(logging.NullHandler())  # the errors of the cast; any other output counts
    events.subscribe(heard)
    s = schedule.create(NAMESPACE, redis=url, layout="gocraft")
    schedule.listen(s, threads=8, imports=[HERE], folder=None, listener_timeout=timeout, deadline="5s")
