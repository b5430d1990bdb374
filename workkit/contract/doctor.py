"""The side of a broker that checks a schedule, and repairs what is safe to repair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault: `what` in a sentence, `why` it matters, `remedy`, a command or an advice.

    `kind` is its stable name for programs. `repairs`: `Doctor.repair` can repair it, by `subject`. `about`: the ids,
    keys or bytes concerned, as text. `schedule`: where the fault is; empty for the server. `fn`: the function that no
    listener can run, where that is the fault.
    """

    kind: str
    what: str
    why: str
    remedy: str
    repairs: bool = False
    subject: Any = None
    about: tuple[str, ...] = ()
    schedule: str = ""
    fn: str | None = None


class Doctor(Protocol):
    """Checks the server, one schedule and its listeners."""

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for faults; changes nothing. A job that nothing refers to is a fault `patience_ms` after its last time,
        because a foreign peer may still run it before.
        """

    def repair(self, finding: Finding) -> bool:
        """Repair one fault. False: it is over, or cannot be repaired."""
