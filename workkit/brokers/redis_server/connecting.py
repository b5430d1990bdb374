"""Make a `Server` from a user's value: a URL, or the settings of a client of redis-py or valkey-py. No I/O.

This module never imports valkey-py: a caller who passes its client has imported it. The code of valkey-py runs only to
ask its sentinels, and its errors become those of redis-py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.cluster import RedisCluster
from redis.sentinel import SentinelConnectionPool

from workkit.brokers.redis_server.address import (
    MANY,
    ONE,
    SCHEMES,
    Addresses,
    Node,
    check_database,
    check_login,
    family,
    hides,
    plain_url,
    read_addresses,
    refused_url,
    written,
)
from workkit.brokers.redis_server.pipe import Packer, TimeClient
from workkit.brokers.redis_server.primaries import GivenSentinels, Sentinels, SlotClient, SlotOwner, check_tag
from workkit.brokers.redis_server.route import ANSWER_SECONDS, CONNECT_SECONDS, retry_once, routed_pool, settings_of
from workkit.brokers.redis_server.server import Attachment, Server, is_secure_client
from workkit.errors import InvalidSchedule

CLIENTS = "a redis.Redis or valkey.Valkey client"
READ_BYTES = 1 << 18  # of one read: a thread of a busy listener waits for the interpreter after each
_ADDRESS = ("host", "port", "path")
_HOST = re.compile(r"[\w.-]+:\d+(/\d*)?")  # an address that lacks only its scheme


def connect(
    url: Any, *, shown: str | None = None, attached: Attachment | None = None, schedule: str | None = None
) -> Server:
    """Make a server from a URL, or from a client by its connection settings. No I/O.

    Messages show `shown` instead of the URL. `attached` is closed with the server. In a cluster, the server is the node
    that owns the slot of `schedule`, and the name must contain a tag; None: the name is not checked. Raises
    InvalidSchedule for a value that is neither URL nor client, and for a name without a tag.
    """
    if (read := read_client(url)) is not None:
        return _of_client(read, schedule=schedule)
    if not isinstance(url, str):
        kind = type(url)
        what = f"{kind.__module__}.{kind.__name__}, a client of asyncio" if ".asyncio" in kind.__module__ else None
        raise InvalidSchedule(
            f"redis= is a {what or kind.__name__}; give a URL (redis://host:port/db) or {CLIENTS}, "
            "whose connection settings are then used.",
            given=url,
        )
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in SCHEMES + MANY:
        accepted = " ".join(f"{s}://" for s in SCHEMES)
        meant = f"Write redis://{url}, or another of:" if _HOST.fullmatch(url) else "Accepted:"
        raise refused_url(url, f" is not a URL of a server. {meant} {accepted}.", accepted=accepted)
    addresses = read_addresses(url) if scheme in MANY else None
    if addresses is None and scheme in ONE:
        check_login(url)
        check_database(url)
    client = _client(addresses.single if addresses else plain_url(url), said=url)
    if addresses:
        return _routed(addresses, client, schedule=schedule)
    return Server(
        client, url=shown or shown_url(client, family=family(url)), attached=attached, schedule=schedule or ""
    )


def is_cluster(url: Any) -> bool:
    """Say whether a URL or a client names a cluster."""
    return is_cluster_client(url) or (isinstance(url, str) and url.partition("://")[0].endswith("+cluster"))


def shown_url(client: redis.Redis, *, family: str = "redis") -> str:
    """Write the address of a client as a URL without its password. `family`: redis or valkey."""
    kwargs = client.connection_pool.connection_kwargs
    if path := kwargs.get("path"):
        return f"unix://{_login(kwargs)}{path}?db={kwargs.get('db', 0)}"
    host, port, db = kwargs.get("host", "localhost"), kwargs.get("port", 6379), kwargs.get("db") or 0
    return f"{_scheme(client, family)}://{_login(kwargs)}{host}:{port}/{db}"


def shown_client(given: Any) -> str:
    """Show any client that a user may pass, as `shown_url` does, or a value that is no client. Never raises."""
    try:
        return connect(given).url
    except Exception:  # a client of another kind, or one that cannot be inspected
        return f"<{type(given).__name__}>"


def _client(url: str, *, said: str) -> redis.Redis:
    unix = url.startswith("unix:")
    try:
        client = TimeClient.from_url(
            url,
            protocol=2,
            decode_responses=False,
            command_packer=Packer(),
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            socket_read_size=READ_BYTES,
            health_check_interval=0,
            retry=retry_once(),
            **({} if unix else {"socket_keepalive": True}),
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # not connected: this reads the options
        return client
    except (ValueError, TypeError, redis.exceptions.RedisError) as error:
        hidden = any(hides(said, part) for part in re.findall(r"'([^']*)'", str(error)))
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        trouble = f"no option is called {unknown[1]}" if unknown else str(error).rstrip(".")
        trouble = "its host, port or options cannot be read" if hidden else trouble
        raise refused_url(said, f" is not a URL of a server: {trouble}.") from (None if hidden else error)


def _routed(addresses: Addresses, client: redis.Redis, *, schedule: str | None) -> Server:
    settings, secure = client.connection_pool.connection_kwargs, is_secure_client(client)
    if addresses.kind == "cluster":
        return _in_cluster(addresses.nodes, client, url=addresses.shown, schedule=schedule)
    login = dict.fromkeys(("username", "password", "db"))
    sentinels = Sentinels(
        addresses.nodes, service=addresses.service, secure=secure, settings={**settings, **login, **addresses.sentinel}
    )
    found = TimeClient(connection_pool=routed_pool(sentinels, secure=secure, settings=settings))
    return Server(found, url=addresses.shown, schedule=schedule or "", route=sentinels)


def _in_cluster(nodes: Sequence[Node], client: redis.Redis, *, url: str, schedule: str | None) -> Server:
    if schedule is not None:
        check_tag(schedule)
    settings, secure = client.connection_pool.connection_kwargs, is_secure_client(client)
    owner = SlotOwner(nodes, schedule=schedule or "", secure=secure, settings=settings)
    found = SlotClient(connection_pool=routed_pool(owner, secure=secure, settings=settings))
    return Server(found, url=url, schedule=schedule or "", route=owner)


def _of_client(given: GivenClient, *, schedule: str | None) -> Server:
    pool = given.client.connection_pool
    if given.nodes:
        where = ",".join(map(written, given.nodes))
        url = f"{_scheme(given.client, given.family)}+cluster://{_login(pool.connection_kwargs)}{where}"
        return _in_cluster(given.nodes, given.client, url=url, schedule=schedule)
    if isinstance(pool, SentinelConnectionPool):
        return _of_sentinel_client(given, pool, schedule=schedule or "")
    kwargs = dict(pool.connection_kwargs)
    kwargs.update(decode_responses=False, command_packer=Packer())
    client = TimeClient(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **kwargs))
    return Server(client, url=shown_url(client, family=given.family), schedule=schedule or "")


def _of_sentinel_client(given: GivenClient, pool: SentinelConnectionPool, *, schedule: str) -> Server:
    if not pool.is_master:
        raise InvalidSchedule(
            f"redis= is a client of the replicas of {pool.service_name}; give one of its primary: "
            f"Sentinel(...).master_for({pool.service_name!r}).",
            given=pool,
        )
    kwargs, secure = pool.connection_kwargs, is_secure_client(given.client)
    sentinels = GivenSentinels(pool.sentinel_manager, service=pool.service_name)
    client = TimeClient(connection_pool=routed_pool(sentinels, secure=secure, settings=kwargs))
    nodes = [s.connection_pool.connection_kwargs for s in pool.sentinel_manager.sentinels]
    where = ",".join(written((node.get("host", "localhost"), int(node.get("port", 26379)))) for node in nodes)
    scheme, db = f"{_scheme(given.client, given.family)}+sentinel", kwargs.get("db") or 0
    url = f"{scheme}://{_login(kwargs)}{where}/{pool.service_name}/{db}"
    return Server(client, url=url, schedule=schedule, route=sentinels)


def _scheme(client: redis.Redis, family: str) -> str:
    return f"{family}s" if is_secure_client(client) else family


def _login(kwargs: Mapping[str, Any]) -> str:
    password = ":***@" if kwargs.get("password") else ""
    if user := kwargs.get("username"):
        return f"{user}{password or '@'}"
    return password


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenClient:
    """`client` has the user's settings. For sentinels, its pool is a SentinelConnectionPool. `family`: redis or valkey,
    as in URLs. `nodes`: the nodes of a cluster; `client` reaches one of them.
    """

    client: redis.Redis
    family: str = "redis"
    nodes: tuple[Node, ...] = ()


def read_client(given: Any) -> GivenClient | None:
    """Read a client; None for any other value, such as an asyncio client."""
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
