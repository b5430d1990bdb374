"""Send commands to a server on connections that stay open, or with the client of redis-py for all other commands.

For every command, a client of redis-py takes a connection from its pool, checks it and gives it back. That costs as
much as a short round trip. `Wires` does it once: it sends commands in one write, and reads their answers later.
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
        self._free: deque[tuple[Any, float]] = deque()  # the unused connections, and when each was last used
        self._pid = os.getpid()

    def send(self, commands: Sequence[tuple[Any, ...]]) -> Any:
        """Write commands to a connection, and return it: nothing else uses it until `replies` has read the answers."""
        if self._pid != os.getpid():  # this process was forked: its parent uses them
            self._free.clear()
            self._pid = os.getpid()
        now = time.monotonic()
        try:
            connection, since = self._free.pop()
        except IndexError:
            connection, since = self._pool.get_connection(), now
        try:
            if now - since > IDLE and _is_closed(connection):
                connection.disconnect()
            if connection._sock is None:
                connection.connect()
            try:
                packed = b"".join(map(pack_command, commands))
            except UnicodeEncodeError:  # a name from another program that is no text
                packed = b"".join(map(_packed_as_read, commands))
            connection.send_packed_command([packed])
        except BaseException:
            self.drop(connection)
            raise
        return connection

    def replies(self, connection: Any, count: int) -> list[Any]:
        """Wait for the answers to as many commands as were sent; errors of the server are among them."""
        replies = []
        try:
            for _ in range(count):
                try:
                    replies.append(connection.read_response())
                except redis.exceptions.ResponseError as error:
                    replies.append(error)
        except BaseException:
            self.drop(connection)
            raise
        self._free.append((connection, time.monotonic()))
        return replies

    def drop(self, connection: Any) -> None:
        """Close a connection after an error."""
        connection.disconnect()
        self._pool.release(connection)

    def give_back(self) -> None:
        """Give the unused connections back to the pool."""
        with contextlib.suppress(IndexError):
            while True:
                self._pool.release(self._free.pop()[0])


class Packer:
    """Packs the commands of a client of redis-py. The packer of redis-py itself cannot write a name that is no text."""

    def pack(self, *command: Any) -> list[bytes]:
        """Pack one command. Its first part may have several words."""
        first, *rest = command
        words = first.encode().split() if isinstance(first, str) else first.split()
        parts = (*words, *rest)
        try:
            try:
                return [pack_command(parts)]
            except UnicodeEncodeError:
                return [_packed_as_read(parts)]
        except TypeError as error:
            raise redis.exceptions.DataError(str(error)) from error


def _packed_as_read(command: tuple[Any, ...]) -> bytes:
    """Pack a command that may have a name from another program that is no text."""
    parts: tuple[Any, ...] = tuple(p.encode("utf-8", AS_READ) if type(p) is str else p for p in command)
    return pack_command(parts)  # type: ignore[no-any-return]  # hiredis does not say


class TimeClient(redis.Redis):
    """A client that always returns the time: that of this machine if its user may not call TIME. Scripts also know the
    last instant.
    """

    def time(self, **kwargs: Any) -> Any:
        """Ask for the time: seconds and microseconds."""
        try:
            return super().time(**kwargs)
        except redis.exceptions.NoPermissionError:
            return own_time()

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        """Make a pipeline: several commands in one write."""
        return TimePipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class TimePipeline(Pipeline):
    """A pipeline of a `TimeClient`."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        """Read one reply."""
        plain: Any = super()
        try:
            return plain.parse_response(connection, command_name, **options)
        except redis.exceptions.NoPermissionError:
            if command_name != "TIME":
                raise
            return own_time()


def own_time() -> tuple[int, int]:
    """Return the time of this machine: seconds and microseconds."""
    return divmod(time.time_ns() // 1000, 1_000_000)


def _is_closed(connection: Any) -> bool:
    try:
        return bool(connection.can_read())  # no answer is outstanding: it can only be the end
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError):
        return True
