"""The side of a broker that checks a schedule, and repairs what is safe to repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
