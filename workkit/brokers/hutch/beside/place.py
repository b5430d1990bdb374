"""Where the Redis beside an exchange is, and a call to one of its scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.errors import ServerError, ServerUnreachable


@dataclass(frozen=True, slots=True)
class Beside:
    """A Redis, and the keys of one exchange there."""

    server: Server
    keys: Keys

    def call(self, verb: str, args: Sequence[Any], **of: str) -> Any:
        """Run a script. Raises ServerUnreachable, ServerRefused, which name the Redis."""
        script = load("hutch")[verb]
        try:
            return self.server.call(script, script.keys(self.keys, **of), args)
        except ServerUnreachable as error:
            raise self._named(error) from error

    def _named(self, error: ServerError) -> ServerUnreachable:
        """Say that it is the Redis: the URL of this schedule is that of the RabbitMQ."""
        trouble = f"the Redis beside it, {self.server.url}: {error.trouble or error}"
        return ServerUnreachable(str(error), where=error.where, trouble=trouble, remedy=error.remedy)
