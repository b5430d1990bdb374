"""Keep connections open: send commands in one write, and read their answers later.

For every command, a client of redis-py takes a connection from its pool, checks it and gives it back. That costs as
much as a short round trip. This module does it once.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Sequence
from typing import Any

import redis
from hiredis import pack_command
from redis.client import Pipeline

from workkit.clocks import time

AS_READ = "surrogateescape"  # write names as the bytes that were read
IDLE = 1.0  # seconds without use after which a server may have closed a connection


class Wires:
    """The unused connections of one pool. Thread-safe; raises what redis-py raises."""

    def __init__(self, pool: redis.ConnectionPool) -> None:
        self._pool = pool
        self._free: deque[tuple[Any, float]] = deque()
        self._pid = os.getpid()

    def send(self, commands: Sequence[tuple[Any, ...]]) -> Sent:
        """Write commands to a connection. Nothing else uses it until their answers are read."""
        connection = self._taken()
        try:
            try:
                packed = b"".join(map(pack_command, commands))
            except UnicodeEncodeError:  # a name from another program that is no text
                packed = b"".join(map(_packed, commands))
            connection.send_packed_command([packed])
        except BaseException:
            self.drop(connection)
            raise
        return Sent(self, connection, len(commands))

    def keep(self, connection: Any) -> None:
        """Put a connection back after all its answers were read."""
        self._free.append((connection, time.monotonic()))

    def drop(self, connection: Any) -> None:
        """Close a connection after an error."""
        connection.disconnect()
        self._pool.release(connection)

    def give_back(self) -> None:
        """Give the unused connections back to the pool."""
        with contextlib.suppress(IndexError):
            while True:
                self._pool.release(self._free.pop()[0])

    def _taken(self) -> Any:
        if self._pid != os.getpid():  # this process was forked: its parent uses them
            self._free.clear()
            self._pid = os.getpid()
        try:
            connection, since = self._free.pop()
        except IndexError:
            return self._pool.get_connection()
        if time.monotonic() - since > IDLE and _is_closed(connection):
            connection.disconnect()
        if connection._sock is None:
            try:
                connection.connect()
            except BaseException:
                self.drop(connection)
                raise
        return connection


class Sent:
    """Commands that were sent, and whose answers were not read yet."""

    __slots__ = ("_connection", "_count", "_wires")

    def __init__(self, wires: Wires, connection: Any, count: int) -> None:
        self._wires, self._connection, self._count = wires, connection, count

    def replies(self) -> list[Any]:
        """Wait for the answer to each command; errors of the server are among them. Call it once."""
        connection, replies = self._connection, []
        try:
            for _ in range(self._count):
                try:
                    replies.append(connection.read_response())
                except redis.exceptions.ResponseError as error:
                    replies.append(error)
        except BaseException:
            self._wires.drop(connection)
            raise
        self._wires.keep(connection)
        return replies


class Packer:
    """Packs the commands of a client of redis-py, whose own packer cannot write a name that is no text."""

    def pack(self, *command: Any) -> list[bytes]:
        """Pack one command; its first part may be several words."""
        first, *rest = command
        words = first.encode().split() if isinstance(first, str) else first.split()
        try:
            return [_packed((*words, *rest))]
        except TypeError as error:
            raise redis.exceptions.DataError(str(error)) from error


def _packed(command: tuple[Any, ...]) -> bytes:
    try:
        packed = pack_command(command)
    except UnicodeEncodeError:  # a name from another program that is no text
        parts: tuple[Any, ...] = tuple(p.encode("utf-8", AS_READ) if type(p) is str else p for p in command)
        packed = pack_command(parts)
    return packed  # type: ignore[no-any-return]  # hiredis does not say


class _OwnTime:
    """Answers `time` with that of this machine, where the user may not call TIME. Scripts know the last instant too."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        """Read one reply."""
        plain: Any = super()
        try:
            return plain.parse_response(connection, command_name, **options)
        except redis.exceptions.NoPermissionError:
            if command_name != "TIME":
                raise
            return divmod(time.time_ns() // 1000, 1_000_000)


class TimePipeline(_OwnTime, Pipeline):
    """A pipeline of a `TimeClient`."""


class TimeClient(_OwnTime, redis.Redis):
    """A client that can always tell the time."""

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        """Make a pipeline: several commands in one write."""
        return TimePipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


def _is_closed(connection: Any) -> bool:
    try:
        return bool(connection.can_read())  # no answer is outstanding: it can only be the end
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError):
        return True
