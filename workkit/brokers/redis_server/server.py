"""A connection to a Redis or Valkey server: made from a URL or a client, and its refusals in our words.

The edge at which client-library exceptions become ours; what raised them stays the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import redis
from redis.cluster import RedisCluster
from redis.sentinel import SentinelConnectionPool

from workkit.brokers.redis_server.address import (
    MANY,
    SCHEMES,
    Addresses,
    Node,
    check_database,
    check_login,
    hides,
    masked,
    read_addresses,
    written,
)
from workkit.brokers.redis_server.cluster import SlotClient, SlotOwner, check_tag
from workkit.brokers.redis_server.key_type import wrong_types
from workkit.brokers.redis_server.pipe import Sent, Wires
from workkit.brokers.redis_server.refusal import ServerPlace, code_of, refusal
from workkit.brokers.redis_server.route import ANSWER_SECONDS, CONNECT_SECONDS, Route, retry_once, routed_pool
from workkit.brokers.redis_server.script import Script
from workkit.brokers.redis_server.sentinel import GivenSentinels, Sentinels
from workkit.errors import InvalidSchedule, ServerError


class Closeable(Protocol):
    """What a server is attached to."""

    def close(self) -> None:
        """Leave it."""


Call = tuple[Script, Sequence[str], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """Scripts that are on their way."""

    calls: Sequence[Call]
    sent: Sent


class Server:
    """One server as its clients see it. Thread-safe; every call raises ServerUnreachable or ServerRefused only.

    With a `route` the server may change; an error that tells so closes the connections, and the next call finds it
    anew. `schedule` is what messages call the schedule it serves.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        url: str,
        attached: Closeable | None = None,
        schedule: str = "",
        route: Route | None = None,
    ) -> None:
        self.client = client
        self.url = url
        self._attached = attached
        self._schedule = schedule
        self._route = route
        self._address: Node | None = None  # where the last call was answered
        self._twins: list[Server] = []
        self._wires = Wires(client.connection_pool)
        self._answered = False  # whether it ever did: a connection that is closed later is cut, not refused

    def call(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run one script, loading it where the server has forgotten it."""
        return self.exchange([(script, keys, args)])[0]

    def exchange(self, calls: Sequence[Call]) -> list[Any]:
        """Run scripts in one write and one read."""
        return self.answers(self.ask(calls))

    def ask(self, calls: Sequence[Call]) -> PendingCalls:
        """Send scripts in one write, and do not wait; `answers` must follow."""
        try:
            if self._route is not None:
                self._leave_if_moved(self._route)
            return PendingCalls(calls, self._send(calls))
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error) from error

    def answers(self, asked: PendingCalls) -> list[Any]:
        """What scripts answer that were sent. Where the server has forgotten one, all are loaded and all asked again:
        the scripts know a repeated request by its number.
        """
        try:
            replies = self._replies(asked)
            # fault: {"+".join(script.name for script, _, _ in asked.calls)} answered
            if any(isinstance(reply, redis.exceptions.NoScriptError) for reply in replies):
                for script, _, _ in asked.calls:
                    self.client.script_load(script.text)
                replies = self._replies(PendingCalls(asked.calls, self._send(asked.calls)))
                # fault: {"+".join(script.name for script, _, _ in asked.calls)} answered
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
            self._answered = True
            if self._route is not None:
                self._arrived(self._route)
            return replies
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error, asked.calls) from error

    def _replies(self, asked: PendingCalls) -> list[Any]:
        if self._route is None:
            return asked.sent.replies()
        sent = [asked.sent]

        def retry_once() -> list[Any]:
            if not sent:  # another is to be asked
                self._start_anew()
                sent.append(self._send(asked.calls))
            return sent.pop().replies()

        return self._route.follow(self.client.connection_pool, retry_once)

    def _send(self, calls: Sequence[Call]) -> Sent:
        # fault: {"+".join(script.name for script, _, _ in calls)} sent
        return self._wires.send([("EVALSHA", script.digest, len(keys), *keys, *args) for script, keys, args in calls])

    @contextmanager
    def translated(self) -> Iterator[Any]:
        """The client, for reads; its exceptions leave as ours. Untyped: its annotations name all a reply can be."""
        try:
            if self._route is not None:
                self._leave_if_moved(self._route)
            yield self.client
            self._answered = True
            if self._route is not None:
                self._arrived(self._route)
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error) from error

    def twin(self, *, answer_seconds: float) -> Server:
        """The same server on connections of its own, with more patience: for waiting."""
        kwargs = dict(self.client.connection_pool.connection_kwargs)
        kwargs["socket_timeout"] = answer_seconds
        pool = redis.ConnectionPool(connection_class=self.client.connection_pool.connection_class, **kwargs)
        client = type(self.client)(connection_pool=pool)
        twin = Server(client, url=self.url, schedule=self._schedule, route=self._route)
        self._twins.append(twin)
        return twin

    def drop(self) -> None:
        """Cut every connection, also under a thread that waits on one."""
        self.client.connection_pool.disconnect(inuse_connections=True)

    def close(self) -> None:
        """Close connections, and leave the embedded server, if it is one."""
        self.client.connection_pool.disconnect()
        if self._attached is not None:
            self._attached.close()

    def _leave_if_moved(self, route: Route) -> None:
        route.refresh()
        if self._address not in (None, route.address):
            self._start_anew()

    def _start_anew(self) -> None:
        """Close every connection that is not in use: where the server may be another by now, the next looks for it."""
        self._wires.give_back()
        self.client.connection_pool.disconnect(inuse_connections=False)

    def _arrived(self, route: Route) -> None:
        """Cut twins that still wait on a server which is not the one any more: it may be frozen, and never say so."""
        if route.address == self._address:
            return
        before, self._address = self._address, route.address
        for twin in self._twins if before else ():
            twin.drop()

    def _ours(self, error: redis.exceptions.RedisError | OSError, calls: Sequence[Call] = ()) -> ServerError:
        if isinstance(error, OSError):
            error = redis.exceptions.ConnectionError(str(error))
        moves = self._route is not None
        if moves:  # whoever refuses may not be the server any more: the next call looks for it
            self._start_anew()
        settings = self.client.connection_pool.connection_kwargs
        place = ServerPlace(
            url=self.url, schedule=self._schedule, moves=moves, answered=self._answered, settings=settings
        )
        if self._schedule and code_of(error) == "WRONGTYPE":
            keys = [key for _, keys, _ in calls for key in keys]
            place = replace(place, wrong=wrong_types(self.client, self._schedule, keys))
        return refusal(error, place)


def connect(
    url: Any, *, shown: str | None = None, attached: Closeable | None = None, schedule: str | None = None
) -> Server:
    """A server from a URL or from a client, whose connection settings are then used. No I/O.

    `shown` stands in messages instead of the URL; `attached` is closed with the server. In a cluster it is the node
    that owns the slot of `schedule`, whose name must bear a tag then; None leaves the name unchecked. Raises
    InvalidSchedule for what is neither URL nor client, and for such a name.
    """
    if isinstance(url, RedisCluster):
        return _of_cluster_client(url, schedule=schedule)
    if isinstance(url, redis.Redis):
        return _of_client(url, schedule=schedule or "")
    if not isinstance(url, str):
        raise InvalidSchedule(
            f"redis= is a {type(url).__name__}; give a URL (redis://host:port/db) or a redis.Redis client, "
            "whose connection settings are then used.",
            given=url,
        )
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in SCHEMES + MANY:
        accepted = " ".join(f"{s}://" for s in SCHEMES)
        raise InvalidSchedule(f"redis={masked(url)!r} is not a URL of a server. Accepted: {accepted}.", given=url)
    addresses = read_addresses(url) if scheme in MANY else None
    if addresses is None and scheme in ("redis", "rediss"):
        check_login(url)
        check_database(url)
    client = _client(addresses.single if addresses else url, said=url)
    if addresses:
        return _routed(addresses, client, schedule=schedule)
    return Server(client, url=shown or shown_url(client), attached=attached, schedule=schedule or "")


def is_cluster(url: Any) -> bool:
    """Whether a URL or a client is said to lead to a cluster."""
    return isinstance(url, RedisCluster) or (isinstance(url, str) and url.partition("://")[0].endswith("+cluster"))


def shown_url(client: redis.Redis) -> str:
    """Where a client connects to, as a URL without its password."""
    kwargs = client.connection_pool.connection_kwargs
    if path := kwargs.get("path"):
        return f"unix://{_login(kwargs)}{path}?db={kwargs.get('db', 0)}"
    host, port, db = kwargs.get("host", "localhost"), kwargs.get("port", 6379), kwargs.get("db") or 0
    return f"{'rediss' if _is_secure(client) else 'redis'}://{_login(kwargs)}{host}:{port}/{db}"


def _client(url: str, *, said: str) -> redis.Redis:
    unix = url.startswith("unix:")
    try:
        client = redis.Redis.from_url(
            url,
            protocol=2,
            decode_responses=False,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            health_check_interval=0,
            retry=retry_once(),
            **({} if unix else {"socket_keepalive": True}),
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # not connected: only now are its options read
        return client
    except (ValueError, TypeError, redis.exceptions.RedisError) as error:
        hidden = any(hides(said, part) for part in re.findall(r"'([^']*)'", str(error)))
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        trouble = f"no option is called {unknown[1]}" if unknown else str(error).rstrip(".")
        trouble = "its host, port or options cannot be read" if hidden else trouble
        raise InvalidSchedule(f"redis={masked(said)!r} is not a URL of a server: {trouble}.", given=said) from error


def _routed(addresses: Addresses, client: redis.Redis, *, schedule: str | None) -> Server:
    settings, secure = client.connection_pool.connection_kwargs, _is_secure(client)
    if addresses.kind == "cluster":
        return _in_cluster(addresses.nodes, client, url=addresses.shown, schedule=schedule)
    login = dict.fromkeys(("username", "password", "db"))
    sentinels = Sentinels(
        addresses.nodes, service=addresses.service, secure=secure, settings={**settings, **login, **addresses.sentinel}
    )
    found = redis.Redis(connection_pool=routed_pool(sentinels, secure=secure, settings=settings))
    return Server(found, url=addresses.shown, schedule=schedule or "", route=sentinels)


def _in_cluster(nodes: Sequence[Node], client: redis.Redis, *, url: str, schedule: str | None) -> Server:
    if schedule is not None:
        check_tag(schedule)
    settings, secure = client.connection_pool.connection_kwargs, _is_secure(client)
    owner = SlotOwner(nodes, schedule=schedule or "", secure=secure, settings=settings)
    found = SlotClient(connection_pool=routed_pool(owner, secure=secure, settings=settings))
    return Server(found, url=url, schedule=schedule or "", route=owner)


def _of_client(given: redis.Redis, *, schedule: str) -> Server:
    pool = given.connection_pool
    if isinstance(pool, SentinelConnectionPool):
        return _of_sentinel_client(pool, schedule=schedule)
    kwargs = dict(pool.connection_kwargs)
    kwargs.update(decode_responses=False)
    client = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **kwargs))
    return Server(client, url=shown_url(client), schedule=schedule)


def _of_sentinel_client(pool: SentinelConnectionPool, *, schedule: str) -> Server:
    if not pool.is_master:
        raise InvalidSchedule(
            f"redis= is a client of the replicas of {pool.service_name}; give one of its primary: "
            f"Sentinel(...).master_for({pool.service_name!r}).",
            given=pool,
        )
    kwargs, secure = pool.connection_kwargs, issubclass(pool.connection_class, redis.SSLConnection)
    sentinels = GivenSentinels(pool.sentinel_manager, service=pool.service_name)
    client = redis.Redis(connection_pool=routed_pool(sentinels, secure=secure, settings=kwargs))
    nodes = [s.connection_pool.connection_kwargs for s in pool.sentinel_manager.sentinels]
    where = ",".join(written((node.get("host", "localhost"), int(node.get("port", 26379)))) for node in nodes)
    scheme, db = "rediss+sentinel" if secure else "redis+sentinel", kwargs.get("db") or 0
    url = f"{scheme}://{_login(kwargs)}{where}/{pool.service_name}/{db}"
    return Server(client, url=url, schedule=schedule, route=sentinels)


def _of_cluster_client(given: Any, *, schedule: str | None) -> Server:
    nodes = [(str(node.host), int(node.port)) for node in given.get_nodes()]
    client = given.get_redis_connection(given.get_nodes()[0])  # any: all are reached alike
    scheme = "rediss+cluster" if _is_secure(client) else "redis+cluster"
    where = ",".join(written(node) for node in nodes)
    url = f"{scheme}://{_login(client.connection_pool.connection_kwargs)}{where}"
    return _in_cluster(nodes, client, url=url, schedule=schedule)


def _is_secure(client: redis.Redis) -> bool:
    return issubclass(client.connection_pool.connection_class, redis.SSLConnection)


def _login(kwargs: Mapping[str, Any]) -> str:
    password = ":***@" if kwargs.get("password") else ""
    if user := kwargs.get("username"):
        return f"{user}{password or '@'}"
    return password
