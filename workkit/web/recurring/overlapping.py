"""Whether a run by hand would be left out, as an earlier one of the job has not ended, said as a question. Pure; the
rule: spec/features.md 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from workkit.contract.limit_use import LimitUse
from workkit.jobs.job import Job

HELD_BY: Final[Mapping[str, str]] = {
    "running": "A run of it has not ended",
    "cancelling": "A run of it has not ended",
    "retrying": "A run of it waits for another attempt",
    "held": "A run of it waits to start",
}
"""By the state of a job: which run of it keeps another one from starting."""


def overlap_key(job: Job) -> str:
    """Name the limit key under which the runs of a recurring job exclude each other: see `workkit.jobs.admission`."""
    return f"over:{job.terms.name or job.id}"


def may_wait(job: Job) -> bool:
    """Say whether a run now would wait behind an earlier one, unless one waits there already: `LimitUse.waiting`."""
    return job.terms.overlap in ("queue", "cancel") and job.state in HELD_BY


def left_out(job: Job, uses: Iterable[LimitUse] = ()) -> str:
    """Ask whether to run a job all the same, where its `overlap` would leave that run out; "" where it would not."""
    overlap = job.terms.overlap
    if overlap == "skip" and job.state in HELD_BY:
        because = HELD_BY[job.state]
    elif may_wait(job) and any(use.key == overlap_key(job) and use.waiting for use in uses):
        because = "One run of it waits already until the one before it has ended"
    else:
        return ""
    return f'{because}. With overlap "{overlap}", a run now is left out. Run it all the same?'
