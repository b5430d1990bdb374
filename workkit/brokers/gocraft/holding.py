"""Keep later jobs of a pool from Go pools that do not serve them: as these jobs come due, such a pool buries them.

Normative: spec/layouts/gocraft.md, section 8.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord

AHEAD = 10  # seconds; two heartbeats lie at most 5 s apart
MOST_PAGES = 20  # in one call, each of up to 500 members of either set


class Holder:
    """Moves what Go pools would bury into the keys of ours."""

    def __init__(self, server: Server, *, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._script = load("gocraft")["hold"]

    def hold(self, names: Collection[str], *, now_ms: int) -> None:
        """Move the members with these names that are due within `AHEAD`; of very many some. Raises ServerUnreachable,
        ServerRefused.
        """
        skip = {1: 0, 2: 0}
        rows: list[Any] = []
        for _ in range(MOST_PAGES):
            args = [self._keys.prefix, now_ms // 1000 + AHEAD, skip[1], skip[2], *rows]
            moved, page = self._server.call(self._script, self._script.keys(self._keys), args)
            if not page or (rows and not moved):
                return
            rows = []
            for place, raw in zip(page[::2], page[1::2], strict=True):
                if (name := _name(raw)) in names:
                    rows += [place, name, raw]
                else:
                    skip[place] += 1


def _name(raw: bytes) -> str:
    try:
        return read(raw).name
    except CorruptRecord:
        return ""
