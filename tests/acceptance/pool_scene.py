"""One scene in the gocraft layout: as in `scene`, with pools in a namespace, and where one is needed a Go pool too."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import redis

from tests.acceptance import mixed_verdict, pool_cast
from tests.acceptance.scene import NAME, Scene
from tests.processes import until
from workkit import schedule
from workkit.brokers.gocraft.keys import Keys

KEYS = Keys(NAME)
RIVAL = "f" * 24
SOON = 6  # seconds


class PoolScene(Scene):
    """A scene whose schedule is a namespace."""

    layout = "gocraft"
    cast = pool_cast

    def _listen(self, who: str, *, is_faulty: bool = False) -> None:
        if self.fault.is_at("hold") and is_faulty:
            self._begin_rival()
        super()._listen(who, is_faulty=is_faulty)

    def _begin_rival(self) -> None:
        """List a Go pool that serves nothing, and let a Go producer add a job that it would bury."""
        now = int(time.time())
        self.client.hset(KEYS.worker_pool(RIVAL), mapping={"heartbeat_at": now + 3600, "job_names": "others"})
        self.client.sadd(KEYS.worker_pools, RIVAL)
        text = json.dumps({"name": "pool_note", "id": "e" * 24, "t": now, "args": {"label": "now-0"}})
        self.client.zadd(KEYS.scheduled, {text: now + SOON})

    def _follow(self) -> None:
        super()._follow()
        until(lambda: self._drop_rival(), what="the end of the Go pool")

    def _drop_rival(self) -> bool:
        with contextlib.suppress(redis.ConnectionError):
            self.client.srem(KEYS.worker_pools, RIVAL)
            self.client.delete(KEYS.worker_pool(RIVAL))
            return True
        return False

    def _let_time_pass(self, silent: int) -> None:
        for pool in self.client.smembers(KEYS.worker_pools):
            key = KEYS.worker_pool(pool.decode())
            if int(self.client.hget(key, "pid") or 0) == silent:
                self.client.hset(key, "heartbeat_at", int(time.time()) - 60)

    def _add_victim(self) -> Any:
        return schedule.add_now(self.schedule, "pool_slow", kwargs={"label": "victim", "seconds": 1.5})

    def _listed_pids(self) -> list[int]:
        pools = [pool.decode() for pool in self.client.smembers(KEYS.worker_pools)]
        return sorted(int(self.client.hget(KEYS.worker_pool(pool), "pid") or 0) for pool in pools)

    def _is_over(self) -> bool:
        time.sleep(0.05)  # many scenes look at once, each with many commands
        try:
            return self._listed_pids() == sorted(self._alive()) and not any(mixed_verdict.left(self.client, KEYS))
        except redis.ConnectionError:
            return False

    def _end(self) -> None:
        self._stop_all()
        self._left += mixed_verdict.left(self.client, KEYS)
        if pools := self.client.smembers(KEYS.worker_pools):
            self._left.append(f"pools are listed that have ended: {pools}")
        for key in self.client.scan_iter(match=f"{KEYS.prefix}*"):
            short = key.decode().removeprefix(KEYS.prefix)
            if short.startswith(("workkit:", "worker:", "unique:")) and self.client.ttl(key) < 0:
                self._left.append(f"{short} is left without an expiry")
            if short.endswith(":lock_info"):
                self._left.append(f"{short} is left: {self.client.hgetall(key)}")
        died = {json.loads(text)["args"]["label"] for text in self.client.zrange(KEYS.dead, 0, -1)}
        if died != set(pool_cast.DEAD):
            self._left.append(f"{sorted(died)} are dead, where {pool_cast.DEAD} died")
