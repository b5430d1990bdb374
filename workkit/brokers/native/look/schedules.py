"""Which schedules a server knows, and whether it knows this one: spec/layouts/native.md, section 11."""

from __future__ import annotations

from typing import Final

from workkit.brokers.native.keys import SIGNS, Keys, sign_keys
from workkit.brokers.native.look.items import server_ms
from workkit.brokers.redis_server.key_names import Found, Signs, find_names
from workkit.brokers.redis_server.server import Server

DAY_MS: Final = 86_400_000
DAYS: Final = 400  # that counts are kept
SCHEDULES: Final = Signs({**SIGNS, r"past:d:\d+": "hash"}, globs=("*:[jnlgcspr]*[stly]", "*:past:d:*"))


def schedule_names(server: Server, *, seconds: float | None = None) -> Found:
    """Find the schedules of a server, each shard by its own name; look for so many `seconds` at most."""
    return find_names(server, SCHEDULES, seconds=seconds)


def is_known(server: Server, keys: Keys) -> bool:
    """Say whether a server knows a schedule, in one round trip; in two where it knows none, or only past days of it."""
    with server.translated() as client:
        if client.exists(*sign_keys(keys)):
            return True
    today = server_ms(server) // DAY_MS
    with server.translated() as client:
        return bool(client.exists(*(keys.past(f"d:{day}") for day in range(today - DAYS, today + 1))))
