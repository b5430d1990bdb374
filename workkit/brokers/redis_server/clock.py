"""The clock of a server, estimated between its answers."""

from __future__ import annotations

from contextlib import suppress

from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.errors import ServerError

STEP = 0.5  # seconds by which the two clocks of this machine may part before the server is asked again
AGAIN = 1.0  # seconds until the next try, if it does not answer then


class ServerClock:
    """The steady clock of this machine, set right by what a server has said; on a test clock, the server asked each
    time. Thread-safe.

    A step of this machine's wall clock changes nothing. The steady clock stands still while the machine is suspended:
    the wall clock tells it, and the server is asked again.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._ahead_ms: float | None = None  # the server's clock minus our steady one
        self._apart = 0.0  # our wall clock minus our steady one, when the server was heard
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
        """Return milliseconds that only grow, to measure how long something takes; on a test clock, its time."""
        return self.now_ms() if self._server.is_on_test_clock else time.monotonic() * 1000

    def heard(self, server_ms: float, asked: float) -> None:
        """Note the time in an answer that has just come. `asked`: when it was asked for, `time.monotonic()` seconds."""
        now = time.monotonic()
        self._ahead_ms = server_ms - (asked + now) / 2 * 1000
        self._apart = time.time() - now
