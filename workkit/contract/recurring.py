"""A recurring job as it stands, and the refusal of layouts that do not keep such jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from workkit.errors import Unsupported
from workkit.jobs.job import Job, JobState
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurs:
    """A recurring job. `key`: its name, or else its id; history knows it by that. `job` is as it was added.

    `state`: waiting, due, retrying, held or paused; whether it runs now, `Inspector.pulse` tells. `due`: its next run,
    or its next attempt where that is sooner; None where the server does not tell.
    """

    key: str
    job: Job
    state: JobState = "waiting"
    due: datetime | None = None
    attempt: int = 0
    why: str | None = None

    __repr__ = brief_repr

    @property
    def standing(self) -> Job:
        """The job as it stands."""
        return replace(self.job, state=self.state, due=self.due, attempt=self.attempt, why=self.why)


def no_recurring(trouble: str, remedy: str) -> Unsupported:
    """Make the error for a layout that does not keep recurring jobs."""
    return Unsupported.about("recurring jobs", trouble, remedy)
