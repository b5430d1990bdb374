"""The layouts under test: how to open each on a real server, and what it can do. README.md says how another joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tests import rabbit
from tests.contract.capability import Can
from tests.contract.lossy import Lossy
from tests.servers import Server
from workkit import schedule
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.brokers.layout import Keeps, layout_of
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.sharded import Sharded as ShardedBroker
from workkit.brokers.shards import shard_names
from workkit.contract.broker import Broker, Producer
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import Unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One consumer of a listener, and how to lose the reply to its next request."""

    consumer: Broker
    lose_next: Callable[[], None]


class Layout(Protocol):
    """A layout under test."""

    @property
    def can(self) -> frozenset[Can]:
        """What it can do beside adding, claiming and settling one-shot jobs."""

    @property
    def note(self) -> str:
        """How it names the function that notes its arguments."""

    @property
    def keeps_first(self) -> bool:
        """Whether of two jobs with one unique key the first stays; else the second takes its place."""

    def given(self, args: Sequence[Any]) -> dict[str, Any]:
        """The keywords of `add` that pass these arguments."""

    def other(self, args: Sequence[Any]) -> Any:
        """The `args` of `retry` that pass these arguments."""

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, ...]:
        """What `given` was given, from the arguments of a call."""

    def left(self, server: Server, name: str) -> int:
        """How many jobs are left, for a layout that cannot list them."""

    def create(self, server: Server, name: str) -> schedule.Schedule:
        """Make the value that the public verbs take."""

    def lines(self, server: Server, name: str, *, timeout_ms: int) -> Sequence[Line]:
        """Open the consumers of one listener, which dies `timeout_ms` after its last heartbeat."""

    def producer(self, server: Server, name: str) -> tuple[Producer, Callable[[], None]]:
        """Open a producer, and say how to lose the reply to its next addition."""


INSIDE = frozenset(can for can in Can if can.name not in Keeps.__members__)
"""What is no cell of the table "what works on which layout", as users do not see it as such."""


def _kept(layout: str, *, with_redis: bool = False) -> frozenset[Can]:
    """What the value of a layout says of it: so each cell of that table is tried."""
    value = layout_of(layout)
    return frozenset(Can[one.name] for one in value.kept(with_redis=with_redis) if one.name in Can.__members__)


class _Listed:
    def left(self, server: Server, name: str) -> int:
        raise AssertionError("the test lists the jobs")

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, ...]:
        return args or tuple((kwargs or {}).values())


class _Published(_Listed):
    note, keeps_first = "#'tests.handlers/note", True

    def given(self, args: Sequence[Any]) -> dict[str, Any]:
        return {"args": tuple(args)}

    def other(self, args: Sequence[Any]) -> Any:
        return list(args)


class Native(_Published):
    """The native layout: one schedule on one server."""

    can = INSIDE | _kept("native")

    def __str__(self) -> str:
        return "native"

    def create(self, server: Server, name: str) -> schedule.Schedule:
        return schedule.create(name, redis=server.url)

    def lines(self, server: Server, name: str, *, timeout_ms: int) -> Sequence[Line]:
        broker, lossy = _opened(server, name, timeout_ms=timeout_ms)
        return [Line(consumer=broker, lose_next=lossy.lose_next)]

    def producer(self, server: Server, name: str) -> tuple[Producer, Callable[[], None]]:
        broker, lossy = _opened(server, name)
        return broker, lossy.lose_next


@dataclass(frozen=True, slots=True)
class Sharded(_Published):
    """The native layout in several shards, here all on one plain server. Each shard would have a limit of its own."""

    shards: int
    can = Native.can - {Can.LIMIT_SCHEDULE, Can.BATCH, Can.GROUPS}

    def __str__(self) -> str:
        return f"{self.shards} shards"

    def create(self, server: Server, name: str) -> schedule.Schedule:
        return schedule.create(name, redis=server.url, shards=self.shards)

    def lines(self, server: Server, name: str, *, timeout_ms: int) -> Sequence[Line]:
        opened = [_opened(server, shard, timeout_ms=timeout_ms) for shard in shard_names(name, self.shards)]
        return [Line(consumer=broker, lose_next=lossy.lose_next) for broker, lossy in opened]

    def producer(self, server: Server, name: str) -> tuple[Producer, Callable[[], None]]:
        opened = [_opened(server, shard, shown=name) for shard in shard_names(name, self.shards)]

        def lose_next() -> None:
            for _, lossy in opened:
                lossy.lose_next()

        return ShardedBroker([broker for broker, _ in opened], schedule=name), lose_next


