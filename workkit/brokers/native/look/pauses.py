"""Read the pauses of a native schedule."""

from __future__ import annotations

from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job

JOB = "job:"


def pause_of(job: Job, control: Control) -> Pause | None:
    """Find the pause under which a job waits."""
    targets = ("schedule", f"{JOB}{job.terms.name or job.id}", f"fn:{job.fn}")
    return next((control.paused[target] for target in targets if target in control.paused), None)
