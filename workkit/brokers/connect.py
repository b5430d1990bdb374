"""A schedule's name and a URL (or client) to its broker. No I/O, but for `embedded://`, whose server is started."""

from __future__ import annotations

from typing import Any

from workkit.broker import Broker
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.server import Server, connect


def open_broker(name: str, *, redis: Any, dialect: str = "published", timeout_ms: int = 10_000) -> Broker:
    """The broker of schedule `name` where `redis` points. Raises InvalidSchedule, EmbeddedError."""
    return NativeBroker(_server(redis), schedule=name, dialect=dialect, timeout_ms=timeout_ms)


def check(redis: Any) -> None:
    """Refuse what is neither a URL nor a client, without connecting. Raises InvalidSchedule."""
    if isinstance(redis, str) and redis.startswith("embedded:"):
        from workkit.brokers.embedded import folder_of

        folder_of(redis)
    else:
        connect(redis).close()


def _server(redis: Any) -> Server:
    if not (isinstance(redis, str) and redis.startswith("embedded:")):
        return connect(redis)
    from workkit.brokers.embedded import attach, folder_of

    attached = attach(folder_of(redis))
    return connect(attached.url, shown=redis, attached=attached)
