"""What the toy layout can do, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tests.contract.toy_layout.broker import SHELVES, ToyBroker
from workkit.brokers.layout import Layout, Refusal
from workkit.brokers.redis_server.key_names import Found
from workkit.contract.broker import Broker


def _check(name: str, given: Mapping[str, Any]) -> tuple[None, None]:
    return None, None


def _open(name: str, *, redis: None, own: None, dialect: str, timeout_ms: int) -> Broker:
    return cast(Broker, ToyBroker(name))


def _find(redis: Any, seconds: float | None) -> Found:
    return Found(tuple(sorted(SHELVES)), is_whole=True)


_UNKNOWN = Refusal("a dictionary has no such thing", "Leave it out.")

TOY = Layout(
    name="toy",
    title="a dictionary of this process",
    noun="a dictionary",
    server="no server",
    refuses=dict.fromkeys(("redis", "shards", "limit", "rate", "history"), _UNKNOWN),
    check=_check,
    open=_open,
    find=_find,
)
