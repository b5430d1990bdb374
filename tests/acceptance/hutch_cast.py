"""The functions that a fleet on RabbitMQ serves, and a listener of them."""

from __future__ import annotations

import logging
from typing import Any

from tests.acceptance import fleet_log
from workkit import Discard, Retry, current_job, events, job, schedule

HERE = "tests.acceptance.hutch_cast"
EXCHANGE = "fleet"
JOBS = ("fleet.plain", "fleet.slow", "fleet.flaky", "fleet.asks", "fleet.drops", "fleet.dies")
WILD = "fleet.wild.#"  # a pattern, which the layout hutch has
LATE = "fleet.late"  # no queue is bound to it while the fleet runs
THREADS = 8


@job("fleet.plain")
def plain(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


@job("fleet.slow")
def slow(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


@job("fleet.flaky", retries=3, base="0.3s", backoff="constant", jitter=False)
def flaky(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


@job("fleet.asks")
def asks(body: dict[str, Any]) -> None:
    fleet_log.run(**body)
    if current_job().attempt < 1:
        raise Retry(after="0.2s")


@job("fleet.drops")
def drops(body: dict[str, Any]) -> None:
    fleet_log.run(**body)
    raise Discard("nobody needs it any more")


@job("fleet.dies", retries=1, base="0.2s", backoff="constant", jitter=False)
def dies(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


@job(WILD)
def wild(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


@job(LATE)
def late(body: dict[str, Any]) -> None:
    fleet_log.run(**body)


def listen(url: str, layout: str, *jobs: str) -> None:
    def heard(event: events.Event) -> None:
        if event.name == "listening":
            fleet_log.write(event="listening")

    events.subscribe(heard)
    logging.getLogger("workkit").addHandler(logging.NullHandler())  # the errors of the cast; any other output counts
    s = schedule.create(EXCHANGE, amqp=url, layout=layout)
    schedule.listen(s, threads=THREADS, imports=[HERE], jobs=jobs, folder=None, deadline="5s")
