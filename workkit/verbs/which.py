"""Which job a verb is about: named by a text, and found where a verb can change it."""

from __future__ import annotations

from workkit.contract.inspector import Inspector
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job

Which = str | Job
"""A job's name, its id, the beginning of its id (6 or more digits), or a Job."""


def text_of(which: Which) -> str:
    """Name a job by a text: its name, its id, or the beginning of one. Raises InvalidOptions."""
    if not isinstance(which, str | Job):
        trouble, remedy = "is neither a name, an id nor a Job", "Write an id as text."
        raise InvalidOptions.about(repr(which), trouble, remedy, where="which", given=which)
    return which.id if isinstance(which, Job) else which


def changeable(inspector: Inspector, which: Which) -> Job:
    """Find a job that waits, runs or is dead. Raises NotFound; Unsupported where the layout cannot see such jobs."""
    try:
        return inspector.job(text_of(which))
    except NotFound as error:
        if inspector.unlisted():
            trouble = "cannot be found and changed"
            raise Unsupported.about(f'"{error.given}"', trouble, error.remedy, given=error.given) from error
        raise
