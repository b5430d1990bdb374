"""Find a primary that sentinels watch: ask them at every connect, and ask the primary itself for its role."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.route import Misdirected, Unlocated, ask_node, reason
from workkit.clocks import time

LOOK_SECONDS = 2.0  # between checks that the primary is still one
DEAF_SECONDS = 10.0  # between checks while no sentinel answers


class _Primary(ABC):
    """What both ways to a primary share: they refuse a primary that was replaced, and leave it soon."""

    address: Node | None = None
    _look_at = 0.0

    @abstractmethod
    def candidates(self) -> Iterator[Node]:
        """Yield the primary that the sentinels name."""

    def refresh(self) -> None:
        """Ask whether another server is the primary. A live primary that was replaced accepts writes for some seconds,
        until the sentinels demote it, and then forgets them.
        """
        now = time.monotonic()
        if self.address is None or now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        try:
            self.address = next(self.candidates(), self.address)
        except (redis.exceptions.RedisError, OSError):
            self._look_at = now + DEAF_SECONDS

    def follow(self, pool: redis.ConnectionPool, ask_once: Callable[[], list[Any]]) -> list[Any]:
        """Return the replies of the connected server."""
        return ask_once()

    def admit(self, connection: Any) -> None:
        """Accept a server only if it is a primary: sentinels may be late, and a demoted one still answers."""
        with suppress(redis.exceptions.ResponseError):  # this user may not ask; a write to a replica fails anyway
            connection.send_command("ROLE")
            role = connection.read_response()[0]
            if role not in (b"master", "master"):
                raise redis.exceptions.ConnectionError("is a replica; the sentinels have not named another primary yet")
        self._look_at = time.monotonic() + LOOK_SECONDS


class Sentinels(_Primary):
    """Sentinels by address. The next time, those that did not answer are asked last."""

    def __init__(self, nodes: Sequence[Node], *, service: str, secure: bool, settings: Mapping[str, Any]) -> None:
        self._nodes, self._service = tuple(nodes), service
        self._secure, self._settings = secure, settings

    def candidates(self) -> Iterator[Node]:
        """Yield the primary that each sentinel names. Ask the next sentinel only if the caller cannot use that one."""
        named: set[Node] = set()
        silent: dict[Node, str] = {}
        ignorant: list[Node] = []
        for node in self._nodes:
            try:
                primary = self._named_by(node)
            except (redis.exceptions.RedisError, OSError) as error:
                silent[node] = _why(error, node, self._settings)
                continue
            if primary is None:
                ignorant.append(node)
            elif primary not in named:
                named.add(primary)
                self._last(silent)
                yield primary
        self._last(silent)
        if named:
            return
        if ignorant:
            what = f'the sentinels know no service "{self._service}"'
            raise Misdirected(what, remedy=self._services(ignorant[0]), lasting=False)
        said = ", ".join(f"{written(node)} {why}" for node, why in silent.items())
        raise Unlocated(f"no sentinel can be asked: {said}", remedy="Start one there, or name others.")

    def _named_by(self, node: Node) -> Node | None:
        found = self._ask(node, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service)
        return None if found is None else (found[0].decode(), int(found[1]))

    def _services(self, node: Node) -> str:
        names = []
        with suppress(redis.exceptions.RedisError, OSError):
            names = [_fields(one).get(b"name", b"?").decode() for one in self._ask(node, "SENTINEL", "MASTERS")]
        return f"They know: {', '.join(sorted(names))}." if names else "They know none."

    def _ask(self, node: Node, *command: str) -> Any:
        return ask_node(node, *command, secure=self._secure, settings=self._settings)

    def _last(self, silent: Mapping[Node, str]) -> None:
        self._nodes = (*(n for n in self._nodes if n not in silent), *(n for n in self._nodes if n in silent))


class GivenSentinels(_Primary):
    """The sentinels of a user's client, asked through it: it may map the addresses that they name."""

    def __init__(self, manager: Any, *, service: str) -> None:
        self._manager, self._service = manager, service

    def candidates(self) -> Iterator[Node]:
        """Yield the primary that the client's sentinels name."""
        host, port = self._manager.discover_master(self._service)
        yield host.decode() if isinstance(host, bytes) else host, int(port)


def _fields(flat: Any) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _why(error: Exception, node: Node, settings: Mapping[str, Any]) -> str:
    if isinstance(error, redis.exceptions.AuthenticationError) or code_of(error) in ("NOAUTH", "WRONGPASS"):
        return "wants another password (?sentinel_password=)"
    if isinstance(error, redis.exceptions.ResponseError) and code_of(error) == "ERR":  # it does not know the command
        return "is not a sentinel"
    return reason(error, node, settings)
