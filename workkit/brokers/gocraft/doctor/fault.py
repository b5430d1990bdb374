"""The names of everything that can be wrong with a key or a job text of a namespace, with severity and reason.

`workkit doctor` and `workkit wire verify` use these names alike. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workkit.contract.fault import Severity


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `kind` is its stable name for programs, and the key of `RULES`; `what` is a sentence about this key or
    text. `repairs`: `workkit doctor --fix` repairs it.
    """

    kind: str
    what: str
    repairs: bool = False

    @property
    def severity(self) -> Severity:
        """The severity of the fault."""
        return RULES[self.kind][0]

    @property
    def why(self) -> str:
        """Why a fault of this kind matters."""
        return RULES[self.kind][1]


RULES: Mapping[str, tuple[Severity, str]] = {
    "wrong-type": ("deviation", "Every request that needs this key is refused, by Go pools and by ours."),
    "unreadable": (
        "deviation",
        "No pool can run it. In a queue it takes a slot of a Go pool for ever. In a sorted set it stops all Go pools.",
    ),
    "nameless": ("deviation", "A Go pool that finds it due removes it, and it is lost."),
    "lock": (
        "deviation",
        "Pools count running jobs with it: they cannot take a job of this name while it is no number.",
    ),
    "lock-info": ("deviation", "Go pools subtract it from the lock when they reap the pool."),
    "limit": ("deviation", "Pools read it as no limit, or take no job at all."),
    "heartbeat": ("deviation", "Go pools and the web UI cannot read it, and the page of all pools fails."),
    "name": (
        "deviation",
        "The name is part of keys, and of lists in heartbeats: a pool reads it there as another one.",
    ),
    "endless": ("deviation", "It never ends by itself. A job with this unique key could never be added again."),
    "own-expiry": ("deviation", "Keys of ours end by themselves, so that none is left behind for ever."),
    "stray": ("deviation", "A Go pool buries it as a stray job, and its slot is never free again."),
    "ownerless": ("orphan", "The pool that held it is not listed. No Go pool looks at its list."),
    "leaked": ("orphan", "While it is there, a job with this unique key cannot be added."),
    "score": ("hazard", "It is due at once, or never."),
    "no-id": ("hazard", "The client and the web UI of Go name a job by its id."),
    "number": (
        "hazard",
        "Go handlers read numbers as floats, and a Go pool that moves or retries the job writes other digits.",
    ),
    "empty-list": ("hazard", "A Go pool that moves the job to its queue writes {} in its place."),
    "own-fields": ("hazard", "A Go pool that retries or buries the job drops these fields."),
}
