"""What puts back what a change of one job took away, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workkit.jobs.job import Job

Undoable = Literal["cancel", "skip", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """How to undo a change. `job`: as it was before. `until_ms`: it can be undone before then, by the server's
    clock; None: at any time. `kept`: what the layout wrote for itself. `place`: the schedule, or its shard, that made
    the change.
    """

    verb: Undoable
    job: Job
    kept: bytes
    place: str
    until_ms: int | None = None
