"""An entry: our text for owed work that is not a regular item of `S:next`, and what a listener's record says.

``<kind> <due> <attempt> <crashes> <flags> <item>``, with kind ``r`` (it carries the chain of a recurring job, or may:
nothing was decided yet) or ``o`` (one occurrence). Legible in redis-cli, built in Lua by one concatenation.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_ENTRY = re.compile(rb"([ro]) (\S+) (\d+) (\d+) (\S+) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry. `due` is the text of the score as the server gave it; `item` the opaque bytes of the queue item."""

    kind: str = "r"
    due: str
    attempt: int = 0
    crashes: int = 0
    flags: str = "-"
    item: bytes

    @property
    def due_ms(self) -> int:
        """The due time in whole milliseconds; what is not a finite number reads as 0, long due."""
        try:
            return int(self.due)
        except ValueError:
            score = float(self.due)
            return math.floor(score) if math.isfinite(score) else 0

    def encode(self) -> bytes:
        """The text as it stands on the server."""
        head = f"{self.kind} {self.due} {self.attempt} {self.crashes} {self.flags} "
        return head.encode("ascii") + self.item


def read_entry(data: bytes) -> Entry | None:
    """Read an entry, or None where the text is not one."""
    found = _ENTRY.fullmatch(data)
    if found is None:
        return None
    kind, due, attempt, crashes, flags, item = found.groups()
    try:
        float(due)
        counts = int(attempt), int(crashes)
    except ValueError:  # no number, or one of more digits than can be read
        return None
    return Entry(
        kind=kind.decode(),
        due=due.decode(),
        attempt=counts[0],
        crashes=counts[1],
        flags=flags.decode("ascii", "replace"),
        item=item,
    )
