"""The work of a listener beside its jobs. The reaper hands back the jobs of dead pools, and corrects locks. The
enqueuer adds the runs of the pool's periodic jobs. The holder keeps later jobs of the pool from Go pools that do not
serve them, because such a pool buries these jobs when they come due.

A dead pool is listed with an old heartbeat or none, or is not listed at all and has jobs in progress. Normative:
spec/layouts/gocraft.md, sections 4, 8, 9 and 12.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.cron import HORIZON_SECONDS, EverySpec, PeriodicJob, activations, read_spec
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import relock
from workkit.brokers.gocraft.session import Session
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.pages import piped
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.listener import Serving
from workkit.errors import CorruptRecord

WALK_APART = 60.0  # seconds between two walks over all keys
STEP = 1000  # keys in one step of a walk


class Reaper:
    """The reaper of one listener. `patience` in seconds."""

    def __init__(self, server: Server, *, keys: Keys, session: Session, patience: float) -> None:
        self._server, self._keys, self._session, self._patience = server, keys, session, patience
        self._cursor, self._walk_at = 0, 0.0
        self._unlisted: dict[str, tuple[float, set[str]]] = {}  # unlisted pool -> when it was first seen, its names
        self._bare: dict[str, float] = {}  # listed pools without a heartbeat, and since when
        self._wrong: dict[str, bytes] = {}  # names with a wrong lock at the last look, and how it was wrong
        self._locks_at = time.monotonic() + patience

    def reap(self) -> list[tuple[str, int]]:
        """Take back the jobs of dead pools: (pool, jobs) for each."""
        session, now = self._session, time.monotonic()
        taken = [] if session.stale is None else self._listed(session.stale, now)
        session.stale = None
        while session.left:
            self._all_of(session.left[-1], "*")
            session.left.pop()
        self._walk(now)
        self._relock(now)
        for pool, (since, names) in list(self._unlisted.items()):
            if now - since >= self._patience:
                del self._unlisted[pool]
                if self._is_unlisted(pool) and (moved := self._all_of(pool, "", names=tuple(names))):
                    taken.append((pool, moved))
        return taken

    def _listed(self, stale: Sequence[tuple[str, str]], now: float) -> list[tuple[str, int]]:
        """Take back the jobs of listed pools. A pool without a heartbeat must stay without one first."""
        bare = {pool for pool, beat in stale if not beat.isdigit()}
        self._bare = {pool: self._bare.get(pool, now) for pool in bare}
        taken = []
        for pool, beat in stale:
            if pool not in bare or now - self._bare[pool] >= self._patience:
                moved = self._all_of(pool, beat)
                if moved is not None:
                    taken.append((pool, moved))
        return taken

    def _all_of(self, pool: str, beat: str, *, names: tuple[str, ...] = ()) -> int | None:
        """Take back all jobs that a pool holds, and count them; None if it lives."""
        count = 0
        while (done := self._session.reap(pool, beat, names=(*self._session.names, *names))) is not None:
            count += done[0]
            if not done[1]:
                return count
        return None

    def _relock(self, now: float) -> None:
        """Correct the locks of limited names that have differed in the same way from the jobs in progress since the
        last look: each pool takes and ends its jobs in one step, so no step of another pool explains the difference.
        """
        if now < self._locks_at:
            return
        self._locks_at = now + self._patience
        names = self._session.names
        with self._server.translated() as client:
            limits = client.mget([self._keys.max_concurrency(name) for name in names]) if names else ()
        limited = [name for name, limit in zip(names, limits, strict=True) if limit is not None and limit != b"0"]
        seen = {name: self._wrong.get(name, b"") for name in limited}
        found = relock(self._server, self._keys, seen, pools=tuple(self._unlisted))
        self._wrong = {name: lock.how for name, lock in found.items() if lock.how not in (b"", seen[name])}

    def _walk(self, now: float) -> None:
        """Take one step over the keys, and note in-progress lists of pools that are not listed."""
        if now < self._walk_at:
            return
        with self._server.translated() as client:
            self._cursor, found = client.scan(self._cursor, match=self._keys.in_progress_pattern, count=STEP)
        for key in found:
            owner = self._keys.in_progress_owner(key.decode("utf-8", AS_READ))
            if owner is not None and owner[1] != self._session.pool and self._is_unlisted(owner[1]):
                self._unlisted.setdefault(owner[1], (now, set()))[1].add(owner[0])
        if not self._cursor:
            self._walk_at = now + WALK_APART

    def _is_unlisted(self, pool: str) -> bool:
        keys, id = self._keys, pool.encode("utf-8", AS_READ)
        beat = keys.worker_pool(pool).encode("utf-8", AS_READ)
        return not any(piped(self._server, lambda pipe: (pipe.sismember(keys.worker_pools, id), pipe.exists(beat))))


ENQUEUE_APART: Final = 60.0, 75.0
"""Seconds between two enqueueings, drawn at random from this range. They are fewer than a Go pool's, so that each run
of ours is in time to see the additions of a Go pool.
"""

ENQUEUE_AGAIN: Final = 3.0  # seconds until the next try, if another pool has just enqueued its own jobs
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
        """Set the periodic jobs of a pool. Raises CronError, and InvalidArguments for values that JSON cannot carry."""
        self._jobs = [
            PeriodicJob(name=name, spec=read_spec(text), args=serving.options.periodic_args)
            for name, serving in serves.items()
            for text in serving.options.periodic or ()
        ]
        for job in self._jobs:
            job.text_at(0)

    def enqueue(self, names: Collection[str], *, now_ms: int) -> None:
        """Add the runs of the next minutes if it is time to do so, for the jobs with these names."""
        if not self._jobs or time.monotonic() < self._at:
            return
        now = now_ms // 1000
        if self._start is None:
            self._start = now
        rows: list[Any] = []
        for job in self._jobs:
            if job.name in names:
                after = now
                if isinstance(job.spec, EverySpec):  # counted from the start of this pool, whenever it enqueues
                    after -= (now - self._start) % job.spec.seconds
                for second in activations(job.spec, after=after, before=now + HORIZON_SECONDS, local=local_zone()):
                    rows += [job.name, second, job.text_at(second)]
        done = self._server.call(self._script, self._script.keys(self._keys), [now, self._keys.prefix, *rows])
        self._at = time.monotonic() + (random.uniform(*ENQUEUE_APART) if done else ENQUEUE_AGAIN)


@lru_cache(maxsize=1)
def local_zone() -> ZoneInfo:
    """Find the zone of this process as Go finds it: TZ, or else the machine's zone; UTC if there is none."""
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


HELD_AHEAD = 10  # seconds; two heartbeats lie at most 5 s apart
MOST_PAGES = 20  # pages in one call, each of up to 500 members of either set


class Holder:
    """Moves jobs that Go pools would bury into our keys."""

    def __init__(self, server: Server, *, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._script = load("gocraft")["hold"]

    def hold(self, names: Collection[str], *, now_ms: int) -> None:
        """Move the members with these names that are due within `HELD_AHEAD`; if there are very many, only some. Raises
        ServerUnreachable, ServerRefused.
        """
        skip = {1: 0, 2: 0}
        rows: list[Any] = []
        for _ in range(MOST_PAGES):
            args = [self._keys.prefix, now_ms // 1000 + HELD_AHEAD, skip[1], skip[2], *rows]
            moved, page = self._server.call(self._script, self._script.keys(self._keys), args)
            if not page or (rows and not moved):
                return
            rows = []
            for place, raw in zip(page[::2], page[1::2], strict=True):
                if (name := _name(raw)) in names:
                    rows += [place, name, raw]
                else:
                    skip[place] += 1


def _name(raw: bytes) -> str:
    try:
        return read(raw).name
    except CorruptRecord:
        return ""
