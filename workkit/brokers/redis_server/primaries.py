"""Find a primary: the node of a cluster that owns one slot, or the primary that sentinels watch.

All keys of a schedule are in one slot, by the {tag} in its name. So one plain connection to that node serves it, and
follows the slot when it moves. Sentinels are asked at every connect, and the primary itself for its role.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.crc import key_slot

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.pipe import TimeClient, TimePipeline
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.route import Misdirected, Unlocated, ask_node, reason
from workkit.clocks import time
from workkit.errors import InvalidSchedule

HOPS = 3  # times that one call follows a slot to another node
PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)  # seconds between tries while the keys of the slot move


def tag_of(name: str) -> str:
    """Find the text that chooses the slot: between the first ``{`` and the next ``}``; empty if there is none."""
    tag, closed, _ = name.partition("{")[2].partition("}")
    return tag if closed else ""


def check_tag(name: str) -> None:
    """Refuse the name of a schedule if its keys would be in different slots. Raises InvalidSchedule."""
    if not tag_of(name):
        better = f"{{{name}}}"
        raise InvalidSchedule(
            f'schedule "{name}" on a cluster: its keys would fall into different slots. Name it "{better}".',
            given=name,
            suggestion=better,
        )


class SlotOwner:
    """The node that owns the slot of one schedule. It remembers all nodes that were named, because the first one may go
    away.
    """

    def __init__(self, nodes: Sequence[Node], *, schedule: str, secure: bool, settings: Mapping[str, Any]) -> None:
        self.address: Node | None = None
        self._nodes = tuple(nodes)
        self._slot = key_slot(schedule.encode())
        self._secure, self._settings = secure, settings
        self._owner: Node | None = None

    def candidates(self) -> Iterator[Node]:
        """Yield the last known owner; then, if that one fails, the owner that the nodes name now."""
        known = self._owner
        if known is not None:
            yield known
        self._owner = found = self._found()
        if found != known:
            yield found

    def refresh(self) -> None:
        """Do nothing: a node that no longer owns the slot answers so."""

    def admit(self, connection: Any) -> None:
        """Accept any node: one that does not own the slot answers MOVED and names the owner."""

    def follow(self, pool: redis.ConnectionPool, ask_once: Callable[[], list[Any]]) -> list[Any]:
        """Return the replies of the node that owns the slot. `ask_once` may be called several times."""
        hops, pauses = HOPS, iter(PAUSES)
        while True:
            replies = ask_once()
            codes = {code_of(reply): reply for reply in replies if isinstance(reply, Exception)}
            if "MOVED" in codes and hops:
                hops -= 1
                self._moved(str(codes["MOVED"]))
                pool.disconnect(inuse_connections=False)
            elif ("ASK" in codes or "TRYAGAIN" in codes) and (pause := next(pauses, None)):
                time.sleep(pause)  # scripts name keys that do not exist yet, so neither node accepts them
            else:
                return replies

    def _moved(self, text: str) -> None:
        host, _, port = text.rpartition(" ")[2].rpartition(":")
        before = self.address
        self._owner = (host or (before[0] if before else "localhost"), int(port))
        self._remember([self._owner])

    def primaries(self) -> list[Node]:
        """Ask which nodes own slots: together they hold all keys. Raises Unlocated, Misdirected."""
        silent: dict[Node, str] = {}
        for node, ranges in self._maps(silent):
            return list(dict.fromkeys(_place(owner, node) for _, _, owner, *_ in ranges))
        raise _unlocated(silent)

    def _found(self) -> Node:
        silent: dict[Node, str] = {}
        for node, ranges in self._maps(silent):
            for first, last, owner, *_ in ranges:
                if first <= self._slot <= last:
                    return _place(owner, node)
            silent[node] = f"knows no owner of slot {self._slot}"
        raise _unlocated(silent)

    def _maps(self, silent: dict[Node, str]) -> Iterator[tuple[Node, Any]]:
        """Yield the ranges of slots as each node knows them. Those that do not answer are noted as `silent`."""
        for node in self._nodes:
            self._nodes = (*(n for n in self._nodes if n != node), node)  # the next time, ask another first
            try:
                ranges = ask_node(node, "CLUSTER", "SLOTS", secure=self._secure, settings=self._settings)
            except redis.exceptions.AuthenticationError:
                raise
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError) as error:
                silent[node] = reason(error, node, self._settings)
                continue
            except redis.exceptions.ResponseError as error:
                if code_of(error) != "ERR":
                    raise
                what = f"{written(node)} is not a node of a cluster"
                raise Misdirected(what, remedy="Use redis://.", lasting=True) from error
            self._remember([_place(one, node) for found in ranges for one in found[2:]])
            yield node, ranges

    def _remember(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(dict.fromkeys((*self._nodes, *nodes)))


class SlotClient(TimeClient):
    """A client that follows its slot: it sends a command to the node that must answer it."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send one command, and return its reply."""
        plain: Any = super().execute_command

        def ask_once() -> list[Any]:
            try:
                return [plain(*args, **options)]
            except redis.exceptions.ResponseError as error:
                return [error]

        (reply,) = _route(self).follow(self.connection_pool, ask_once)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> SlotPipeline:
        """Make a pipeline: several commands in one write."""
        return SlotPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class SlotPipeline(TimePipeline):
    """A pipeline that follows its slot. It repeats all of its commands together."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Send all commands, and return their replies."""
        commands, plain = list(self.command_stack), super().execute

        def ask_once() -> list[Any]:
            self.command_stack = list(commands)
            return plain(raise_on_error=False)

        replies = _route(self).follow(self.connection_pool, ask_once)
        if raise_on_error:
            self.raise_first_error(commands, replies)  # type: ignore[no-untyped-call]
        return replies


def _route(client: redis.Redis) -> SlotOwner:
    route: SlotOwner = client.connection_pool.connection_kwargs["route"]
    return route


def _unlocated(silent: Mapping[Node, str]) -> Unlocated:
    said = ", ".join(f"{written(node)} {why}" for node, why in silent.items())
    return Unlocated(f"no node can be asked: {said}", remedy="Start one there, or name others.")


def _place(node: Any, asked: Node) -> Node:
    """Read a node of CLUSTER SLOTS. A node without a host has the host that was asked."""
    host = (node[0] or b"").decode()
    return (host if host not in ("", "?") else asked[0]), int(node[1])


LOOK_SECONDS = 2.0  # seconds between checks that the primary is still one
DEAF_SECONDS = 10.0  # seconds between checks while no sentinel answers


class _Primary(ABC):
    """The shared part of both ways to a primary: they refuse a primary that was replaced, and leave it soon."""

    address: Node | None = None
    _look_at = 0.0

    @abstractmethod
    def candidates(self) -> Iterator[Node]:
        """Yield the primary that the sentinels name."""

    def refresh(self) -> None:
        """Check whether another server is the primary. A live primary that was replaced accepts writes for some
        seconds, until the sentinels demote it, and then forgets them.
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
    """The sentinels of a user's client, asked through it: the client may map the addresses that they name."""

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
