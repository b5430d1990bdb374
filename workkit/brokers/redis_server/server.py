"""A Redis or Valkey server as workkit uses it: its calls, its refusals and its clock.

The exceptions of the client library become ours here; the original one stays the cause. An embedded server that is gone
is started again here. `connecting.py` makes a server from a URL or a client.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

import redis

from workkit import events
from workkit.brokers.redis_server.address import Node
from workkit.brokers.redis_server.pipe import Wires
from workkit.brokers.redis_server.primaries import SlotOwner
from workkit.brokers.redis_server.refusal import ServerPlace, code_of, is_in_client, refusal, wrong_types
from workkit.brokers.redis_server.route import Route, settings_of
from workkit.brokers.redis_server.script import Script, ScriptTime, load
from workkit.clocks import time
from workkit.errors import ServerError, WorkkitError

_REPETITIONS = 3  # at most: load the scripts, do without TIME, load the scripts for that
_ANSWERS = frozenset((list, bytes, int, type(None)))  # the types of answers that are no errors
STEP = 0.5  # seconds that the two clocks of this machine may drift apart before the server is asked again
AGAIN = 1.0  # seconds until the next try, if the server does not answer
GONE_SECONDS = 2.0  # seconds after which a caller starts an embedded server again
FORGOTTEN_SECONDS = 10.0  # most seconds between two failures of one absence
Call = tuple[Script, Sequence[str], Sequence[Any]]
PendingCalls = tuple[Sequence[Call], Any]  # script calls that were sent, and the connection that brings their answers


class Attachment(Protocol):
    """Holds an embedded server: it is closed with the server, and starts the program again if that is gone."""

    def revive(self) -> bool:
        """Start the program if it is gone. True: this call has started it. May take a while."""

    def close(self) -> None:
        """Close it."""


class Reviver:
    """Starts an embedded server again after it was gone for `GONE_SECONDS`, in a thread of its own. Thread-safe."""

    def __init__(self, attached: Attachment | None, *, url: str, schedule: str) -> None:
        self._attached, self._url, self._schedule = attached, url, schedule
        self._lock = threading.Lock()
        self.tries: list[float] = []  # monotonic seconds of failed calls since the last answer: the first, the last
        self._is_busy = False

    def failed(self) -> None:
        """Note that a call found no server. A failure long after the last one begins another absence."""
        if self._attached is None:
            return
        now = time.monotonic()
        with self._lock:
            first, last = self.tries or (now, now)
            self.tries = [first if now - last < FORGOTTEN_SECONDS else now, now]
            if self._is_busy or now - self.tries[0] < GONE_SECONDS:
                return
            self._is_busy = True
        threading.Thread(target=self._revive, name="workkit-revive", daemon=True).start()

    def answered(self) -> None:
        """Note that the server answers."""
        self.tries = []

    def _revive(self) -> None:
        try:
            if self._attached is not None and self._attached.revive():
                events.emit("revived", self._schedule or None, url=self._url)
        except (WorkkitError, OSError):
            pass  # callers see that it is away; the next of them tries again
        finally:
            with self._lock:
                self.tries, self._is_busy = [], False


class Server:
    """One server as its clients see it. Thread-safe; every call raises only ServerUnreachable or ServerRefused.

    With a `route` the server may change. An error that shows a change closes the connections, and the next call looks
    for the new server. `schedule` is its name in messages.
    """

    is_on_test_clock = False  # whether tests move its clock: then no answer predicts the next one

    def __init__(
        self,
        client: redis.Redis,
        *,
        url: str,
        attached: Attachment | None = None,
        schedule: str = "",
        route: Route | None = None,
    ) -> None:
        self.client, self.url = client, url
        self._attached, self._schedule, self._route = attached, schedule, route
        self._address: Node | None = None  # the address that answered the last call
        self._twins: list[Server] = []
        self._wires = Wires(client.connection_pool)
        self._reviver = Reviver(attached, url=url, schedule=schedule)
        self._time = ScriptTime(client, schedule)
        self._answered = False  # whether it has answered once: a connection closed later was cut, not refused

    def call(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run one script. Load it first if the server does not have it."""
        return self.exchange([(script, keys, args)])[0]

    def run(self, keys: Any, verb: str, args: Sequence[Any], **of: str | tuple[str, ...]) -> Any:
        """Run a script of the layout of these keys: see `Script.keys`."""
        script = load(keys.layout)[verb]
        return self.call(script, script.keys(keys, **of), args)

    def exchange(self, calls: Sequence[Call]) -> list[Any]:
        """Run scripts in one write and one read."""
        return self.answers(self.ask(calls))

    def ask(self, calls: Sequence[Call]) -> PendingCalls:
        """Send scripts in one write, and do not wait; `answers` must follow."""
        try:
            if self._route is not None:
                self._leave_if_moved(self._route)
            return calls, self._send(calls)
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error) from error

    def answers(self, asked: PendingCalls) -> list[Any]:
        """Return the answers of scripts that were sent. If the server does not have one, load and send all of them
        again: the scripts recognise a repeated request by its number.
        """
        calls, connection = asked
        try:
            if self._route is None:
                replies = self._wires.replies(connection, len(calls))
            else:
                replies = self._rerouted(asked, self._route)
            # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in calls))} answered
            if not _ANSWERS.issuperset(map(type, replies)):
                replies = self._repeated(replies, calls)
            self._answered = True
            if self._reviver.tries:
                self._reviver.answered()
            if self._route is not None:
                self._arrived(self._route)
            return replies
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error, calls) from error

    def _repeated(self, replies: list[Any], calls: Sequence[Call]) -> list[Any]:
        """Send scripts again if that helps, and return their answers. Raises an error that the server answered."""
        for _ in range(_REPETITIONS):
            if not self._must_repeat(replies, calls):
                break
            connection = self._send(calls)
            if self._route is None:
                replies = self._wires.replies(connection, len(calls))
            else:
                replies = self._rerouted((calls, connection), self._route)
            # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in calls))} answered
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
        calls, sent = asked[0], [asked[1]]

        def retry_once() -> list[Any]:
            if not sent:  # another node must answer
                self._start_anew()
                sent.append(self._send(calls))
            return self._wires.replies(sent.pop(), len(calls))

        return route.follow(self.client.connection_pool, retry_once)

    def _send(self, calls: Sequence[Call]) -> Any:
        # fault: {"+".join(dict.fromkeys(script.name for script, _, _ in calls))} sent
        if self._time.in_scripts is False:
            calls = self._time.given(calls)
        commands: list[tuple[Any, ...]] = []
        for script, keys, args in calls:
            commands.append(("EVALSHA", script.digest, len(keys), *keys, *args))
        return self._wires.send(commands)

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
            if self._reviver.tries:
                self._reviver.answered()
            if self._route is not None:
                self._arrived(self._route)
        except (redis.exceptions.RedisError, OSError) as error:
            raise self._ours(error) from error
        except (TypeError, ValueError, AttributeError) as error:
            if not is_in_client(error):
                raise
            raise self._ours(redis.exceptions.ConnectionError("closed by another thread")) from error

    def pop(self, keys: Sequence[str], seconds: float) -> Any:
        """Wait for an element of one of these lists, and take it. Return its key and the element; None if the time is
        over.
        """
        with self.translated() as client:
            if self._route is not None:
                return client.blpop(keys, timeout=seconds)
            (reply,) = self._wires.replies(self._wires.send([("BLPOP", *keys, seconds)]), 1)
            if isinstance(reply, Exception):
                raise reply
            return reply

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
        kind = redis.SSLConnection if is_secure_client(self.client) else redis.Connection
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


