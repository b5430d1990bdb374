"""A schedule's name and a URL (or client) to its brokers. No I/O, but for `embedded://`, whose server is started.

What the native layout on one server does not need is imported where it is used: a program starts in less time.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, overload

from workkit.brokers import rehearsal
from workkit.brokers.connect_redis import server_at
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.shards import shard_names
from workkit.contract.broker import Broker
from workkit.contract.layout import AMQP_LAYOUTS
from workkit.errors import Unsupported

if TYPE_CHECKING:
    from workkit.brokers.native.sharded import ShardedBroker
    from workkit.brokers.redis_server.key_names import Found
    from workkit.contract.layout import OnRabbitmq

__all__ = ["find_schedules", "open_broker", "open_brokers"]


@overload
def open_broker(
    name: str,
    *,
    redis: Any,
    dialect: str = ...,
    timeout_ms: int = ...,
    layout: str = ...,
) -> Broker: ...


@overload
def open_broker(
    name: str,
    *,
    redis: Any,
    dialect: str = ...,
    timeout_ms: int = ...,
    shards: int,
    layout: str = ...,
) -> Broker | ShardedBroker: ...


def open_broker(
    name: str,
    *,
    redis: Any,
    dialect: str = "published",
    timeout_ms: int = 10_000,
    shards: int = 1,
    layout: str = "native",
) -> Broker | ShardedBroker:
    """Open the broker of schedule `name` at `redis`, in the layouts of RabbitMQ an `OnRabbitmq`; of several shards only
    the producer (to listen: `open_brokers`).

    Raises InvalidSchedule, EmbeddedError, Unsupported.
    """
    if rehearsal.current is not None:
        rehearsal.current.note(name, dialect=dialect, shards=shards, layout=layout)
    if layout in AMQP_LAYOUTS:
        return _amqp(name, at=redis, layout=layout, timeout_ms=timeout_ms)
    if layout == "gocraft":
        return _gocraft(name, redis=redis, timeout_ms=timeout_ms)
    names = shard_names(name, shards)
    if len(names) == 1:
        return _native(name, redis=redis, dialect=dialect, timeout_ms=timeout_ms)
    from workkit.brokers.native.sharded import ShardedBroker

    brokers = [_native(shard, redis=redis, dialect=dialect, timeout_ms=timeout_ms) for shard in names]
    return ShardedBroker(brokers, schedule=name, dialect=dialect)


def open_brokers(
    name: str,
    *,
    redis: Any,
    dialect: str = "published",
    shards: int = 1,
    timeout_ms: int = 10_000,
    layout: str = "native",
) -> list[Broker]:
    """Open one broker for each shard of schedule `name`; a listener registers with each.

    Raises InvalidSchedule, EmbeddedError, Unsupported.
    """
    if rehearsal.current is not None:
        rehearsal.current.check(layout)
    if layout in AMQP_LAYOUTS:
        return [_amqp(name, at=redis, layout=layout, timeout_ms=timeout_ms)]
    if layout == "gocraft":
        return [_gocraft(name, redis=redis, timeout_ms=timeout_ms)]
    names = shard_names(name, shards)
    return [_native(shard, redis=redis, dialect=dialect, timeout_ms=timeout_ms) for shard in names]


def find_schedules(*, redis: Any, layout: str = "native", seconds: float | None = None) -> Found:
    """Find the names of the schedules on a server, each shard by its own; look for so many `seconds` at most. Raises
    InvalidSchedule, EmbeddedError, ServerError, Unsupported.
    """
    from workkit.brokers.native.look.inspector import schedule_names

    if rehearsal.current is not None:
        rehearsal.current.check(layout)
        return schedule_names(rehearsal.current.server(""), seconds=seconds)
    if layout in AMQP_LAYOUTS:
        trouble = "cannot be done on RabbitMQ, which does not tell the exchanges of schedules from others"
        remedy = f"Look at one by its name: workkit queues NAME --layout {layout}."
        raise Unsupported.about("listing schedules", trouble, remedy)
    with closing(server_at(redis, schedule=None)) as server:
        if layout == "gocraft":
            from workkit.brokers.gocraft.look import namespaces

            return namespaces(server, seconds=seconds)
        return schedule_names(server, seconds=seconds)


def _amqp(name: str, *, at: OnRabbitmq, layout: str, timeout_ms: int) -> Broker:
    from workkit.brokers.connect_rabbitmq import open_on_rabbitmq

    return open_on_rabbitmq(name, at=at, layout=layout, timeout_ms=timeout_ms)


def _gocraft(name: str, *, redis: Any, timeout_ms: int) -> Broker:
    from workkit.brokers.gocraft.broker import GocraftBroker

    return GocraftBroker(server_at(redis, schedule=name), schedule=name, timeout_ms=timeout_ms)


def _native(name: str, *, redis: Any, dialect: str, timeout_ms: int) -> NativeBroker:
    if rehearsal.current is not None:
        return rehearsal.current.broker(name, dialect=dialect, timeout_ms=timeout_ms)
    return NativeBroker(server_at(redis, schedule=name), schedule=name, dialect=dialect, timeout_ms=timeout_ms)
