"""The private server of a test. While it exists, every schedule of this process is on it, whatever server the schedule
names.

`workkit.testing` begins and ends it. So a test reaches no server of production, and production code knows no test
clock: spec/layouts/native.md, "Test clock". The scripts of such a server are those of production, except for the part
that tells the time. Its clients ask for the time in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import redis
from redis.client import Pipeline

from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.codec import Stored
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.script import Script, load
from workkit.brokers.redis_server.server import Call, PendingCalls, Server
from workkit.contract.producer import Added, BulkStep, NewJob
from workkit.errors import Unsupported

KEY = "workkit:test-clock"
FOLDER = "test_clock"  # folder of the parts that replace those of production
current: Rehearsal | None = None
Heard = Callable[[str, Sequence[NewJob], Sequence[Added]], None]


@dataclass(frozen=True, slots=True)
class Shape:
    """The facts about a schedule, beside its name, that a listener needs."""

    dialect: str
    shards: int


@dataclass(slots=True, eq=False)
class Rehearsal:
    """A private server, the schedules that were used there, and a callback for additions."""

    url: str
    heard: Heard
    used: dict[str, Shape] = field(default_factory=dict)
    _servers: list[OnTestClock] = field(default_factory=list)

    def note(self, name: str, *, dialect: str, shards: int, layout: str) -> None:
        """Note that a schedule is used. Raises Unsupported."""
        self.check(layout)
        self.used[name] = Shape(dialect, shards)

    def check(self, layout: str) -> None:
        """Refuse a layout with scripts and keys that follow no test clock. Raises Unsupported."""
        if layout != "native":
            trouble = "has no test clock: workkit.testing takes native schedules only"
            remedy = "Call its handlers as functions, or use schedule.drain with a server of your own."
            raise Unsupported.about(f"layout={layout!r}", trouble, remedy, where="layout")

    def server(self, schedule: str) -> OnTestClock:
        """Make a server for one broker; `close` closes it too. No I/O."""
        made = on_test_clock(self.url, schedule=schedule, layout="native")
        self._servers.append(made)
        return made

    def broker(self, name: str, **how: Any) -> NativeBroker:
        """Make the broker of a schedule, or of one of its shards, on this server; `how` as for
        `NativeBroker`. No I/O.
        """
        return _Rehearsed(self.server(name), schedule=name, heard=self.heard, **how)

    def close(self) -> None:
        """Close all connections."""
        for server in self._servers:
            server.close()
        self._servers.clear()


class _Rehearsed(NativeBroker):
    """The broker of production, which also reports its additions to the test."""

    def __init__(self, server: OnTestClock, *, schedule: str, heard: Heard, **how: Any) -> None:
        super().__init__(server, schedule=schedule, **how)
        self._heard = heard

    def putting(
        self, jobs: Sequence[NewJob], *, stored: Sequence[Stored], step: BulkStep | None = None
    ) -> Callable[[], list[Added]]:
        """Send jobs: see `NativeBroker.putting`."""
        answer = super().putting(jobs, stored=stored, step=step)

        def heard() -> list[Added]:
            added = answer()
            self._heard(self.schedule, jobs, added)
            return added

        return heard


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
    """Set the clock to an instant. It stays there until it is set again. Raises ServerUnreachable, ServerRefused."""
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
