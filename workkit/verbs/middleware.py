"""The way of an addition through the middleware of its schedule. No I/O of its own."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from workkit.contract.producer import NewJob
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.meta import read_meta
from workkit.jobs.middleware import ENTERING
from workkit.jobs.middleware import entered as passed
from workkit.jobs.names import Fn, is_plain
from workkit.jobs.run_options import UNSAID
from workkit.verbs.new_job import as_job, called

CHANGEABLE = ("args", "kwargs", "options", "meta")


def through_middleware(new: NewJob, *, schedule: str, fn: Fn) -> NewJob:
    """Show a job to the schedule's middleware, and return it as it is added. What middleware changed is checked again.

    Raises what middleware raises to refuse the job, and an `Invalid` for what it may not change.
    """
    if schedule not in ENTERING:
        return new
    job = as_job(new, schedule=schedule)
    changed = passed(schedule, job)
    if changed is job:
        return new
    for name in (field.name for field in fields(Job) if field.name not in CHANGEABLE):
        value: Any = getattr(changed, name)
        if value != getattr(job, name):
            trouble = f"changed {name} of a job that is added, to {value!r}"
            remedy = f"It may change {', '.join(CHANGEABLE)}."
            raise InvalidOptions.about(f"middleware of {schedule}", trouble, remedy, given=value)
    checked = called(fn, args=changed.args, kwargs=changed.kwargs, plain=is_plain(new.fn))
    if changed.meta != job.meta:
        new.meta = read_meta(changed.meta or {})
    new.args, new.kwargs = checked.args, checked.kwargs
    new.options = changed.options if changed.options != UNSAID else UNSAID
    return new
