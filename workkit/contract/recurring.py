"""A recurring job as it stands, and the refusal of layouts that do not keep such jobs."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurs:
    """A recurring job. `key`: its name, or else its id; history knows it by that.

    The state of `job` is waiting, due, retrying, held or paused; whether it runs now, `Inspector.pulse` tells. Its
    `due` is its next run, or its next attempt where that is sooner; None where the server does not tell.
    """

    key: str
    job: Job

    __repr__ = brief_repr


def no_recurring(trouble: str, remedy: str) -> Unsupported:
    """Make the error for a layout that does not keep recurring jobs."""
    return Unsupported.about("recurring jobs", trouble, remedy)