class Gocraft(_Listed):
    """A namespace that pools of gocraft/work share. Jobs have keyword arguments only."""

    can = INSIDE - {Can.QUIET} | _kept("gocraft")
    note, keeps_first = "note", False

    def __str__(self) -> str:
        return "gocraft"

    def given(self, args: Sequence[Any]) -> dict[str, Any]:
        return {"kwargs": self.other(args)}

    def other(self, args: Sequence[Any]) -> Any:
        return {f"a{place}": value for place, value in enumerate(args)}

    def create(self, server: Server, name: str) -> schedule.Schedule:
        return schedule.create(name, redis=server.url, layout="gocraft")

    def lines(self, server: Server, name: str, *, timeout_ms: int) -> Sequence[Line]:
        lossy = Lossy(connect(server.url))
        broker = GocraftBroker(lossy, schedule=name, timeout_ms=timeout_ms)  # type: ignore[arg-type]
        return [Line(consumer=broker, lose_next=lossy.lose_next)]

    def producer(self, server: Server, name: str) -> tuple[Producer, Callable[[], None]]:
        lossy = Lossy(connect(server.url))
        return GocraftBroker(lossy, schedule=name), lossy.lose_next  # type: ignore[arg-type]


class OnRabbitmq:
    """An exchange that hutch or event share. A message has one argument, here an object. `url`: the RabbitMQ;
    `management`: its API.
    """

    note, keeps_first = "note", True

    def __init__(
        self, layout: Literal["hutch", "event"], url: str = "", management: str = "", *, has_redis: bool = False
    ) -> None:
        self.name, self.url, self.management, self.has_redis = layout, url, management, has_redis

    def __str__(self) -> str:
        return f"{self.name} with Redis" if self.has_redis else self.name

    @property
    def can(self) -> frozenset[Can]:
        always = frozenset({Can.WAKE, Can.RETRY, Can.OFFER_OTHERS, Can.LOOK_AT_DUE})
        return always | _kept(self.name, with_redis=self.has_redis)

    def given(self, args: Sequence[Any]) -> dict[str, Any]:
        return {"args": ({f"a{place}": value for place, value in enumerate(args)},)}

    def other(self, args: Sequence[Any]) -> Any:
        return [{f"a{place}": value for place, value in enumerate(args)}]

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, ...]:
        return tuple(args[0].values()) if args else ()

    def left(self, server: Server, name: str) -> int:
        with rabbit.connected(self.url) as channel:
            queue = channel.queue_declare(self.names(name).queue("note"), passive=True)
            return int(queue.method.message_count)

    def names(self, name: str) -> Names:
        return Names(exchange=name, dialect=self.name)

    def create(self, server: Server, name: str) -> schedule.Schedule:
        redis = server.url if self.has_redis else None
        return schedule.create(name, amqp=self.url, layout=self.name, management=self.management, redis=redis)

    def lines(self, server: Server, name: str, *, timeout_ms: int) -> Sequence[Line]:
        if timeout_ms != 10_000:
            raise Unsupported("RabbitMQ itself notices that a listener is dead")
        return [Line(consumer=self._opened(server, name), lose_next=_loses_nothing)]

    def producer(self, server: Server, name: str) -> tuple[Producer, Callable[[], None]]:
        producer = self._opened(server, name)
        serves = {"note": Serving()}
        producer.register(
            ListenerInfo(listener="", host="", pid=1, version="0", schedules={}, threads=1, serves=serves)
        )
        producer.leave()  # its queue stays, so that messages lead somewhere
        return producer, _loses_nothing

    def _opened(self, server: Server, name: str) -> HutchBroker:
        keys = Keys("/", name)
        beside = Beside(connect(server.url, schedule=keys.prefix), keys) if self.has_redis else None
        address = read_address(self.url)
        site = read_site(self.management, address)
        return HutchBroker(address, names=self.names(name), site=site, beside=beside)


def _loses_nothing() -> None:
    raise Unsupported("a request to RabbitMQ cannot be repeated without a second effect")


LAYOUTS: tuple[Layout, ...] = (
    Native(), Sharded(3), Gocraft(), OnRabbitmq("hutch"), OnRabbitmq("event"), OnRabbitmq("event", has_redis=True),
)  # fmt: skip


def _opened(
    server: Server, name: str, *, timeout_ms: int = 10_000, shown: str | None = None
) -> tuple[NativeBroker, Lossy]:
    lossy = Lossy(connect(server.url))
    return NativeBroker(lossy, schedule=name, timeout_ms=timeout_ms, shown=shown), lossy  # type: ignore[arg-type]
