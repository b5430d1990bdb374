"""A connection to a Redis or Valkey server: made from a URL or a client, and its refusals in our words.

The edge at which client-library exceptions become ours; what raised them stays the cause.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workkit.brokers.scripts import Script
from workkit.errors import InvalidSchedule, ServerError, ServerRefused, ServerUnreachable

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
SCHEMES = ("redis", "rediss", "unix", "embedded")


class Closeable(Protocol):
    """What a server is attached to."""

    def close(self) -> None:
        """Leave it."""


class Server:
    """One server as its clients see it. Thread-safe; every call raises ServerUnreachable or ServerRefused only."""

    def __init__(self, client: redis.Redis, *, url: str, attached: Closeable | None = None) -> None:
        self.client = client
        self.url = url
        self._attached = attached
        self._answered = False  # whether it ever did: a connection that is closed later is cut, not refused

    def call(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run one script, loading it where the server has forgotten it."""
        return self.exchange([(script, keys, args)])[0]

    def exchange(self, calls: Sequence[tuple[Script, Sequence[str], Sequence[Any]]]) -> list[Any]:
        """Run scripts in one write and one read. Where the server has forgotten one, all are loaded and all asked
        again: the scripts know a repeated request by its number.
        """
        with self.translated():
            for _ in range(2):
                replies = self._send(calls)
                if not any(isinstance(reply, redis.exceptions.NoScriptError) for reply in replies):
                    break
                for script, _, _ in calls:
                    self.client.script_load(script.text)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
            return replies

    def _send(self, calls: Sequence[tuple[Script, Sequence[str], Sequence[Any]]]) -> list[Any]:
        pipe = self.client.pipeline(transaction=False)
        for script, keys, args in calls:
            pipe.evalsha(script.digest, len(keys), *keys, *args)
        return list(pipe.execute(raise_on_error=False))

    @contextmanager
    def translated(self) -> Iterator[Any]:
        """The client, for reads; its exceptions leave as ours. Untyped: its annotations name all a reply can be."""
        try:
            yield self.client
            self._answered = True
        except redis.exceptions.RedisError as error:
            raise self._ours(error) from error
        except (OSError, ssl.SSLError) as error:
            raise self._ours(redis.exceptions.ConnectionError(str(error))) from error

    def twin(self, *, answer_seconds: float) -> Server:
        """The same server on connections of its own, with more patience: for waiting."""
        kwargs = dict(self.client.connection_pool.connection_kwargs)
        kwargs["socket_timeout"] = answer_seconds
        pool = redis.ConnectionPool(connection_class=self.client.connection_pool.connection_class, **kwargs)
        return Server(redis.Redis(connection_pool=pool), url=self.url)

    def drop(self) -> None:
        """Cut every connection, also under a thread that waits on one."""
        self.client.connection_pool.disconnect(inuse_connections=True)

    def close(self) -> None:
        """Close connections, and leave the embedded server, if it is one."""
        self.client.connection_pool.disconnect()
        if self._attached is not None:
            self._attached.close()

    def _ours(self, error: redis.exceptions.RedisError) -> ServerError:
        text = str(error)
        for matches, translate, lasting in _REFUSALS:
            if matches(error, text):
                return ServerRefused(f"{self.url}{translate(self.url, text)}", given=self.url, lasting=lasting)
        if isinstance(error, (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)):
            return ServerUnreachable(f"{self.url}: {self._unreachable(error, text)}", given=self.url)
        if _starts(text, "LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED"):
            return ServerUnreachable(f"{self.url}: {text}. It is not ready yet; try again.", given=self.url)
        return ServerRefused(f"{self.url}: {text}", given=self.url)

    def _unreachable(self, error: Exception, text: str) -> str:
        url = self.url
        cause = error.__cause__ or error.__context__
        secure = url.startswith("rediss://")
        other = ("redis" if secure else "rediss") + url[url.index("://") :]
        if isinstance(cause, ssl.SSLError) or "SSL" in text or "WRONG_VERSION_NUMBER" in text:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return f"its certificate is not trusted ({cause.verify_message}). Give ssl_ca_certs=FILE in the URL."
            return f"no TLS answer; the port seems to speak plain Redis. Try {other}."
        if isinstance(error, redis.exceptions.TimeoutError):
            if secure:
                return f"no TLS answer within {ANSWER_SECONDS:.0f} s; the port seems to speak plain Redis. Try {other}."
            return f"no answer within {ANSWER_SECONDS:.0f} s. {_WAYS_OUT}"
        if "refused" in text:
            return f"connection refused. {_WAYS_OUT}"
        if "closed by server" in text and not self._answered and not secure:
            return f"closed without an answer; if the port speaks TLS, try {other}."
        if any(word in text.lower() for word in ("closed by server", "reset by peer", "broken pipe")):
            return f"connection cut. {_WAYS_OUT}"
        if "No such file" in text:
            return f"no server listens there. {_WAYS_OUT}"
        return f"{text.rstrip('.')}. {_WAYS_OUT}"


