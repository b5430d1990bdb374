"""What is left on a server when a scene is over, and whether each key has its owner (spec/layouts/native.md, 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers import PAST

OF_GROUPS = ("groups", "members", "feeds", "ends")  # of what has ended, for some days: `check_groups`
BY_EXPIRY = ("watch", "producer", "crashed", "result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key: its members (or fields), and its life in ms (-1: no end)."""

    members: frozenset[str]
    life: int = -1


def look(client: Any, schedule: str) -> dict[str, Key]:
    """Every key of a schedule, by the part after its name."""
    found = {}
    for name in client.scan_iter(f"{schedule}:*", count=1000):
        match client.type(name):
            case b"hash":
                members = client.hkeys(name)
            case b"zset":
                members = client.zrange(name, 0, -1)
            case b"set":
                members = client.smembers(name)
            case _:
                members = []
        short = name.decode().removeprefix(f"{schedule}:")
        texts = frozenset(member.decode("utf-8", "replace") for member in members)
        found[short] = Key(members=texts, life=client.pttl(name))
    return found


def check_keys(left: Mapping[str, Key], *, cancelled: Collection[str], dead: Collection[str]) -> Iterator[str]:
    """Complain of every key that nobody owns any more: no job waits, nobody listens, the occurrences `dead` died."""
    for name, key in sorted(left.items()):
        kind = name.partition(":")[0]
        if name in ("stats", "plans", *OF_GROUPS) or kind in PAST:
            continue
        if kind in BY_EXPIRY:
            if key.life < 0:
                yield f"{name} is left without an expiry"
        elif name == "cancelled":
            if stray := key.members - set(cancelled):
                yield f"cancelled marks what nobody cancelled: {sorted(stray)}"
        elif name not in ("dead", "graves"):
            yield f"{name} is left: {sorted(key.members)[:3]}"
    nothing = Key(members=frozenset())
    buried = left.get("dead", nothing).members, left.get("graves", nothing).members
    if buried[0] != buried[1]:
        yield f"dead and graves differ: {sorted(buried[0] ^ buried[1])}"
    if buried[0] != set(dead):
        yield f"{sorted(buried[0])} are dead, where {sorted(dead)} died"


def check_groups(client: Any, schedule: str) -> Iterator[str]:
    """Complain of a group that waits for a member, or was not settled, where no job waits (spec/groups.md)."""
    groups = client.hgetall(f"{schedule}:groups")
    for group, value in groups.items():
        if value[:1] not in (b"d", b"x"):
            yield f"group {group.decode()} is not settled: {value[:1].decode()}"
    for text in client.zrange(f"{schedule}:members", 0, -1):
        if text[8:9] == b"w":
            yield f"group {text[:8].hex()} waits for {text[9:29].hex()}"
    for feed in client.zrange(f"{schedule}:feeds", 0, -1):
        if feed[-16:] not in groups:
            yield f"{feed!r} feeds a group that is gone"
    if client.exists(f"{schedule}:rows"):
        yield "rows of a batch were not let go"
