"""The gocraft layout as a value: its abilities, and how the broker of a namespace is opened."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from workkit.brokers.layout import Keeps, Layout, Refusal, check_redis, redis_or_usual, server_at
from workkit.brokers.redis_server.address import SCHEMES

if TYPE_CHECKING:
    from workkit.brokers.gocraft.broker import GocraftBroker
    from workkit.brokers.redis_server.key_names import Found


def _check(name: str, given: Mapping[str, Any]) -> tuple[Any, None]:
    redis = redis_or_usual(given["redis"])
    check_redis(redis, schedule=name)
    return redis, None


def _open(name: str, *, redis: Any, own: None, dialect: str, timeout_ms: int) -> GocraftBroker:
    from workkit.brokers.gocraft.broker import GocraftBroker

    return GocraftBroker(server_at(redis, schedule=name), schedule=name, timeout_ms=timeout_ms)


def _find(redis: Any, seconds: float | None) -> Found:
    from workkit.brokers.gocraft.look import namespaces

    with closing(server_at(redis_or_usual(redis), schedule=None)) as server:
        return namespaces(server, seconds=seconds)


_UNKNOWN = Refusal("a namespace has no such thing", "Leave it out.")

GOCRAFT = Layout(
    name="gocraft",
    title="a namespace of gocraft/work",
    noun="a namespace",
    schemes=SCHEMES,
    has_job_names=True,
    has_any_name=True,
    refuses=dict.fromkeys(("shards", "limit", "rate", "history", "on_failure"), _UNKNOWN),
    keeps=frozenset({
        Keeps.UNIQUE, Keeps.PAUSE, Keeps.CANCEL_DELAYED, Keeps.CANCEL, Keeps.RUN, Keeps.BATCH, Keeps.LOOK,
        Keeps.LOOK_AT_DELAYED, Keeps.KEEP_DEAD, Keeps.LIST_LISTENERS, Keeps.BY_TIME, Keeps.LIMITS, Keeps.CHECK,
    }),
    patience="1 minute",  # a unique key lives only a day
    wire="keys",
    check=_check,
    open=_open,
    find=_find,
)  # fmt: skip
