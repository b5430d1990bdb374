"""What a key of a namespace is, from its name alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from workkit.brokers.gocraft.keys import Keys

Kind = Literal[
    "known_jobs", "queue", "in_progress", "paused", "max_concurrency", "lock", "lock_info",
    "scheduled", "retry", "dead", "unique", "worker_pools", "worker_pool", "worker", "last_periodic_enqueue",
    "held", "held_retry", "unreadable", "crashes", "record", "taken", "producer", "wake",
    "cancelled", "paused_all", "paused_names",
]  # fmt: skip

TYPES: Final[Mapping[Kind, str]] = {
    "known_jobs": "set", "queue": "list", "in_progress": "list", "paused": "string", "max_concurrency": "string",
    "lock": "string", "lock_info": "hash", "scheduled": "zset", "retry": "zset", "dead": "zset", "unique": "string",
    "worker_pools": "set", "worker_pool": "hash", "worker": "hash", "last_periodic_enqueue": "string",
    "held": "zset", "held_retry": "zset", "unreadable": "zset", "crashes": "hash", "record": "string",
    "taken": "string", "producer": "string", "wake": "list", "cancelled": "set", "paused_all": "string",
    "paused_names": "set",
}  # fmt: skip
"""The type of each kind of key, as the server names it. `paused` may have any: only its existence counts."""

LIVES: Final[Mapping[Kind, int]] = {
    "crashes": 86_400, "record": 3600, "taken": 3600, "producer": 604_800, "wake": 60, "cancelled": 86_400,
}  # fmt: skip
"""Seconds that keys of our own live at most."""

OF_TEXTS: Final[tuple[Kind, ...]] = (
    "scheduled", "retry", "held", "held_retry", "queue", "in_progress", "dead"
)  # fmt: skip
"""Keys that hold job texts, in the order in which jobs pass them: a walk in this order misses no job that moves on."""

_ENDS: Final[tuple[tuple[str, Kind], ...]] = (
    (":paused", "paused"), (":max_concurrency", "max_concurrency"), (":lock", "lock"), (":lock_info", "lock_info")
)  # fmt: skip
_OF_ONE: Final[tuple[tuple[str, Kind], ...]] = (
    ("worker_pools:", "worker_pool"), ("worker:", "worker"), ("unique:", "unique"), ("workkit:pool:", "record"),
    ("workkit:taken:", "taken"), ("workkit:producer:", "producer"), ("workkit:wake:", "wake"),
    ("workkit:cancelled:", "cancelled"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One key. `name`: the job name in it; `of`: the pool, worker or token in it. Bytes that are no text are in these
    texts as surrogates (`AS_READ`).
    """

    key: str
    kind: Kind
    name: str = ""
    of: str = ""


@lru_cache(maxsize=16)
def places(keys: Keys) -> Mapping[str, Place]:
    """Name the keys that every namespace has, by the key."""
    found: dict[str, Kind] = {
        keys.known_jobs: "known_jobs", keys.scheduled: "scheduled", keys.retry: "retry", keys.dead: "dead",
        keys.worker_pools: "worker_pools", keys.last_periodic_enqueue: "last_periodic_enqueue", keys.held: "held",
        keys.held_retry: "held_retry", keys.unreadable: "unreadable", keys.crashes: "crashes",
        keys.paused_all: "paused_all", keys.paused_names: "paused_names",
    }  # fmt: skip
    return {key: Place(key, kind) for key, kind in found.items()}


def place_of(keys: Keys, key: str) -> Place | None:
    """Say what a key is; None for one that is none of a namespace."""
    if key in (fixed := places(keys)):
        return fixed[key]
    if (owner := keys.in_progress_owner(key)) is not None:
        return Place(key, "in_progress", *owner)
    if key.startswith(keys.queue_prefix):
        rest = key.removeprefix(keys.queue_prefix)
        for end, kind in _ENDS:
            if rest.endswith(end):
                return Place(key, kind, rest.removesuffix(end))
        return Place(key, "queue", rest)
    rest = key.removeprefix(keys.prefix)
    for start, kind in _OF_ONE:
        if key.startswith(keys.prefix) and rest.startswith(start):
            of = rest.removeprefix(start)
            return Place(key, kind, of if kind == "wake" else "", "" if kind == "wake" else of)
    return None
