"""Hostile values in the soak: some into random keys every second, and what is left of them taken away in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import redis

from tests.acceptance import soak_cast
from tests.acceptance.hostile_known import named
from tests.acceptance.hostile_left import HARMLESS
from tests.acceptance.hostile_values import Aim, Source, Value
from workkit import Job, schedule
from workkit.brokers.connect import open_broker
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.published import LISTENER
from workkit.contract.listener import ListenerInfo
from workkit.errors import NotFound

GOOD = soak_cast.HERE
LEGAL = {
    "no-append-file",
    "no-listener",
    "dead",
    "overdue",
    "nobody-runs",
    "cron",
    "other-dialect",
    "unclear",
}  # may be found in the end
ROUNDS, PAUSE = 15, 1.0  # of repairs, seconds between two
PATIENCE_MS = 1000
INFO = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1)


class Hostile:
    """A writer of hostile values on the schedule of a soak."""

    def __init__(self, client: Any, url: str, *, seed: int, each: int = 8) -> None:
        self.client, self.keys, self.source, self.each = client, Keys(soak_cast.NAME), Source(seed=seed), each
        self._schedule = schedule.create(soak_cast.NAME, redis=url)
        self._url = url
        self._begun = False

    def write(self) -> list[Value]:
        """Write a few values, fewer where the server is away; those that were written."""
        written = []
        with suppress(redis.RedisError, OSError):
            aim = self._aim()
            values = list(self.source.values(self.each, aim))
            if not self._begun:
                values, self._begun = named(aim) + values, True
            for value in values:
                value.write(self.client, value.key(self.keys))
                written.append(value)
        return written

    def clear(self) -> Iterator[str]:
        """Repair and cancel until nothing of them waits; complaints where the doctor is not clean then."""
        broker = open_broker(soak_cast.NAME, redis=self._url)
        findings: list[Any] = []
        for _ in range(ROUNDS):
            findings = [f for f in broker.doctor.checkup(patience_ms=PATIENCE_MS) if f.kind not in LEGAL]
            for finding in findings:
                if finding.repairs:
                    broker.doctor.repair(finding)
            strays = [job for job in schedule.jobs(self._schedule) if job.state != "dead" and not is_good(job)]
            for job in strays:
                with suppress(NotFound):
                    schedule.cancel(self._schedule, job)
            if not findings and not strays:
                break
            time.sleep(PAUSE)
        yield from (f"the doctor is not clean: {finding.kind}: {finding.what[:200]}" for finding in findings)
        for job in schedule.jobs(self._schedule, state="dead"):
            if not is_good(job):
                broker.admin.discard([job])

    def sweep(self) -> Iterator[str]:
        """After the last listener has left: take back what stands under the names of listeners, run it, and clear."""
        broker = open_broker(soak_cast.NAME, redis=self._url)
        broker.register(INFO)
        deadline = time.monotonic() + 20
        while self.client.zcard(self.keys.listeners) > 1 and time.monotonic() < deadline:
            broker.beating()()
            broker.maintain()
            time.sleep(0.3)
        broker.leave()
        broker.close()
        modules = [soak_cast.HERE, soak_cast.HOSTILE]
        schedule.drain(self._schedule, imports=modules, folder=None, raise_errors=False)
        yield from self.clear()
        for id, payload in self.client.hgetall(self.keys.jobs).items():
            if (
                GOOD.encode() not in payload
            ):  # `unclear`: it may be a job of another program, so no repair takes it away
                self.client.hdel(self.keys.jobs, id)

    def _aim(self) -> Aim:
        seconds, micros = self.client.time()
        names = [raw.decode("utf-8", "replace") for raw in self.client.zrange(self.keys.listeners, 0, -1)]
        listeners = tuple(name for name in names if len(name.split(":")) == 3 and not name.startswith("hostile"))
        return Aim(now_ms=seconds * 1000 + micros // 1000, listeners=listeners)


def is_good(job: Job) -> bool:
    """Whether it is one of the soak's own."""
    return f"{GOOD}/" in job.fn or f"{GOOD}:" in job.fn


def is_owned(complaint: str) -> bool:
    """Whether a key that is left is one of ours, and one that nobody trims: see `HARMLESS`. A record hash under a name
    that no listener has is no key of ours.
    """
    name = complaint.removeprefix("running:").partition(" is left")[0]
    if complaint.startswith("running:") and not LISTENER.fullmatch(name):
        return False
    return not any(complaint.startswith((f"{name} ", f"{name}:")) for name in HARMLESS | {"control"})
