"""Enqueue the runs of the periodic jobs that a pool was told of. Normative: spec/layouts/gocraft.md, section 4."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.periodic_jobs.cron_spec import EverySpec, read_spec
from workkit.brokers.gocraft.periodic_jobs.runs import HORIZON_SECONDS, PeriodicJob, activations
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.listener import Serving

APART: Final = 60.0, 75.0
"""Seconds between two enqueueings, drawn between these: less than a Go pool's, so that none is too late to see what a
Go pool has added.
"""

AGAIN: Final = 3.0  # seconds after which to try again, where another pool has just enqueued its own jobs
_LOCALTIME: Final = Path("/etc/localtime")


class Enqueuer:
    """The periodic jobs of one pool. For the listener's loop."""

    def __init__(self, server: Server, *, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._script = load("gocraft")["periodic"]
        self._jobs: list[PeriodicJob] = []
        self._start: int | None = None  # the second of the first enqueueing
        self._at = 0.0

    def tell(self, serves: Mapping[str, Serving]) -> None:
        """Take the periodic jobs of a pool. Raises CronError, and InvalidArguments for what JSON cannot carry."""
        self._jobs = [
            PeriodicJob(name=name, spec=read_spec(text), args=serving.options.periodic_args)
            for name, serving in serves.items()
            for text in serving.options.periodic or ()
        ]
        for job in self._jobs:
            job.text_at(0)

    def enqueue(self, names: Collection[str], *, now_ms: int) -> None:
        """Add the runs of the next minutes if it is time to do so, for the jobs among these names."""
        if not self._jobs or time.monotonic() < self._at:
            return
        now = now_ms // 1000
        if self._start is None:
            self._start = now
        rows: list[Any] = []
        for job in self._jobs:
            if job.name in names:
                after = now
                if isinstance(job.spec, EverySpec):  # counted from the start of this pool, whenever it looks
                    after -= (now - self._start) % job.spec.seconds
                for second in activations(job.spec, after=after, before=now + HORIZON_SECONDS, local=local_zone()):
                    rows += [job.name, second, job.text_at(second)]
        done = self._server.call(self._script, self._script.keys(self._keys), [now, self._keys.prefix, *rows])
        self._at = time.monotonic() + (random.uniform(*APART) if done else AGAIN)


@lru_cache(maxsize=1)
def local_zone() -> ZoneInfo:
    """Find the zone of this process as Go finds it: TZ, else the machine's; UTC where there is none."""
    said = os.environ.get("TZ")
    try:
        if said is None:
            with _LOCALTIME.open("rb") as file:
                return ZoneInfo.from_file(file, key="Local")
        if said.removeprefix(":").startswith("/"):
            with Path(said.removeprefix(":")).open("rb") as file:
                return ZoneInfo.from_file(file, key="Local")
        return ZoneInfo(said.removeprefix(":") or "UTC")
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return ZoneInfo("UTC")
    except KeyError:
        return ZoneInfo("UTC")
