"""The side of a broker that changes jobs and pauses: cancel, pause, skip, reschedule, run, retry, discard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from workkit.errors import NotFound
from workkit.jobs.job import Job
from workkit.jobs.names import shown

Revival = Literal["revived", "gone", "waits", "unreadable", "unroutable"]
"""What became of a dead job. "unroutable": no queue takes its message; it is dead still."""

Arguments = Sequence[Any] | Mapping[str, Any]
"""Other arguments for a job: a list replaces the positional ones, an object those that are given by name."""


def dead_refusal(job: Job) -> NotFound:
    """Make the error for a dead job where one that waits or runs is needed."""
    remedy = f"Forget it: workkit discard {job.schedule} {job.short_id}."
    return NotFound.about(f"{job.short_id} {shown(job.fn)}", "is dead, and does not run", remedy, given=job.id)
