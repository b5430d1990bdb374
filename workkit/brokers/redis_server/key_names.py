"""Find the schedules or namespaces of a server by the names of its keys, in pages of SCAN: no command blocks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from redis.exceptions import NoPermissionError

from workkit.brokers.redis_server.pages import STEP, is_text
from workkit.brokers.redis_server.server import Server
from workkit.errors import ServerRefused

SCAN_NEEDED = "It takes the command SCAN to find them: ACL SETUSER NAME +scan."


@dataclass(frozen=True, slots=True)
class Found:
    """Names in order. `is_whole`: all keys were looked at; otherwise the time ran out."""

    names: tuple[str, ...]
    is_whole: bool


class Signs:
    """The keys that reveal a name: ``NAME:END``. `ends`: a pattern of an end -> the type of the key. `globs`: the
    patterns for SCAN, which match all such keys and few others.
    """

    def __init__(self, ends: Mapping[str, str], *, globs: Sequence[str]) -> None:
        self.globs, self._types = tuple(globs), tuple(ends.values())
        self._key = re.compile(rf"([^\s\x00-\x1f\x7f]+):(?:{'|'.join(f'({end})' for end in ends)})")

    def read(self, key: bytes) -> tuple[str, str] | None:
        """Read the name in a key, and the type that such a key has; None for any other key."""
        found = self._key.fullmatch(key.decode()) if is_text(key) else None
        return None if found is None else (found[1], self._types[(found.lastindex or 2) - 2])


def find_names(server: Server, signs: Signs, *, seconds: float | None = None) -> Found:
    """Find the names of which a server, or any primary of its cluster, has a key. Search for at most `seconds`.

    A key of another type belongs to another program. A key counts if this user may not ask for its type. Raises
    ServerError.
    """
    end, names = None if seconds is None else monotonic() + seconds, set[str]()
    try:
        for page in _pages(server, signs):
            names |= page
            if end is not None and monotonic() > end:
                return Found(tuple(sorted(names)), is_whole=False)
    except ServerRefused as error:
        if not isinstance(error.__cause__, NoPermissionError):
            raise
        message = f"{error} {SCAN_NEEDED}"
        raise ServerRefused(message, given=error.given, where=error.where, remedy=SCAN_NEEDED) from error.__cause__
    return Found(tuple(sorted(names)), is_whole=True)


def _pages(server: Server, signs: Signs) -> Iterator[set[str]]:
    for part in server.parts():
        for glob in signs.globs:
            cursor: int | None = None
            while cursor != 0:
                with part.translated() as client:
                    cursor, keys = client.scan(cursor or 0, match=glob, count=STEP)
                    names = _signed(client, {key: read for key in keys if (read := signs.read(key)) is not None})
                yield names


def _signed(client: Any, read: Mapping[bytes, tuple[str, str]]) -> set[str]:
    """Keep the names that have a key of the right type."""
    pipe = client.pipeline(transaction=False)
    for key in read:
        pipe.type(key)
    types = pipe.execute(raise_on_error=False) if read else []
    return {
        name
        for (name, wanted), kind in zip(read.values(), types, strict=True)
        if isinstance(kind, NoPermissionError) or kind == wanted.encode()
    }
