"""Connections kept at hand: what is asked goes out in one write, and its answers are read when they are wanted.

A client of redis-py takes a connection from its pool, looks at it and gives it back for every command, which costs as
much as a short round trip. Here that is done once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import redis
from hiredis import pack_command

AS_READ = "surrogateescape"  # names are written back as the bytes that were read
IDLE = 1.0  # seconds after which a server may have closed a connection that nobody used


class Wires:
    """Connections of one pool that nobody uses right now. Thread-safe; raises what redis-py raises."""

    def __init__(self, pool: redis.ConnectionPool) -> None:
        self._pool = pool
        self._free: deque[tuple[Any, float]] = deque()
        self._pid = os.getpid()

    def send(self, commands: Sequence[tuple[Any, ...]]) -> Sent:
        """Write commands to a connection that is not used for anything else until their answers were read."""
        connection = self._taken()
        try:
            connection.send_packed_command([b"".join(map(_packed, commands))])
        except BaseException:
            self.drop(connection)
            raise
        return Sent(self, connection, len(commands))

    def keep(self, connection: Any) -> None:
        """Put a connection back whose answers were all read."""
        self._free.append((connection, time.monotonic()))

    def drop(self, connection: Any) -> None:
        """Close a connection that something went wrong with."""
        connection.disconnect()
        self._pool.release(connection)

    def give_back(self) -> None:
        """Give those that nobody uses back to the pool."""
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
    """Commands that are on their way."""

    __slots__ = ("_connection", "_count", "_wires")

    def __init__(self, wires: Wires, connection: Any, count: int) -> None:
        self._wires, self._connection, self._count = wires, connection, count

    def replies(self) -> list[Any]:
        """Wait for the answer to each, errors of the server among them. Once."""
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


def _packed(command: tuple[Any, ...]) -> bytes:
    try:
        packed = pack_command(command)
    except UnicodeEncodeError:  # a name that somebody else wrote, and that is no text
        parts: tuple[Any, ...] = tuple(p.encode("utf-8", AS_READ) if type(p) is str else p for p in command)
        packed = pack_command(parts)
    return packed  # type: ignore[no-any-return]  # hiredis does not say


def _is_closed(connection: Any) -> bool:
    try:
        return bool(connection.can_read())  # nothing was asked: it can only be the end
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError):
        return True
