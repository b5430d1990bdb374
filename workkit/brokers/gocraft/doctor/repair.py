"""Repair what is safe to repair: one value for each kind of trouble, and the step that repairs it.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over. While
pools of Go and of ours run, it loses and doubles no job, and lets no more start than a limit allows.
Normative: spec/layouts/gocraft.md, section 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.reap import STEP, hand_back
from workkit.brokers.gocraft.relock import relock
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A lock and its lock_info that differ from what is in progress, in the way that was seen. `pools` may have a list
    though they are not listed.
    """

    name: str
    how: bytes
    pools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A pool that is dead, its heartbeat as it was seen, and the names of its in-progress lists."""

    pool: str
    beat: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Bytes in a list (`kind` "list") or sorted set ("zset"). `name` and `pool`: of an in-progress list. `copy`: what
    goes to the dead set; empty: the bytes go to `NSworkkit:unreadable`, and their slot is free.
    """

    key: str
    kind: str
    data: bytes
    name: str = ""
    pool: str = ""
    copy: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A unique key, what it held, and when it ends in ms (None: never). `life`: seconds that it gets; None: it goes."""

    key: str
    value: bytes
    ends_ms: int | None
    life: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """Jobs of one name in `NSscheduled` or `NSretry` (`place`), that a Go pool would bury."""

    place: str
    name: str
    texts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A name that has a queue and is not in `NSknown_jobs`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A key of ours without expiry, and the seconds that it gets."""

    key: str
    life: int


Subject = Locked | Dead | Aside | Leak | Exposed | Unknown | Endless


def repair(server: Server, keys: Keys, subject: Subject) -> bool:
    """Repair one thing. False: the trouble is over, or it changed."""
    match subject:
        case Locked():
            found = relock(server, keys, {subject.name: subject.how}, pools=subject.pools)
            return found[subject.name].how == subject.how
        case Dead():
            return _reaped(server, keys, subject)
        case Aside(key=key, kind=kind, data=data, name=name, pool=pool, copy=copy):
            args: list[Any] = [keys.prefix, kind, name, pool, data, copy]
            return bool(_call(server, keys, "aside", args, key=key))
        case Leak(key=key, value=value, ends_ms=ends_ms, life=life):
            times: list[Any] = [value, "" if ends_ms is None else ends_ms, "" if life is None else life]
            return bool(_call(server, keys, "release", times, key=key))
        case Exposed():
            return _held(server, keys, subject)
        case Unknown(name=name):
            return bool(_call(server, keys, "know", [keys.prefix, name]))
        case Endless(key=key, life=life):
            with server.translated() as client:
                return bool(client.expire(key.encode("utf-8", AS_READ), life) if _is_endless(client, key) else 0)
    assert_never(subject)


def _reaped(server: Server, keys: Keys, found: Dead) -> bool:
    lists = [keys.in_progress(name, found.pool).encode("utf-8", AS_READ) for name in found.names]
    with server.translated() as client:
        is_there = client.sismember(keys.worker_pools, found.pool.encode("utf-8", AS_READ))
        if not is_there and not (lists and client.exists(*lists)):
            return False
    while True:
        done = hand_back(server, keys, pool=found.pool, beat=found.beat, names=found.names)
        if done is None or not done[1]:
            return done is not None


def _held(server: Server, keys: Keys, found: Exposed) -> bool:
    moved = 0
    for start in range(0, len(found.texts), STEP):
        texts = found.texts[start : start + STEP]
        place = 1 if found.place == "scheduled" else 2
        rows = [part for text in texts for part in (place, found.name, text)]
        moved += int(_call(server, keys, "hold", [keys.prefix, "", 0, 0, *rows])[0])
    return moved > 0


def _is_endless(client: Any, key: str) -> bool:
    return bool(client.ttl(key.encode("utf-8", AS_READ)) == -1)


def _call(server: Server, keys: Keys, verb: str, args: Sequence[Any], **of: str) -> Any:
    script = load("gocraft")[verb]
    return server.call(script, script.keys(keys, **of), args)