def connect(url: str | redis.Redis, *, shown: str | None = None, attached: Closeable | None = None) -> Server:
    """A server from a URL or from a client, whose connection settings are then used. No I/O.

    `shown` stands in messages instead of the URL; `attached` is closed with the server. Raises InvalidSchedule for
    what is neither URL nor client.
    """
    if isinstance(url, redis.Redis):
        kwargs = dict(url.connection_pool.connection_kwargs)
        kwargs.update(decode_responses=False)
        pool = redis.ConnectionPool(connection_class=url.connection_pool.connection_class, **kwargs)
        client = redis.Redis(connection_pool=pool)
        return Server(client, url=shown_url(client))
    if not isinstance(url, str):
        raise InvalidSchedule(
            f"redis= is a {type(url).__name__}; give a URL (redis://host:port/db) or a redis.Redis client, "
            "whose connection settings are then used.",
            given=url,
        )
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in SCHEMES:
        accepted = " ".join(f"{s}://" for s in SCHEMES)
        raise InvalidSchedule(f"redis={_masked(url)!r} is not a URL of a server. Accepted: {accepted}.", given=url)
    try:
        client = redis.Redis.from_url(
            url,
            protocol=2,
            decode_responses=False,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            health_check_interval=0,
            retry=Retry(NoBackoff(), 0),
            **({} if scheme == "unix" else {"socket_keepalive": True}),
        )
    except (ValueError, TypeError) as error:
        raise InvalidSchedule(f"redis={_masked(url)!r} is not a URL of a server: {error}.", given=url) from error
    return Server(client, url=shown or shown_url(client), attached=attached)


def shown_url(client: redis.Redis) -> str:
    """Where a client connects to, as a URL without its password."""
    kwargs = client.connection_pool.connection_kwargs
    password = ":***@" if kwargs.get("password") else ""
    if user := kwargs.get("username"):
        password = f"{user}{password or '@'}"
    if path := kwargs.get("path"):
        return f"unix://{password}{path}?db={kwargs.get('db', 0)}"
    secure = issubclass(client.connection_pool.connection_class, redis.SSLConnection)
    host, port, db = kwargs.get("host", "localhost"), kwargs.get("port", 6379), kwargs.get("db") or 0
    return f"{'rediss' if secure else 'redis'}://{password}{host}:{port}/{db}"


def _masked(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("@")[2] or url
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:***@{parts.netloc.rpartition('@')[2]}"))


def _starts(text: str, *words: str) -> bool:
    return text.startswith(words)


Refusal = tuple[Callable[[Exception, str], bool], Callable[[str, str], str], bool]


def _wants_password(url: str, _: str) -> str:
    scheme, _, place = url.partition("://")
    return f" needs a password. Write {scheme}://:PASSWORD@{place.rpartition('@')[2]}."


# redis-py files AuthenticationError under ConnectionError, so refusals are looked for first.
_REFUSALS: tuple[Refusal, ...] = (
    (
        lambda e, t: "NOAUTH" in t or "Authentication required" in t or "called without any password" in t,
        _wants_password,
        True,
    ),
    (
        lambda e, t: isinstance(e, redis.exceptions.AuthenticationError) or "WRONGPASS" in t,
        lambda url, t: ": the password is wrong.",
        True,
    ),
    (lambda e, t: "NOPERM" in t, lambda url, t: f": this user may not do that ({t}).", True),
    (
        lambda e, t: isinstance(e, redis.exceptions.ReadOnlyError) or "READONLY" in t,
        lambda url, t: " is a read-only replica. Name the primary, or use redis+sentinel://.",
        False,
    ),
    (
        lambda e, t: isinstance(e, redis.exceptions.OutOfMemoryError) or "OOM" in t,
        lambda url, t: (
            " is out of memory (maxmemory) and took nothing. Add memory; nothing was half-added, so simply add again."
        ),
        False,
    ),
    (
        lambda e, t: "CROSSSLOT" in t or _starts(t, "MOVED", "ASK "),
        lambda url, t: (
            " is a cluster, and the keys of this schedule would fall into different slots. "
            "Put the schedule's name into braces."
        ),
        True,
    ),
    (lambda e, t: "DB index is out of range" in t, lambda url, t: ": there is no such database.", True),
)


_WAYS_OUT = "Start a Redis or Valkey there, name another with --redis URL, or use a private one: --embedded."
