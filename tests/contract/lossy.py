"""A server whose next reply gets lost after it has acted, as where a connection is cut."""

from __future__ import annotations

from typing import Any

from workkit.brokers.redis_server.server import PendingCalls
from workkit.errors import ServerUnreachable


class Lossy:
    """Stands before the `Server` of a broker; `lose` counts the replies that get lost next."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.lose = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def lose_next(self) -> None:
        """Lose the next reply."""
        self.lose = 1

    def answers(self, asked: PendingCalls) -> list[Any]:
        replies: list[Any] = self._inner.answers(asked)
        if self.lose:
            self.lose -= 1
            raise ServerUnreachable("cut")
        return replies

    def call(self, script: Any, keys: Any, args: Any) -> Any:
        return self.answers(self._inner.ask([(script, keys, args)]))[0]
