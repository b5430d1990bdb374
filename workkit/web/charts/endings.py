"""How endings of runs are drawn and named: one table for all drawings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from workkit.contract.history import LATE_MS, Ended, PastRun

Kind = Literal["done", "late", "fail", "miss", "left", "over"]
"""What is drawn: done; done, late; failed or dead; missed; left out; over without being done."""

KINDS: Final[Mapping[Ended, Kind]] = {
    "done": "done",
    "skipped": "left",
    "discarded": "over",
    "cancelled": "over",
    "missed": "miss",
    "expired": "miss",
    "overlap": "left",
    "retried": "fail",
    "dead": "fail",
}
WORDS: Final[Mapping[Kind, str]] = {
    "done": "done",
    "late": "started late",
    "fail": "failed",
    "miss": "missed",
    "left": "left out",
    "over": "discarded or cancelled",
}
STATES: Final[Mapping[Ended, str]] = {
    "done": "done",
    "skipped": "left out",
    "discarded": "discarded",
    "cancelled": "cancelled",
    "missed": "missed",
    "expired": "expired",
    "overlap": "left out, its last run still went on",
    "retried": "failed",
    "dead": "dead",
}
WHY: Final[Mapping[Ended, str]] = {
    "expired": "nobody started it in time",
    "missed": "nobody started it in time",
    "overlap": "the run before it still went on",
    "skipped": "by hand",
}
"""Why an occurrence did not run."""


def kind_of(run: PastRun) -> Kind:
    """Say how a run is drawn. Late is one that was done, and started 1 s after due or more."""
    kind = KINDS[run.ending]
    return "late" if kind == "done" and run.late_ms >= LATE_MS else kind


def tally(kinds: Iterable[Kind]) -> str:
    """Count kinds in words: ``54 done, 3 started late, 1 failed``."""
    found = list(kinds)
    return ", ".join(f"{n:,} {word}" for kind, word in WORDS.items() if (n := found.count(kind)))
