"""Entries that are parked by hand: for the tests of pauses and of what the checkup finds."""

from __future__ import annotations

import time
from typing import Any

from workkit import wire
from workkit.brokers.native.entry import Entry, parked_text

HOUR = 3_600_000  # ms


def now_ms() -> int:
    return round(time.time() * 1000)


def entry_of(id: str, *, kind: str = "r", due: int, attempt: int = 0, crashes: int = 0, flags: str = "-") -> Entry:
    return Entry(kind=kind, due=str(due), attempt=attempt, crashes=crashes, flags=flags, item=wire.item(id))


def park(client: Any, name: str, key: str, id: str, entry: Entry) -> str:
    """Park an entry by hand; its occurrence."""
    run = f"{id}@{entry.due_ms}{entry.nonce}"
    client.zadd(f"{name}:waiting", {parked_text(key, run, entry): 0})
    return run
