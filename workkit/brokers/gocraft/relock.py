"""Compare locks with what is in progress, and repair them. The doctor does this, and every pool for its own names.

Normative: spec/layouts/gocraft.md, section 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server

STEP = 100  # names in one round trip


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
    for start in range(0, len(names), STEP):
        part = names[start : start + STEP]
        calls = [(script, of, [keys.prefix, name, seen[name], *pools]) for name in part]
        found.update(zip(part, (Lock(*reply) for reply in server.exchange(calls)), strict=True))
    return found
