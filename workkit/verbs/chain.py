"""Middleware of a schedule: how it is registered there, and the way of an addition through it. No I/O of its own."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

from workkit.contract.producer import NewJob
from workkit.errors import InvalidOptions
from workkit.jobs import middleware
from workkit.jobs.job import Job
from workkit.jobs.names import Fn
from workkit.jobs.run_options import UNSAID
from workkit.verbs.addition import as_job, call

CHANGEABLE = ("args", "kwargs", "options")


def registered(fn: Any, *, on: str, schedule: str, shards: int) -> Any:
    """Register middleware, also where it is written as ``@s.middleware(on=...)``; returns the function itself.

    A listener knows a schedule of several shards by their names. Raises InvalidFunction.
    """
    if fn is None:
        return partial(registered, on=on, schedule=schedule, shards=shards)
    if shards == 1 or on == "add":
        return middleware.register((schedule,), fn, on=on)
    from workkit.brokers.native.shards import shard_names

    return middleware.register(shard_names(schedule, shards), fn, on=on)


def entered(new: NewJob, *, schedule: str, fn: Fn) -> NewJob:
    """The job as it is added, after the schedule's middleware has seen it; checked anew where that has changed it.

    Raises what middleware raises to refuse it, and an `Invalid` for what it may not change.
    """
    if schedule not in middleware.ENTERING:
        return new
    job = as_job(new, schedule=schedule)
    changed = middleware.entered(schedule, job)
    if changed is job:
        return new
    for name in (field.name for field in fields(Job) if field.name not in CHANGEABLE):
        value: Any = getattr(changed, name)
        if value != getattr(job, name):
            raise InvalidOptions(
                f"middleware of {schedule} changed {name} of a job that is added, to {value!r}. "
                f"It may change {', '.join(CHANGEABLE)}.",
                given=value,
            )
    checked = call(fn, args=changed.args, kwargs=changed.kwargs)
    new.args, new.kwargs = checked.args, checked.kwargs
    new.options = changed.options if changed.options != UNSAID else UNSAID
    return new
