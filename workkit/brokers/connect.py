"""Open the brokers of a schedule from its name and its server. No I/O, except that `embedded://` starts its server.

Modules that the native layout on one server does not need are imported where they are used, so that a program starts in
less time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, overload

from workkit.brokers import rehearsal
from workkit.brokers.layout import NATIVE, layout_of
from workkit.brokers.shards import shard_names
from workkit.contract.broker import Broker, Producer

if TYPE_CHECKING:
    from workkit.brokers.layout import Own
    from workkit.brokers.redis_server.key_names import Found

__all__ = ["find_schedules", "open_broker", "open_brokers"]


@overload
def open_broker(
    name: str, *, redis: Any, own: Own | None = ..., dialect: str = ..., timeout_ms: int = ..., layout: str = ...
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
) -> Producer: ...


def open_broker(
    name: str,
    *,
    redis: Any,
    own: Own | None = None,
    dialect: str = "published",
    timeout_ms: int = 10_000,
    shards: int = 1,
    layout: str = NATIVE,
) -> Producer:
    """Open the broker of schedule `name`, with its server and the options of its layout as `Layout.read` returned them.
    For several shards, open only the producer (to listen: `open_brokers`).

    Raises InvalidSchedule, EmbeddedError, Unsupported.
    """
    if rehearsal.current is not None:
        rehearsal.current.note(name, dialect=dialect, shards=shards, layout=layout)
    names, how = shard_names(name, shards), {"dialect": dialect, "timeout_ms": timeout_ms}
    if len(names) == 1:
        return _opened(names, redis, own, layout=layout, how=how)[0]
    from workkit.brokers.sharded import Part, Sharded

    brokers = _opened(names, redis, own, layout=layout, how={**how, "shown": name})
    return Sharded(cast("list[Part]", brokers), schedule=name)


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
    how = {"dialect": dialect, "timeout_ms": timeout_ms}
    return _opened(shard_names(name, shards), redis, own, layout=layout, how=how)


def _opened(names: list[str], redis: Any, own: Own | None, *, layout: str, how: Mapping[str, Any]) -> list[Broker]:
    if rehearsal.current is not None:
        return [rehearsal.current.broker(name, **how) for name in names]
    opened = layout_of(layout).open
    return [opened(name, redis=redis, own=own, **how) for name in names]


def find_schedules(*, redis: Any, layout: str = NATIVE, seconds: float | None = None) -> Found:
    """Find the names of the schedules on a server, each shard by its own name. Search for at most `seconds`. Raises
    InvalidSchedule, EmbeddedError, ServerError, Unsupported.
    """
    if rehearsal.current is not None:
        from workkit.brokers.native.look.inspector import schedule_names

        rehearsal.current.check(layout)
        return schedule_names(rehearsal.current.server(""), seconds=seconds)
    return layout_of(layout).find(redis, seconds)
