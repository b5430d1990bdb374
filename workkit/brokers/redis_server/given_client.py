"""Clients that a user gives, of redis-py or valkey-py, as clients of redis-py with the same settings. No I/O.

valkey-py is never imported here: whoever gives a client of it has imported it. Its code runs only where its sentinels
are asked, and there its errors become those of redis-py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis
from redis.cluster import RedisCluster
from redis.sentinel import SentinelConnectionPool

from workkit.brokers.redis_server.address import Node
from workkit.brokers.redis_server.route import settings_of

CLIENTS = "a redis.Redis or valkey.Valkey client"

_ADDRESS = ("host", "port", "path")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenClient:
    """`client` has the user's settings; of sentinels, its pool is a SentinelConnectionPool. `family`: redis or valkey,
    as in URLs. `nodes`: those of a cluster, which `client` reaches one of.
    """

    client: redis.Redis
    family: str = "redis"
    nodes: tuple[Node, ...] = ()


def read_client(given: Any) -> GivenClient | None:
    """Read a client; None for what is none, such as one of asyncio."""
    if isinstance(given, RedisCluster):
        nodes: Any = given.get_nodes()  # type: ignore[no-untyped-call]
        client: Any = given.get_redis_connection(nodes[0])  # any node: all are reached in the same way
        return GivenClient(client=client, nodes=_addresses(nodes))
    if isinstance(given, redis.Redis):
        return GivenClient(client=given)
    library: Any = sys.modules.get("valkey")
    if library is None:
        return None
    if isinstance(given, library.ValkeyCluster):
        nodes = given.get_nodes()
        client = _twin(given.get_valkey_connection(nodes[0]), library)
        return GivenClient(client=client, family="valkey", nodes=_addresses(nodes))
    if isinstance(given, library.Valkey):
        return GivenClient(client=_twin(given, library), family="valkey")
    return None


def is_cluster_client(given: Any) -> bool:
    """Say whether it is a client of a cluster."""
    library: Any = sys.modules.get("valkey")
    return isinstance(given, RedisCluster) or (library is not None and isinstance(given, library.ValkeyCluster))


def _addresses(nodes: Any) -> tuple[Node, ...]:
    return tuple((str(node.host), int(node.port)) for node in nodes)


def _twin(given: Any, library: Any) -> redis.Redis:
    """Make the client of redis-py that reaches the same server, by the same login and with the same TLS."""
    pool = given.connection_pool
    kwargs: Mapping[str, Any] = pool.connection_kwargs
    is_secure = issubclass(pool.connection_class, library.SSLConnection)
    settings = settings_of(kwargs)
    if hasattr(pool, "sentinel_manager"):
        made: Any = SentinelConnectionPool(
            pool.service_name, _Manager(pool.sentinel_manager, library), ssl=is_secure, is_master=pool.is_master,
            **settings,
        )  # type: ignore[no-untyped-call]  # fmt: skip
        return redis.Redis(connection_pool=made)
    kind: Any = redis.SSLConnection if is_secure else redis.Connection
    if issubclass(pool.connection_class, library.UnixDomainSocketConnection):
        kind = redis.UnixDomainSocketConnection
    settings |= {name: kwargs[name] for name in _ADDRESS if name in kwargs}
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=kind, **settings))


class _Manager:
    """The sentinels of a client of valkey-py, asked through it."""

    def __init__(self, manager: Any, library: Any) -> None:
        self._manager, self._library = manager, library
        self.sentinels = manager.sentinels

    def discover_master(self, service: str) -> Any:
        """Name the address of the primary. Raises a ConnectionError of redis-py."""
        try:
            return self._manager.discover_master(service)
        except self._library.ValkeyError as error:
            raise redis.exceptions.ConnectionError(str(error)) from error
