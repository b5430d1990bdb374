"""Connect to a Redis or Valkey server by a URL or a client, and translate its refusals.

Here the exceptions of the client library become ours; the original one stays the cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import redis
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
from workkit.brokers.redis_server.cluster import SlotClient, SlotOwner, check_tag
from workkit.brokers.redis_server.given_client import CLIENTS, GivenClient, is_cluster_client, read_client
from workkit.brokers.redis_server.key_type import wrong_types
from workkit.brokers.redis_server.pipe import Packer, Sent, Wires
from workkit.brokers.redis_server.refusal import ServerPlace, code_of, is_in_client, refusal
from workkit.brokers.redis_server.reviving import Attachment, Reviver
from workkit.brokers.redis_server.route import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    Route,
    retry_once,
    routed_pool,
    settings_of,
)
from workkit.brokers.redis_server.script import Script
from workkit.brokers.redis_server.sentinel import GivenSentinels, Sentinels
from workkit.brokers.redis_server.time_source import ScriptTime, TimeClient
from workkit.errors import InvalidSchedule, ServerError

_REPETITIONS = 3  # at most: load the scripts, do without TIME, load the scripts for that
_ANSWERS = frozenset((list, bytes, int, type(None)))  # the types of answers that are no error
Call = tuple[Script, Sequence[str], Sequence[Any]]
_HOST = re.compile(r"[\w.-]+:\d+(/\d*)?")  # what lacks only its scheme


@dataclass(frozen=True, slots=True)
class PendingCalls:
    """Script calls that were sent, and whose answers were not read yet."""

    calls: Sequence[Call]
    sent: Sent


class Server:
    """One server as its clients see it. Thread-safe; every call raises only ServerUnreachable or ServerRefused.

    With a `route` the server may change. An error that shows it closes the connections, and the next call looks for the
    new server. `schedule` is its name in messages.
    """

    is_on_test_clock = False  # whether tests move its clock, so that no answer foretells the next one

    def __init__(
        self,
        client: redis.Redis,
        *,
        url: str,
        attached: Attachment | None = None,
        schedule: str = "",
        route: Route | None = None,
    ) -> None:
        self.client = client
        self.url = url
        self._attached = attached
        self._schedule = schedule
        self._route = route
        self._address: Node | None = None  # the address that answered the last call
        self._twins: list[Server] = []
        self._wires = Wires(client.connection_pool)
        self._reviver = Reviver(attached, url=url, schedule=schedule)
        self._time = ScriptTime(client, schedule)
        self._answered = False  # whether it has answered once: a connection closed later was cut, not refused

    def call(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run one script. Load it first if the server does not have it."""
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
        """Return the answers of scripts that were sent. If the server does not have one, load and send all of them
        again: the scripts recognise a repeated request by its number.
        """
        try:
            replies = asked.sent.replies() if self._route is None else self._rerouted(asked, self._route)
            # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in asked.calls))} answered
            if not _ANSWERS.issuperset(map(type, replies)):
                replies = self._repeated(replies, asked.calls)
            self._answered = True
            if self._attached is not None:
                self._reviver.answered()
            if self._route is not None:
                self._arrived(self._route)
            return replies
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error, asked.calls) from error

    def _repeated(self, replies: list[Any], calls: Sequence[Call]) -> list[Any]:
        """Send scripts again where that helps, and return their answers. Raises an error that the server answered."""
        for _ in range(_REPETITIONS):
            if not self._must_repeat(replies, calls):
                break
            asked = PendingCalls(calls, self._send(calls))
            replies = asked.sent.replies() if self._route is None else self._rerouted(asked, self._route)
            # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in asked.calls))} answered
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def _must_repeat(self, replies: Sequence[Any], calls: Sequence[Call]) -> bool:
        """Whether scripts must be sent again: the server did not have one, which is loaded here, or refuses TIME."""
        errors = [reply for reply in replies if isinstance(reply, redis.exceptions.ResponseError)]
        if any(isinstance(error, redis.exceptions.NoScriptError) for error in errors):
            for script, _, _ in calls if self._time.in_scripts is not False else self._time.given(calls):
                self.client.script_load(script.text)
            return True
        return bool(errors) and self._time.is_refused(calls)

    def _rerouted(self, asked: PendingCalls, route: Route) -> list[Any]:
        sent = [asked.sent]

        def retry_once() -> list[Any]:
            if not sent:  # another node must answer
                self._start_anew()
                sent.append(self._send(asked.calls))
            return sent.pop().replies()

        return route.follow(self.client.connection_pool, retry_once)

    def _send(self, calls: Sequence[Call]) -> Sent:
        # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in calls))} sent
        if self._time.in_scripts is False:
            calls = self._time.given(calls)
        return self._wires.send([("EVALSHA", script.digest, len(keys), *keys, *args) for script, keys, args in calls])

    @contextmanager
    def translated(self) -> Iterator[Any]:
        """Yield the client, for reads, and translate its exceptions. Untyped: its annotations are unions of all
        replies.
        """
        try:
            if self._route is not None:
                self._leave_if_moved(self._route)
            yield self.client
            self._answered = True
            self._reviver.answered()
            if self._route is not None:
                self._arrived(self._route)
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error) from error
        except (TypeError, ValueError, AttributeError) as error:
            if not is_in_client(error):
                raise
            raise self._ours(redis.exceptions.ConnectionError("closed by another thread")) from error

    def twin(self, *, answer_seconds: float) -> Server:
        """Make the same server with connections of its own and a longer timeout: for waiting."""
        kwargs = dict(self.client.connection_pool.connection_kwargs)
        kwargs["socket_timeout"] = answer_seconds
        pool = redis.ConnectionPool(connection_class=self.client.connection_pool.connection_class, **kwargs)
        client = type(self.client)(connection_pool=pool)
        twin = type(self)(client, url=self.url, schedule=self._schedule, route=self._route)
        self._twins.append(twin)
        return twin

    def parts(self) -> Iterator[Server]:
        """Yield servers that together hold all keys: this one, or each primary of its cluster, one after the other."""
        if not isinstance(self._route, SlotOwner):
            yield self
            return
        with self.translated():
            nodes = self._route.primaries()
        kind = redis.SSLConnection if _is_secure(self.client) else redis.Connection
        settings = settings_of(self.client.connection_pool.connection_kwargs)
        for host, port in nodes:
            pool = redis.ConnectionPool(connection_class=kind, host=host, port=port, **settings)
            with closing(Server(redis.Redis(connection_pool=pool), url=self.url)) as part:
                yield part

    def drop(self) -> None:
        """Cut every connection, even while a thread waits on one."""
        self.client.connection_pool.disconnect(inuse_connections=True)

    def close(self) -> None:
        """Close connections, and detach from the server if it is embedded."""
        self.client.connection_pool.disconnect()
        if self._attached is not None:
            self._attached.close()

    def _leave_if_moved(self, route: Route) -> None:
        route.refresh()
        if self._address not in (None, route.address):
            self._start_anew()

    def _start_anew(self) -> None:
        """Close every unused connection: the server may have changed, and a new connection looks for it."""
        self._wires.give_back()
        self.client.connection_pool.disconnect(inuse_connections=False)

    def _arrived(self, route: Route) -> None:
        """Cut twins that still wait on the old server: it may be frozen, and then never answers."""
        if route.address == self._address:
            return
        before, self._address = self._address, route.address
        for twin in self._twins if before else ():
            twin.drop()

    def _ours(self, error: redis.exceptions.RedisError | OSError, calls: Sequence[Call] = ()) -> ServerError:
        if isinstance(error, OSError):
            error = redis.exceptions.ConnectionError(str(error))
        if isinstance(error, redis.exceptions.ConnectionError):
            self._reviver.failed()
        moves = self._route is not None
        if moves:  # another server may have taken its place: the next call looks for it
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
    url: Any, *, shown: str | None = None, attached: Attachment | None = None, schedule: str | None = None
) -> Server:
    """Make a server from a URL, or from a client by its connection settings. No I/O.

    Messages show `shown` instead of the URL. `attached` is closed with the server. In a cluster, the server is the node
    that owns the slot of `schedule`, whose name must contain a tag; None: the name is not checked. Raises
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
    """As `shown_url`, for any client that a user may give, and for what is none. Never raises."""
    try:
        return connect(given).url
    except Exception:  # a client of another kind, or one that cannot be looked into
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
    settings, secure = client.connection_pool.connection_kwargs, _is_secure(client)
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
    settings, secure = client.connection_pool.connection_kwargs, _is_secure(client)
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
    kwargs, secure = pool.connection_kwargs, _is_secure(given.client)
    sentinels = GivenSentinels(pool.sentinel_manager, service=pool.service_name)
    client = TimeClient(connection_pool=routed_pool(sentinels, secure=secure, settings=kwargs))
    nodes = [s.connection_pool.connection_kwargs for s in pool.sentinel_manager.sentinels]
    where = ",".join(written((node.get("host", "localhost"), int(node.get("port", 26379)))) for node in nodes)
    scheme, db = f"{_scheme(given.client, given.family)}+sentinel", kwargs.get("db") or 0
    url = f"{scheme}://{_login(kwargs)}{where}/{pool.service_name}/{db}"
    return Server(client, url=url, schedule=schedule, route=sentinels)


def _scheme(client: redis.Redis, family: str) -> str:
    return f"{family}s" if _is_secure(client) else family


def _is_secure(client: redis.Redis) -> bool:
    return issubclass(client.connection_pool.connection_class, redis.SSLConnection)


def _login(kwargs: Mapping[str, Any]) -> str:
    password = ":***@" if kwargs.get("password") else ""
    if user := kwargs.get("username"):
        return f"{user}{password or '@'}"
    return password
