"""Hostile values at random for every key of a namespace: wrong types, bytes that are no text, huge numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from tests.brokers.gocraft.doctor.checkups import text
from workkit.brokers.gocraft.keys import Keys

Make = Callable[[Any, bytes, Random], None]

BYTES = (
    b"", b"\x00", b"\xff\xfe", b"null", b"{}", b"[]", b"{", b'"', b"1", b"-1", b"nan", b"inf", b"1e400", b"0x10", b"01",
    b"9" * 400, b"-" + b"9" * 30, b"9223372036854775807", b"-9223372036854775808", b"1.5", b" 1", b"\xed\xa0\x80",
    b"[" * 2000, b'{"a":' * 2000, b'{"name":"\\ud800","id":"a","t":1,"args":{}}', b'{"name":"safe","t":1e3}',
    b'{"name":"x:lock","id":"a","t":1,"args":null,"unique":true,"unique_key":"\\u0000"}', b"x" * 100_000,
    text(name="safe"), text(name="safe", unique=True), text(name="other", t=2**63 - 1, fails=-5),
    text(name="safe", id="\u2028", args={"n": 10**400}), text(name="safe", args={"": [[[]]]}, failed_at=-(2**63)),
)  # fmt: skip
SCORES = ("0", "-1", "inf", "-inf", "1e308", "-1e308", "9007199254740993", "1.5", "5e-324")
NAMES = (b"safe", b"other", b"\xff", b"a,b", b"x:lock", b"x:lock_info", b"", b"*", b"{x}", b"[", b"\x00", b"%", b":")
IDS = (b"a" * 24, b"\xff\xfe", b"", b"*", b"x" * 1000, b"a:b")


def _string(client: Any, key: bytes, random: Random) -> None:
    client.set(key, random.choice(BYTES))


def _list(client: Any, key: bytes, random: Random) -> None:
    client.rpush(key, *(random.choice(BYTES) for _ in range(random.randint(1, 4))))


def _set(client: Any, key: bytes, random: Random) -> None:
    client.sadd(key, *(random.choice((*BYTES, *NAMES, *IDS)) for _ in range(random.randint(1, 4))))


def _zset(client: Any, key: bytes, random: Random) -> None:
    client.zadd(key, {random.choice(BYTES): random.choice(SCORES) for _ in range(random.randint(1, 4))})


def _hash(client: Any, key: bytes, random: Random) -> None:
    names = (b"heartbeat_at", b"job_names", b"worker_ids", b"pid", b"started_at", b"job_name", *IDS)
    client.hset(key, mapping={random.choice(names): random.choice(BYTES) for _ in range(random.randint(1, 4))})


def _stream(client: Any, key: bytes, random: Random) -> None:
    client.xadd(key, {b"a": random.choice(BYTES)})


MAKERS: Sequence[Make] = (_string, _list, _set, _zset, _hash, _stream)
OF_ALL = ("known_jobs", "scheduled", "retry", "dead", "worker_pools", "held", "held_retry", "unreadable", "crashes",
          "paused_names",
          "last_periodic_enqueue")  # fmt: skip


def of_one(keys: Keys, random: Random, pool: str) -> Iterator[bytes]:
    """Keys of one name, pool, worker or token each."""
    prefix = keys.prefix.encode()
    name, id = random.choice(NAMES[1:]), random.choice((*IDS, pool.encode()))
    base = prefix + b"jobs:" + name
    yield from (base, base + b":paused", base + b":max_concurrency", base + b":lock", base + b":lock_info")
    yield base + b":" + id + b":inprogress"
    for start in (
        b"worker_pools:",
        b"worker:",
        b"workkit:pool:",
        b"workkit:taken:",
        b"workkit:producer:",
        b"workkit:cancelled:",
    ):
        yield prefix + start + id
    yield prefix + b"unique:" + name + b":" + random.choice(BYTES[:12])
    yield prefix + b"workkit:wake:" + name


def write(client: Any, key: bytes, random: Random) -> None:
    """Put a hostile value at a key, of any type."""
    client.delete(key)
    random.choice(MAKERS)(client, key, random)


def fitting(client: Any, keys: Keys, random: Random) -> None:
    """Put hostile values into keys of all, each of its right type, among what is there."""
    for attribute in OF_ALL:
        key = getattr(keys, attribute).encode()
        make = {
            "known_jobs": _set,
            "worker_pools": _set,
            "paused_names": _set,
            "crashes": _hash,
            "last_periodic_enqueue": _string,
        }
        if random.random() < 0.5:
            make.get(attribute, _zset)(client, key, random)
