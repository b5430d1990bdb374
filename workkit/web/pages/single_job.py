"""The page of a job that runs once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workkit.contract.record import job_record
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.wording import iso
from workkit.web.page import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleJobView:
    """What the page shows."""

    schedule: str
    now: datetime
    job: Job
    recurs: bool = False

    @property
    def title(self) -> str:
        """The job's name, else its function."""
        return self.job.name or shown(self.job.fn)

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {"schedule": self.schedule, "as_of": iso(self.now), "job": job_record(self.job)}


def look(asked: Asked, job: Job) -> SingleJobView:
    """Make the view of a job that was found, and is masked."""
    return SingleJobView(schedule=asked.served.name, now=asked.now, job=job)
