"""The native layout as a value: its abilities, and how its brokers are opened."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from workkit.brokers import layout
from workkit.brokers.layout import Keeps, Layout
from workkit.brokers.redis_server.address import SCHEMES
from workkit.errors import InvalidSchedule

if TYPE_CHECKING:
    from workkit.brokers.native.broker import NativeBroker
    from workkit.brokers.redis_server.key_names import Found


def _check(name: str, given: Mapping[str, Any]) -> tuple[Any, None]:
    from workkit.brokers.shards import shard_names

    redis, shards = given["redis"], given["shards"]
    redis = layout.redis_or_usual(redis)
    layout.check_redis(redis, schedule=shard_names(name, shards)[0])
    for option in ("limit", "rate"):
        if (value := given[option]) is not None and shards != 1:
            trouble = f"with shards={shards}: each shard would count for itself"
            remedy = f"Leave out one of them, or divide {option} yourself and give it to @job."
            raise InvalidSchedule.about(f"{option}={value!r}", trouble, remedy, where=option, given=value)
    return redis, None


def _open(name: str, *, redis: Any, own: None, dialect: str, timeout_ms: int, shown: str | None = None) -> NativeBroker:
    from workkit.brokers.native.broker import NativeBroker

    server = layout.server_at(redis, schedule=name)
    return NativeBroker(server, schedule=name, dialect=dialect, timeout_ms=timeout_ms, shown=shown)


def _find(redis: Any, seconds: float | None) -> Found:
    from workkit.brokers.native.look.inspector import schedule_names

    with closing(layout.server_at(layout.redis_or_usual(redis), schedule=None)) as server:
        return schedule_names(server, seconds=seconds)


NATIVE = Layout(
    name=layout.NATIVE,
    title="",
    noun="a schedule",
    schemes=SCHEMES,
    keeps=frozenset(Keeps) - {Keeps.QUEUES},
    wire="items",
    check=_check,
    open=_open,
    find=_find,
)
