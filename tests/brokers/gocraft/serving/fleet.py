"""A namespace on a real server, and pools of ours on it, stepped by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import redis

from tests.servers import Server
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim, ListenerInfo, Serving, Turn
from workkit.contract.producer import NewJob
from workkit.jobs.outcome import Outcome
from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import Entrance, Terms


class Namespace:
    """One namespace, seen raw and through a broker."""

    def __init__(self, server: Server, name: str) -> None:
        self.url, self.name, self.keys = server.url, name, Keys(name)
        self.raw: Any = redis.Redis.from_url(server.url)
        self.producer = self.broker()
        self._open = [self.producer]

    def broker(self, *, timeout_ms: int = 10_000) -> GocraftBroker:
        return GocraftBroker(connect(self.url), schedule=self.name, timeout_ms=timeout_ms)

    def pool(
        self,
        *names: str,
        limits: Mapping[str, int] | None = None,
        priorities: Mapping[str, int] | None = None,
        **how: Any,
    ) -> GocraftBroker:
        """Register a pool that serves these names."""
        broker = self.broker(**how)
        self._open.append(broker)
        serves = {
            name: Serving(priority=(priorities or {}).get(name, 1), options=RunOptions(limit=(limits or {}).get(name)))
            for name in names
        }
        info = ListenerInfo(listener="", host="here", pid=7, version="0", schedules={}, threads=2, serves=serves)
        broker.register(info)
        return broker

    def go_pool(self, *names: str, id: str = "a" * 24) -> str:
        """List a pool as a Go pool lists itself."""
        now = int(self.raw.time()[0])
        self.raw.sadd(self.keys.worker_pools, id)
        self.raw.hset(
            self.keys.worker_pool(id),
            mapping={"heartbeat_at": now, "started_at": now, "job_names": ",".join(sorted(names)), "pid": 1},
        )
        return id

    def add(self, name: str, args: Mapping[str, Any] | None = None, **how: Any) -> str:
        """Add a job, and return its id."""
        new = NewJob(
            fn=name,
            args=(),
            kwargs=None if args is None else dict(args),
            trigger=None,
            due_ms=how.get("due_ms"),
            queued=True,
            terms=Terms(unique_key=how.get("key")),
            entrance=Entrance(once=how.get("once", False)),
        )
        return self.producer.adding([new])()[0].id

    def push(self, name: str, text: Any) -> bytes:
        """Put bytes into a queue as a Go producer does."""
        data = text if isinstance(text, bytes) else json.dumps(text, separators=(",", ":")).encode()
        self.raw.lpush(self.keys.queue(name), data)
        self.raw.sadd(self.keys.known_jobs, name)
        return data

    def lock(self, name: str, pool: str) -> tuple[int, int]:
        """The running jobs of a name: over all pools, and in one."""
        info = self.raw.hget(self.keys.lock_info(name), pool)
        return int(self.raw.get(self.keys.lock(name)) or 0), int(info or 0)

    def in_progress(self, name: str, pool: str) -> list[bytes]:
        return list(self.raw.lrange(self.keys.in_progress(name, pool), 0, -1))

    def close(self) -> None:
        for broker in self._open:
            broker.close()
        self.raw.close()


def end(broker: GocraftBroker, claims: Sequence[Claim], outcome: Outcome) -> Turn:
    """End claims in one turn."""
    return broker.claim(0, ends=[(claim, outcome) for claim in claims])
