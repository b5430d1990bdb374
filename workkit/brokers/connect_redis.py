"""Make the server from a URL or a client. No I/O, except that `embedded://` starts its server."""

from __future__ import annotations

from typing import Any

from workkit.brokers.redis_server.connecting import connect, is_cluster
from workkit.brokers.redis_server.primaries import check_tag
from workkit.brokers.redis_server.server import Server


def check(redis: Any, *, schedule: str | None = None) -> None:
    """Refuse a value that is neither a URL nor a client, without connecting. With `schedule`, also refuse a name that
    cannot be used in a cluster. Raises InvalidSchedule.
    """
    if isinstance(redis, str) and redis.startswith("embedded:"):
        from workkit.brokers.embedded.attachment import folder_of

        folder_of(redis)
        return
    connect(redis).close()
    if schedule is not None and is_cluster(redis):
        check_tag(schedule)


def server_at(redis: Any, *, schedule: str | None) -> Server:
    """Open the server of a schedule; None: of all schedules there. Raises InvalidSchedule, EmbeddedError."""
    if not (isinstance(redis, str) and redis.startswith("embedded:")):
        return connect(redis, schedule=schedule)
    from workkit.brokers.embedded.attachment import attach, folder_of

    attached = attach(folder_of(redis))
    return connect(attached.url, shown=redis, attached=attached, schedule=schedule)
