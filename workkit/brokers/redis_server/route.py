"""Connections whose server may change: each new connection looks for the server.

A connection pool treats them like any other. A `Route` finds the address.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.pipe import Packer
from workkit.brokers.redis_server.tls import tls_trouble

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
GUIDE_SECONDS = 1.0  # how long to wait for a sentinel or a node that only names the server

FULL = "max number of clients reached"  # the server's error before it cuts the connection

_KEPT = ("username", "password", "credential_provider", "db", "client_name")


class Unlocated(redis.exceptions.ConnectionError):
    """The server was not found or not reached. The text is ours. `remedy` is its last sentence, or None."""

    def __init__(self, trouble: str, *, remedy: str | None = None) -> None:
        super().__init__(f"{trouble}. {remedy}" if remedy else trouble)
        self.trouble, self.remedy = trouble, remedy


class Misdirected(redis.exceptions.ResponseError):
    """A sentinel or node answers that there is no such server. The text is ours, with `remedy` as its last sentence."""

    def __init__(self, trouble: str, *, remedy: str, lasting: bool) -> None:
        super().__init__(f"{trouble}. {remedy}")
        self.trouble, self.remedy, self.lasting = trouble, remedy, lasting


class Route(Protocol):
    """Finds the address of a server. Thread-safe."""

    address: Node | None  # the last known address

    def candidates(self) -> Iterator[Node]:
        """Yield the possible addresses of the server, the likeliest first, and ask for each as late as possible.

        Raises Unlocated, Misdirected.
        """

    def refresh(self) -> None:
        """Check from time to time whether `address` is still right, if the server itself would not answer so. Never
        raises.
        """

    def admit(self, connection: Any) -> None:
        """Check a new connection. Raises a ConnectionError if its server is not the right one."""

    def follow(self, pool: redis.ConnectionPool, ask_once: Callable[[], list[Any]]) -> list[Any]:
        """Return the replies of the right server, if others answer with its address."""


class RoutedConnection(redis.Connection):
    """A connection to the server that `route` finds when it connects."""

    def __init__(self, *, route: Route, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._route, self._settings = route, kwargs

    def connect(self) -> None:
        """Connect if it is not connected. Raises Unlocated, Misdirected, and the error of a server that refuses."""
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
    """Make a pool of connections that follow `route`, with login, database, TLS and socket options of `settings`."""
    pool: redis.ConnectionPool = redis.ConnectionPool(
        connection_class=RoutedSSLConnection if secure else RoutedConnection,
        **settings_of(settings),
        route=route,
    )
    return pool


def settings_of(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings of a client that say how to reach a server and log in. All other settings are ours."""
    kept = {key: value for key, value in kwargs.items() if key in _KEPT or key.startswith(("socket_", "ssl_"))}
    kept["socket_connect_timeout"] = kept.get("socket_connect_timeout") or CONNECT_SECONDS
    kept["socket_timeout"] = kept.get("socket_timeout") or ANSWER_SECONDS
    ours = {"protocol": 2, "decode_responses": False, "command_packer": Packer(), "health_check_interval": 0}
    return kept | ours | {"retry": retry_once()}


def retry_once() -> Retry:
    """Make a policy of one try: the listener's loop, or the caller, decides when to try again."""
    return Retry(NoBackoff(), 0)


def ask_node(node: Node, *command: str, secure: bool, settings: Mapping[str, Any]) -> Any:
    """Ask a server one command on a connection of its own, and return the plain reply."""
    kwargs = settings_of(settings) | dict.fromkeys(("socket_connect_timeout", "socket_timeout"), GUIDE_SECONDS)
    connection: Any = (redis.SSLConnection if secure else redis.Connection)(host=node[0], port=node[1], **kwargs)
    try:
        connection.connect()
        connection.send_command(*command)
        return connection.read_response()
    finally:
        connection.disconnect()


def reason(error: Exception | None, node: Node, settings: Mapping[str, Any]) -> str:
    """Say in a few words why a server was not reached with these settings."""
    text = str(error)
    cause = error.__cause__ or error.__context__ if error else None
    if found := tls_trouble(error, {**settings, "host": node[0], "port": node[1]}):
        return f"cannot be used: {found}"
    if isinstance(cause, ssl.SSLError) or "SSL" in text:
        return "gives no TLS answer"
    if isinstance(error, (redis.exceptions.TimeoutError, TimeoutError)):
        return "does not answer"
    if FULL in text:
        return "accepts no more clients (maxclients)"
    if "refused" in text:
        return "refuses connections"
    if "closed by server" in text or "reset by peer" in text:
        return "cuts connections"
    return text.rstrip(".") or "does not answer"
