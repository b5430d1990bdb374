"""Hand back what dead pools hold: pools that are listed with an old heartbeat or none, and pools that are not listed at
all but have jobs in progress. Set locks right. Normative: spec/layouts/gocraft.md, sections 9 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.relock import relock
from workkit.brokers.gocraft.session import Session
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time

APART = 60.0  # seconds between two walks over all keys
STEP = 1000  # keys in one step of a walk


class Reaper:
    """The reaper of one listener. `patience` in seconds."""

    def __init__(self, server: Server, *, keys: Keys, session: Session, patience: float) -> None:
        self._server, self._keys, self._session, self._patience = server, keys, session, patience
        self._cursor, self._walk_at = 0, 0.0
        self._unlisted: dict[str, tuple[float, set[str]]] = {}  # pool -> when it was first seen so, its names
        self._bare: dict[str, float] = {}  # listed pools without a heartbeat, and since when
        self._wrong: dict[str, bytes] = {}  # names whose lock was wrong at the last look, and how
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
        """Take back the jobs of listed pools: of one without a heartbeat only if it stays so."""
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
        """Take back all that a pool holds, and count it; None if it lives."""
        count = 0
        while (done := self._session.reap(pool, beat, names=(*self._session.names, *names))) is not None:
            count += done[0]
            if not done[1]:
                return count
        return None

    def _relock(self, now: float) -> None:
        """Set right the locks of limited names that have differed in one way from what is in progress since the last
        look: each pool takes and ends its jobs in one step, so no step of another explains that.
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
            self._walk_at = now + APART

    def _is_unlisted(self, pool: str) -> bool:
        with self._server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.sismember(self._keys.worker_pools, pool.encode("utf-8", AS_READ))
            pipe.exists(self._keys.worker_pool(pool).encode("utf-8", AS_READ))
            return not any(pipe.execute())
