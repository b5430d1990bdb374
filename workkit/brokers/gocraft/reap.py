"""Hand back what a dead pool holds, in steps: to its queues what it ran, to the dead set what it had ended. Compare
locks with what is in progress, and repair them: the doctor does this, and every pool for its own names.

A unique job by key runs with the text that its unique key holds then. A Go pool ends that text, and the listed one
stays in its list. Which texts these are, `lua/parts/ended.lua` says. Normative: spec/layouts/gocraft.md, sections 9 and
12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import rewrite
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord

STEP: Final = 500  # jobs in one step
ENDED: Final = "ended without leaving the in-progress list"
"""What the dead set says of a text that a Go pool has ended and left in its list."""


def hand_back(
    server: Server, keys: Keys, *, pool: str, beat: str, names: Sequence[str], is_dead: bool = True
) -> tuple[int, int] | None:
    """Hand back up to `STEP` jobs of a pool: (moved, left). None if its heartbeat is not `beat` any more: it lives.

    `beat`: as it was seen; empty: none; "*": any. `names`: more names that it may have jobs of. `is_dead`: count each
    job as one that a pool died with. What has ended goes to the dead set before.
    """
    script = load("gocraft")["reap"]
    head = [pool, keys.prefix, beat, STEP, int(is_dead), len(names), *names]
    copies: list[Any] = []
    while True:
        reply = server.call(script, script.keys(keys, pool=pool), [*head, *copies])
        if reply[0] == b"alive":
            return None
        if reply[0] != b"ended":
            return int(reply[0]), int(reply[1])
        _, now_s, found = reply
        copies = []
        for name, text in zip(found[::2], found[1::2], strict=True):
            copies += [name, text, _copy(text, int(now_s))]


def _copy(text: bytes, now_s: int) -> bytes:
    try:
        return rewrite(text, err=ENDED, failed_at=now_s)
    except CorruptRecord:  # Lua reads more than Go does
        return text


NAMES_AT_ONCE = 100  # names in one round trip


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock: `how` it differs from what is in progress (empty: it does not), its value (empty: none), the jobs that
    run, and the fields of `lock_info` of pools that are gone.
    """

    how: bytes
    value: bytes
    running: int
    gone: int

    @property
    def number(self) -> int | None:
        """Its value; None where it is missing or no number that pools count with."""
        return int(self.value) if self.value.lstrip(b"-").isdigit() and len(self.value) < 16 else None


def relock(server: Server, keys: Keys, seen: Mapping[str, bytes], *, pools: Sequence[str] = ()) -> dict[str, Lock]:
    """Compare the locks of these names. Repair each one that still differs in the way that was `seen` before.

    `pools`: unlisted pools that may have in-progress lists.
    """
    script = load("gocraft")["relock"]
    found: dict[str, Lock] = {}
    of, names = script.keys(keys), list(seen)
    for start in range(0, len(names), NAMES_AT_ONCE):
        part = names[start : start + NAMES_AT_ONCE]
        calls = [(script, of, [keys.prefix, name, seen[name], *pools]) for name in part]
        found.update(zip(part, (Lock(*reply) for reply in server.exchange(calls)), strict=True))
    return found
