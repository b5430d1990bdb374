"""A schedule's name and its server to its brokers. No I/O, but for `embedded://`, whose server is started.

What the native layout on one server does not need is imported where it is used: a program starts in less time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, overload

from workkit.brokers import rehearsal
from workkit.brokers.layout import NATIVE, layout_of
from workkit.brokers.native.shards import shard_names
from workkit.contract.broker import Broker

if TYPE_CHECKING:
    from workkit.brokers.layout import Own
    from workkit.brokers.native.broker import NativeBroker
    from workkit.brokers.native.sharded import ShardedBroker
    from workkit.brokers.redis_server.key_names import Found

__all__ = ["find_schedules", "open_broker", "open_brokers"]


@overload
def open_broker(
    name: str,
    *,
    redis: Any,
    own: Own | None = ...,
    dialect: str = ...,
    timeout_ms: int = ...,
    layout: str = ...,
) -> Broker: ...


@overload
def open_broker(
    name: str,
    *,
    redis: Any,
    own: Own | None = ...,
    dialect: str = ...,
    timeout_ms: int = ...,
    shards: int,
    layout: str = ...,
) -> Broker | ShardedBroker: ...


def open_broker(
    name: str,
    *,
    redis: Any,
    own: Own | None = None,
    dialect: str = "published",
    timeout_ms: int = 10_000,
    shards: int = 1,
    layout: str = NATIVE,
) -> Broker | ShardedBroker:
    """Open the broker of schedule `name`, as `Layout.read` gave its server and the options of its layout; of several
    shards only the producer (to listen: `open_brokers`).

    Raises InvalidSchedule, EmbeddedError, Unsupported.
    """
    if rehearsal.current is not None:
        rehearsal.current.note(name, dialect=dialect, shards=shards, layout=layout)
    brokers = _opened(shard_names(name, shards), redis, own, dialect=dialect, timeout_ms=timeout_ms, layout=layout)
    if len(brokers) == 1:
        return brokers[0]
    from workkit.brokers.native.sharded import ShardedBroker

    return ShardedBroker(cast("list[NativeBroker]", brokers), schedule=name, dialect=dialect)


def open_brokers(
    name: str,
    *,
    redis: Any,
    own: Own | None = None,
    dialect: str = "published",
    shards: int = 1,
    timeout_ms: int = 10_000,
    layout: str = NATIVE,
) -> list[Broker]:
    """Open one broker for each shard of schedule `name`; a listener registers with each.

    Raises InvalidSchedule, EmbeddedError, Unsupported.
    """
    if rehearsal.current is not None:
        rehearsal.current.check(layout)
    return _opened(shard_names(name, shards), redis, own, dialect=dialect, timeout_ms=timeout_ms, layout=layout)


def _opened(
    names: list[str], redis: Any, own: Own | None, *, dialect: str, timeout_ms: int, layout: str
) -> list[Broker]:
    if rehearsal.current is not None:
        return [rehearsal.current.broker(name, dialect=dialect, timeout_ms=timeout_ms) for name in names]
    opened = layout_of(layout).open
    return [opened(name, redis=redis, own=own, dialect=dialect, timeout_ms=timeout_ms) for name in names]


def find_schedules(*, redis: Any, layout: str = NATIVE, seconds: float | None = None) -> Found:
    """Find the names of the schedules on a server, each shard by its own; look for so many `seconds` at most. Raises
    InvalidSchedule, EmbeddedError, ServerError, Unsupported.
    """
    if rehearsal.current is not None:
        from workkit.brokers.native.look.inspector import schedule_names

        rehearsal.current.check(layout)
        return schedule_names(rehearsal.current.server(""), seconds=seconds)
    return layout_of(layout).find(redis, seconds)
