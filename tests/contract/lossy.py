"""A server whose next reply gets lost after it has acted, as where a connection is cut. Others may act before reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from workkit.brokers.redis_server.server import PendingCalls, Server
from workkit.errors import ServerUnreachable


class Lossy:
    """Stands before the `Server` of a broker; `lose` counts the replies that get lost next. `before_read` acts before
    each reading of any such server.
    """

    before_read: ClassVar[Callable[[], None] | None] = None

    def __init__(self, inner: Any) -> None:
        self._inner, self.lose = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def lose_next(self) -> None:
        """Lose the next reply."""
        self.lose = 1

    def translated(self) -> Any:
        act, Lossy.before_read = Lossy.before_read, None  # it may read too
        try:
            if act is not None:
                act()
        finally:
            Lossy.before_read = act
        return self._inner.translated()

    def answers(self, asked: PendingCalls) -> list[Any]:
        replies: list[Any] = self._inner.answers(asked)
        if self.lose:
            self.lose -= 1
            raise ServerUnreachable("cut")
        return replies

    def call(self, script: Any, keys: Any, args: Any) -> Any:
        return self.answers(self._inner.ask([(script, keys, args)]))[0]

    run = Server.run
