"""Connections to a server that may change: each new connection looks for the server. Also the reason why a TLS
connection fails: which file, which certificate, which name.

A connection pool treats them like any other. A `Route` finds the address.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.pipe import Packer

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
GUIDE_SECONDS = 1.0  # seconds to wait for a sentinel or a node that only names the server

FULL = "max number of clients reached"  # the server's error before it cuts the connection

_KEPT = ("username", "password", "credential_provider", "db", "client_name")


class Unlocated(redis.exceptions.ConnectionError):
    """The server was not found or not reached. The text is our own. `remedy` is its last sentence, or None."""

    def __init__(self, trouble: str, *, remedy: str | None = None) -> None:
        super().__init__(f"{trouble}. {remedy}" if remedy else trouble)
        self.trouble, self.remedy = trouble, remedy


class Misdirected(redis.exceptions.ResponseError):
    """A sentinel or node answers that there is no such server. The text is our own. `remedy` is its last sentence."""

    def __init__(self, trouble: str, *, remedy: str, lasting: bool) -> None:
        super().__init__(f"{trouble}. {remedy}")
        self.trouble, self.remedy, self.lasting = trouble, remedy, lasting


class Route(Protocol):
    """Finds the address of a server. Thread-safe."""

    address: Node | None  # the last known address

    def candidates(self) -> Iterator[Node]:
        """Yield the possible addresses of the server, the likeliest first. Ask for each as late as possible.

        Raises Unlocated, Misdirected.
        """

    def refresh(self) -> None:
        """Check from time to time whether `address` is still right, if the server itself would not report a change.
        Never raises.
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
    """Explain in a few words why a server was not reached with these settings."""
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


TLS_SECONDS = 1.0
_MISMATCH, _EXPIRED, _NOT_YET = (62, 64), 10, 9  # X509_V_ERR_...
_FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")

Settings = Mapping[str, Any]


def tls_trouble(error: BaseException | None, settings: Settings) -> str | None:
    """Describe the trouble and its remedy, without the last full stop. Return None if TLS works.

    `settings`: the settings of the connection: host, port and its `ssl_` options.
    """
    causes = list(_causes(error))
    found = next((one for one in causes if isinstance(one, ssl.SSLError)), None)
    text = " ".join(str(one) for one in causes)
    if isinstance(found, ssl.SSLEOFError):  # cut while we wrote, so the server's alert is lost: connect again to get it
        text = _alert(settings) or text
    if "CERTIFICATE_REQUIRED" in text:
        return "it asks for a certificate of this client. Give ?ssl_certfile=FILE&ssl_keyfile=FILE"
    if "ALERT" in text and ("CERTIFICATE" in text or "UNKNOWN_CA" in text):
        return f"it does not trust the certificate of this client, ssl_certfile={settings.get('ssl_certfile')}"
    if found is None and not any(isinstance(one, OSError) for one in causes):
        return None
    if any(settings.get(name) for name in _FILES) and (file := _file(settings)):
        return file
    if isinstance(found, ssl.SSLCertVerificationError):
        return _certificate(found, settings)
    if (
        found is None
        or isinstance(found, ssl.SSLEOFError)
        or not found.reason
        or "WRONG_VERSION_NUMBER" in text
        or "RECORD_LAYER" in text
    ):
        return None
    return f"TLS fails: {found.reason.lower().replace('_', ' ')}"


def _certificate(error: ssl.SSLCertVerificationError, settings: Settings) -> str:
    """Describe the fault of the server's certificate."""
    host, ca = settings.get("host", "localhost"), settings.get("ssl_ca_certs")
    if error.verify_code in _MISMATCH:
        names = list(_names(settings))
        whose = f"its certificate is for {', '.join(names)}, and not for {host}" if names else ""
        return (
            f"{whose or f'its certificate is not for {host}'}. Name the server as its certificate does, or give "
            "?ssl_check_hostname=false"
        )
    if error.verify_code == _EXPIRED:
        return "its certificate has expired. Renew the certificate of the server"
    if error.verify_code == _NOT_YET:
        return "its certificate is not valid yet. Compare the clocks of both machines"
    by = f" by ssl_ca_certs={ca}" if ca else ""
    give = "Give the file of the authority that signed it" if ca else "Give"
    return f"its certificate is not trusted{by}: {error.verify_message}. {give}{':' if ca else ''} ?ssl_ca_certs=FILE"


def _file(settings: Settings) -> str | None:
    """Name the file of the settings that cannot be read, or has the wrong content."""
    ca, path, cert, key = (settings.get(name) for name in _FILES)
    for name, file in (("ssl_ca_certs", ca), ("ssl_certfile", cert), ("ssl_keyfile", key)):
        if file:
            try:
                with open(file, "rb"):
                    pass
            except OSError as error:
                return f"{name}={file} cannot be read: {error.strerror}. Give a file that is there"
    context = ssl.create_default_context()
    if ca or path:
        try:
            context.load_verify_locations(cafile=ca, capath=path)
        except (ssl.SSLError, OSError):
            return f"ssl_ca_certs={ca or path} holds no certificate. Give a file of certificates in PEM"
    if cert:
        try:
            context.load_cert_chain(cert, key, password=lambda: settings.get("ssl_password") or "")
        except (ssl.SSLError, OSError) as error:
            why = getattr(error, "reason", None) or "no certificate with its key in PEM"
            files = f"ssl_certfile={cert}" + (f" with ssl_keyfile={key}" if key else "")
            return f"{files} cannot be used: {why.lower().replace('_', ' ')}. Give a certificate and its key in PEM"
    return None


def _names(settings: Settings) -> Iterator[str]:
    """Yield the names in a certificate. Everything except the names is checked."""
    with contextlib.suppress(OSError, redis.exceptions.RedisError), _opened(settings, ssl_check_hostname=False) as sock:
        for _, name in sock.getpeercert().get("subjectAltName", ()):
            yield str(name)


def _alert(settings: Settings) -> str:
    """Connect again, send nothing, and return the alert with which the server ends the connection."""
    try:
        with _opened(settings) as sock:
            sock.recv(1)
    except (OSError, redis.exceptions.RedisError) as error:
        return str(error)
    return ""


def _opened(settings: Settings, **others: Any) -> contextlib.closing[Any]:
    """Open another connection, and send nothing on it, not even a password."""
    wanted = {key: value for key, value in settings.items() if key.startswith("ssl_")}
    wanted |= {"host": settings.get("host", "localhost"), "port": settings.get("port", 6379)}
    wanted |= dict.fromkeys(("socket_timeout", "socket_connect_timeout"), TLS_SECONDS)
    connection: Any = redis.SSLConnection(**(wanted | others))
    return contextlib.closing(connection._connect())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
