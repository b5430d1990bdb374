"""A server whose clock tests move: spec/layouts/native.md, "Test clock". Only `workkit.testing` makes one.

Its scripts are those of production, with another text of one part: the one that tells the time. A client asks for the
time in the same way. So no script of production knows of the key, and none pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import redis
from redis.client import Pipeline

from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.script import Script, load
from workkit.brokers.redis_server.server import Call, PendingCalls, Server

KEY = "workkit:test-clock"
FOLDER = "test_clock"  # of the parts that stand for those of production


class OnTestClock(Server):
    """One server, with scripts and clients that tell the time of the test clock."""

    is_on_test_clock = True
    scripts: Mapping[str, Script] = {}

    def ask(self, calls: Sequence[Call]) -> PendingCalls:
        """Send scripts: see `Server.ask`."""
        return super().ask([(self.scripts[script.name], keys, args) for script, keys, args in calls])


def on_test_clock(url: str, *, schedule: str, layout: str) -> OnTestClock:
    """Make the server at `url`, on the test clock. No I/O."""
    plain = connect(url, schedule=schedule)
    server = OnTestClock(_Client(connection_pool=plain.client.connection_pool), url=plain.url, schedule=schedule)
    server.scripts = load(layout, clock=FOLDER)
    return server


def set_test_clock(server: Server, at_ms: int) -> None:
    """Set the clock to an instant, where it stands until it is set again. Raises ServerUnreachable, ServerRefused."""
    with server.translated() as client:
        client.set(KEY, at_ms)


@cache
def _telling() -> str:
    part = resources.files("workkit.brokers").joinpath("redis_server", "lua", FOLDER, "instant.lua")
    return f"{part.read_text(encoding='utf-8')}local t = instant()\nreturn {{ tonumber(t[1]), tonumber(t[2]) }}"


class _Client(redis.Redis):
    def time(self, **kwargs: Any) -> Any:
        return self.eval(_telling(), 0)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class _Pipeline(Pipeline):
    def time(self, **kwargs: Any) -> Any:
        return self.eval(_telling(), 0)
