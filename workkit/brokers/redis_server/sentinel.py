"""The way to a primary that sentinels watch: they are asked at every connect, and the primary itself about its role."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.route import Misdirected, Unlocated, ask_node, reason

LOOK_SECONDS = 2.0  # between looks at whether the primary is still one
DEAF_SECONDS = 10.0  # the same while no sentinel answers


class _Primary(ABC):
    """What both ways to a primary share: one that was replaced is not taken, and is left soon."""

    address: Node | None = None
    _look_at = 0.0

    @abstractmethod
    def candidates(self) -> Iterator[Node]:
        """The primary as sentinels name it."""

    def refresh(self) -> None:
        """Ask whether another is the primary: one that was replaced while it lived takes writes until the sentinels
        tell it, seconds later, and forgets them then.
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
        """Whoever answers is the one."""
        return ask_once()

    def admit(self, connection: Any) -> None:
        """Take it only as primary: sentinels may be late, and a demoted one still answers."""
        with suppress(redis.exceptions.ResponseError):  # it may not tell this user; writing to a replica fails anyway
            connection.send_command("ROLE")
            role = connection.read_response()[0]
            if role not in (b"master", "master"):
                raise redis.exceptions.ConnectionError("is a replica; the sentinels have not named another primary yet")
        self._look_at = time.monotonic() + LOOK_SECONDS


class Sentinels(_Primary):
    """Sentinels by address. Those that did not answer are asked last the next time."""

    def __init__(self, nodes: Sequence[Node], *, service: str, secure: bool, settings: Mapping[str, Any]) -> None:
        self._nodes, self._service = tuple(nodes), service
        self._secure, self._settings = secure, settings

    def candidates(self) -> Iterator[Node]:
        """The primary as each sentinel names it; the next one is asked only where the former's was none."""
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
    """The sentinels of a client that was given, asked by its own means: it may see other addresses than they say."""

    def __init__(self, manager: Any, *, service: str) -> None:
        self._manager, self._service = manager, service

    def candidates(self) -> Iterator[Node]:
        """The primary as the client's sentinels name it."""
        host, port = self._manager.discover_master(self._service)
        yield host.decode() if isinstance(host, bytes) else host, int(port)


def _fields(flat: Any) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _why(error: Exception, node: Node, settings: Mapping[str, Any]) -> str:
    text = str(error)
    if isinstance(error, redis.exceptions.AuthenticationError) or "NOAUTH" in text or "WRONGPASS" in text:
        return "wants another password (?sentinel_password=)"
    if "unknown command" in text:
        return "is not a sentinel"
    return reason(error, node, settings)
