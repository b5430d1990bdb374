"""The schedules on a server, found by their keys."""

from __future__ import annotations

from collections.abc import Iterator

from workkit.brokers.redis_server.server import Server

PAGE = 1000
MOST_PAGES = 100  # a server may hold any number of keys of others
SUFFIXES = (":next", ":listeners", ":dead")  # what a schedule has that holds work, is listened to, or has dead jobs


def schedule_names(server: Server) -> Iterator[str]:
    """Find the names of schedules, each once, among the first keys of a database."""
    seen: set[str] = set()
    for suffix in SUFFIXES:
        cursor = 0
        for _ in range(MOST_PAGES):
            with server.translated() as client:
                cursor, keys = client.scan(cursor, match=f"*{suffix}", count=PAGE, _type="zset")
            for name in (key.decode("utf-8", "replace").removesuffix(suffix) for key in keys):
                if name and name not in seen and name.isprintable():
                    seen.add(name)
                    yield name
            if not cursor:
                break
