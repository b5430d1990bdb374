"""The clock of a server, estimated between its answers."""

from __future__ import annotations

import time

from workkit.brokers.redis_server.server import Server


class ServerClock:
    """The clock of this machine, set right by what a server has said; on a test clock, the server asked each time.
    Thread-safe.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._ahead_ms: float | None = None  # the server's clock minus ours

    def now_ms(self) -> int:
        """Estimate the time in epoch milliseconds. The first call asks the server: see `Server.translated`."""
        if self._server.is_on_test_clock:
            with self._server.translated() as client:
                seconds, micros = client.time()
            return int(seconds * 1000 + micros // 1000)
        if self._ahead_ms is None:
            with self._server.translated() as client:
                for _ in range(2):  # the first question may open the connection, and its time says little
                    asked = time.time()
                    seconds, micros = client.time()
                    self.heard(seconds * 1000 + micros / 1000, asked)
        return round(time.time() * 1000 + (self._ahead_ms or 0.0))

    def steady_ms(self) -> float:
        """Return milliseconds that only grow, to measure how long something takes; on a test clock, its time."""
        return self.now_ms() if self._server.is_on_test_clock else time.monotonic() * 1000

    def heard(self, server_ms: float, asked: float) -> None:
        """Note the time in an answer that has just come. `asked`: when it was asked for, in epoch seconds."""
        self._ahead_ms = server_ms - (asked + time.time()) / 2 * 1000
