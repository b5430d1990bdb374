"""Connections whose server may change: where it is now is found anew whenever one is made.

A connection pool treats them like any other; who is asked for the address is a `Route`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.tls import tls_trouble

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
GUIDE_SECONDS = 1.0  # how long a sentinel or a node is waited for that only has to say where the server is

FULL = "max number of clients reached"  # what a server says then, before it cuts the connection

_KEPT = ("username", "password", "credential_provider", "db", "client_name")


class Unlocated(redis.exceptions.ConnectionError):
    """The server was not found or not reached. The text is ours. `remedy` is its last sentence, if it has one."""

    def __init__(self, trouble: str, *, remedy: str | None = None) -> None:
        super().__init__(f"{trouble}. {remedy}" if remedy else trouble)
        self.trouble, self.remedy = trouble, remedy


class Misdirected(redis.exceptions.ResponseError):
    """Who was asked for the server says that there is none. The text is ours, with `remedy` as its last sentence."""

    def __init__(self, trouble: str, *, remedy: str, lasting: bool) -> None:
        super().__init__(f"{trouble}. {remedy}")
        self.trouble, self.remedy, self.lasting = trouble, remedy, lasting


class Route(Protocol):
    """Knows who to ask for a server. Thread-safe."""

    address: Node | None  # where it is, as far as is known

    def candidates(self) -> Iterator[Node]:
        """Where the server may be, likeliest first; whoever is asked is asked as late as possible.

        Raises Unlocated, Misdirected.
        """

    def refresh(self) -> None:
        """Ask now and then whether `address` still holds, where the server itself would not tell. Never raises."""

    def admit(self, connection: Any) -> None:
        """Look at a new connection; raises a ConnectionError where its server is not the one that is looked for."""

    def follow(self, pool: redis.ConnectionPool, ask_once: Callable[[], list[Any]]) -> list[Any]:
        """The replies of the server that is the one, where others answer who it is."""


class RoutedConnection(redis.Connection):
    """A connection to where `route` leads at the moment."""

    def __init__(self, *, route: Route, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._route, self._settings = route, kwargs

    def connect(self) -> None:
        """Connect, unless it is connected. Raises Unlocated, Misdirected, and what a refusing server makes of it."""
        if self._sock is not None:
            return
        failed: Exception | None = None
        for node in self._route.candidates():
            self.host, self.port = node
            try:
                super().connect()  # type: ignore[no-untyped-call]
                self._route.admit(self)
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
                self.disconnect()  # type: ignore[no-untyped-call]
                if isinstance(error, redis.exceptions.AuthenticationError):
                    raise
                failed = error
            else:
                self._route.address = node
                return
        node = self.host, int(self.port)
        raise Unlocated(f"{written(node)} {reason(failed, node, self._settings)}") from failed


class RoutedSSLConnection(RoutedConnection, redis.SSLConnection):
    """The same with TLS."""


def routed_pool(route: Route, *, secure: bool, settings: Mapping[str, Any]) -> redis.ConnectionPool:
    """A pool of connections that follow `route`, with the login, database, TLS and socket options of `settings`."""
    pool: redis.ConnectionPool = redis.ConnectionPool(
        connection_class=RoutedSSLConnection if secure else RoutedConnection,
        **settings_of(settings),
        route=route,
    )
    return pool


def settings_of(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Of a client's connection settings those that say how to reach a server and to log in; how to treat it is ours."""
    kept = {key: value for key, value in kwargs.items() if key in _KEPT or key.startswith(("socket_", "ssl_"))}
    kept["socket_connect_timeout"] = kept.get("socket_connect_timeout") or CONNECT_SECONDS
    kept["socket_timeout"] = kept.get("socket_timeout") or ANSWER_SECONDS
    return kept | {"protocol": 2, "decode_responses": False, "health_check_interval": 0, "retry": retry_once()}


def retry_once() -> Retry:
    """One try: when to try again is for the listener's loop, or the caller."""
    return Retry(NoBackoff(), 0)


def ask_node(node: Node, *command: str, secure: bool, settings: Mapping[str, Any]) -> Any:
    """The plain reply of a server to one command, on a connection of its own."""
    kwargs = settings_of(settings) | dict.fromkeys(("socket_connect_timeout", "socket_timeout"), GUIDE_SECONDS)
    connection: Any = (redis.SSLConnection if secure else redis.Connection)(host=node[0], port=node[1], **kwargs)
    try:
        connection.connect()
        connection.send_command(*command)
        return connection.read_response()
    finally:
        connection.disconnect()


def reason(error: Exception | None, node: Node, settings: Mapping[str, Any]) -> str:
    """Why a server was not reached by such settings, in a few words."""
    text = str(error)
    cause = error.__cause__ or error.__context__ if error else None
    if found := tls_trouble(error, {**settings, "host": node[0], "port": node[1]}):
        return f"cannot be used: {found}"
    if isinstance(cause, ssl.SSLError) or "SSL" in text:
        return "gives no TLS answer"
    if isinstance(error, (redis.exceptions.TimeoutError, TimeoutError)):
        return "does not answer"
    if FULL in text:
        return "has as many clients as it takes (maxclients)"
    if "refused" in text:
        return "refuses connections"
    if "closed by server" in text or "reset by peer" in text:
        return "cuts connections"
    return text.rstrip(".") or "does not answer"