class ServerClock:
    """The server's clock: this machine's steady clock, corrected by the answers of a server. On a test clock, the
    server is asked each time. Thread-safe.

    A step of this machine's wall clock changes nothing. The steady clock stops while the machine is suspended. The wall
    clock shows that, and the server is asked again.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._ahead_ms: float | None = None  # the server's clock minus our steady one
        self._apart = 0.0  # our wall clock minus our steady one, at the last answer of the server
        self._ask_at = 0.0  # the earliest time to ask again

    def now_ms(self) -> int:
        """Estimate the time in epoch milliseconds. The first call asks the server: see `Server.translated`."""
        if self._server.is_on_test_clock:
            with self._server.translated() as client:
                seconds, micros = client.time()
            return int(seconds * 1000 + micros // 1000)
        if self._ahead_ms is None:
            self._ask()
        now = time.monotonic()
        if abs(time.time() - now - self._apart) > STEP and now >= self._ask_at:
            self._ask_at = now + AGAIN
            with suppress(ServerError):  # the estimate is good, unless this machine was suspended
                self._ask()
            now = time.monotonic()
        return round(now * 1000 + (self._ahead_ms or 0.0))

    def _ask(self) -> None:
        with self._server.translated() as client:
            for _ in range(2):  # the first question may open the connection, and its time says little
                asked = time.monotonic()
                seconds, micros = client.time()
                self.heard(seconds * 1000 + micros / 1000, asked)

    def steady_ms(self) -> float:
        """Return milliseconds that only grow, to measure a duration; on a test clock, its time."""
        return self.now_ms() if self._server.is_on_test_clock else time.monotonic() * 1000

    def heard(self, server_ms: float, asked: float) -> None:
        """Note the time in an answer that has just come. `asked`: the time of the question,
        `time.monotonic()` seconds.
        """
        now = time.monotonic()
        self._ahead_ms = server_ms - (asked + now) / 2 * 1000
        self._apart = time.time() - now


def is_secure_client(client: redis.Redis) -> bool:
    """Say whether a client connects with TLS."""
    return issubclass(client.connection_pool.connection_class, redis.SSLConnection)
