"""Find the node of a cluster that owns one slot, and follow the slot when it moves.

All keys of a schedule are in one slot, by the {tag} in its name. So one plain connection to that node serves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import redis
from redis.crc import key_slot

from workkit.brokers.redis_server.address import Node, written
from workkit.brokers.redis_server.pipe import TimeClient, TimePipeline
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.route import Misdirected, Unlocated, ask_node, reason
from workkit.clocks import time
from workkit.errors import InvalidSchedule

HOPS = 3  # how often one call follows a slot from node to node
PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)  # seconds between tries while the keys of the slot move


def tag_of(name: str) -> str:
    """Find the text that chooses the slot: between the first ``{`` and the next ``}``; empty if there is none."""
    tag, closed, _ = name.partition("{")[2].partition("}")
    return tag if closed else ""


def check_tag(name: str) -> None:
    """Refuse the name of a schedule whose keys would fall into different slots. Raises InvalidSchedule."""
    if not tag_of(name):
        better = f"{{{name}}}"
        raise InvalidSchedule(
            f'schedule "{name}" on a cluster: its keys would fall into different slots. Name it "{better}".',
            given=name,
            suggestion=better,
        )


class SlotOwner:
    """The node that owns the slot of one schedule. It remembers all nodes that were named: the first may go away."""

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
    """Read a node of CLUSTER SLOTS. One that does not know its own host has the host that was asked."""
    host = (node[0] or b"").decode()
    return (host if host not in ("", "?") else asked[0]), int(node[1])
