"""A schedule's name and a URL (or client) to its brokers. No I/O, but for `embedded://`, whose server is started."""

from __future__ import annotations

from typing import Any, overload

from workkit.brokers import rehearsal
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.hutch.address import DEFAULT_URL as DEFAULT_AMQP_URL
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.names import Names
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.sharded import ShardedBroker
from workkit.brokers.native.shards import shard_names
from workkit.brokers.redis_server.cluster import check_tag
from workkit.brokers.redis_server.server import Server, connect, is_cluster
from workkit.contract.broker import Broker
from workkit.contract.layout import AMQP_LAYOUTS, OnRabbitmq
from workkit.errors import Unsupported

__all__ = ["DEFAULT_AMQP_URL", "check", "check_amqp", "open_broker", "open_brokers"]


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
        return GocraftBroker(_server(redis, schedule=name), schedule=name, timeout_ms=timeout_ms)
    names = shard_names(name, shards)
    if len(names) == 1:
        return _native(name, redis=redis, dialect=dialect, timeout_ms=timeout_ms)
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
        return [GocraftBroker(_server(redis, schedule=name), schedule=name, timeout_ms=timeout_ms)]
    names = shard_names(name, shards)
    return [_native(shard, redis=redis, dialect=dialect, timeout_ms=timeout_ms) for shard in names]


def check_amqp(at: OnRabbitmq, *, schedule: str, layout: str) -> None:
    """Refuse what is no AMQP URL, no URL of a management API or no Redis, and names that no exchange or queue can have.
    Raises InvalidSchedule.
    """
    read_site(at.management, read_address(at.amqp))
    _names(schedule, layout, at.namespace).check()
    if at.redis is not None:
        check(at.redis)


def check(redis: Any, *, schedule: str | None = None, shards: int = 1) -> None:
    """Refuse what is neither a URL nor a client, without connecting; and, with `schedule`, a number of shards that is
    out of range, or a name that cannot be used in a cluster. Raises InvalidSchedule.
    """
    names = shard_names(schedule or "", shards)
    if isinstance(redis, str) and redis.startswith("embedded:"):
        from workkit.brokers.embedded.attachment import folder_of

        folder_of(redis)
        return
    connect(redis).close()
    if schedule is not None and is_cluster(redis):
        check_tag(names[0])


def _names(schedule: str, layout: str, namespace: str) -> Names:
    return Names(exchange=schedule, dialect="event" if layout == "event" else "hutch", prefix=namespace)


def _amqp(name: str, *, at: OnRabbitmq, layout: str, timeout_ms: int) -> Broker:
    try:
        from workkit.brokers.hutch.broker import HutchBroker
    except ModuleNotFoundError as error:
        if error.name != "pika":
            raise
        remedy = "Install it: pip install 'workkit[rabbitmq]'."
        raise Unsupported.about(f"layout={layout!r}", "needs the extra rabbitmq", remedy, where="layout") from error
    address, names = read_address(at.amqp), _names(name, layout, at.namespace)
    beside = None
    if at.redis is not None:
        keys = Keys(address.vhost, name)
        beside = Beside(_server(at.redis, schedule=keys.prefix), keys)
    site = read_site(at.management, address)
    return HutchBroker(address, names=names, site=site, patience=timeout_ms / 1000, beside=beside)


def _native(name: str, *, redis: Any, dialect: str, timeout_ms: int) -> NativeBroker:
    if rehearsal.current is not None:
        return rehearsal.current.broker(name, dialect=dialect, timeout_ms=timeout_ms)
    return NativeBroker(_server(redis, schedule=name), schedule=name, dialect=dialect, timeout_ms=timeout_ms)


def _server(redis: Any, *, schedule: str) -> Server:
    if not (isinstance(redis, str) and redis.startswith("embedded:")):
        return connect(redis, schedule=schedule)
    from workkit.brokers.embedded.attachment import attach, folder_of

    attached = attach(folder_of(redis))
    return connect(attached.url, shown=redis, attached=attached, schedule=schedule)
