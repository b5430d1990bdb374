"""The one addition: a new job goes to the server of its schedule, in a span of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workkit import tracing
from workkit.contract.changes import Author
from workkit.contract.layout import PLAIN_LAYOUTS
from workkit.contract.producer import NewJob
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.terms import Terms
from workkit.verbs.creation import Schedule
from workkit.verbs.middleware import through_middleware
from workkit.verbs.new_job import as_job, recalled
from workkit.verbs.opening import producer_of


def sent(s: Schedule, new: NewJob) -> Job:
    """Add a job that was made and checked; return it as it was added. Raises ServerUnreachable, ServerRefused; an
    `Invalid` for what the layout cannot keep.
    """
    with tracing.adding(s.name, fn=shown(new.fn)) as span:
        new.trace = tracing.context_of(span)
        found = producer_of(s).add([new])[0]
        tracing.added(span, found.id)
    return as_job(new, schedule=s.name, added=found)


def sent_beside(
    s: Schedule, job: Job, *, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, author: Author
) -> Job:
    """Add a job of its own that runs once now: the function, options and priority of a recurring `job`, with other
    arguments. Raises as `sent`; InvalidOptions for a job that runs once, InvalidArguments.
    """
    if not job.recurs:
        trouble, remedy = "runs once, and keeps its arguments", "Cancel it, and add it again with others."
        raise InvalidOptions.about(f"{job.short_id} {shown(job.fn)}", trouble, remedy, given=job.id)
    new = recalled(job, args=args, kwargs=kwargs, plain=s.layout in PLAIN_LAYOUTS)
    new.terms, new.most_bytes = Terms(priority=job.terms.priority), s.max_payload
    new = through_middleware(new, schedule=s.name, fn=job.fn)
    found = sent(s, new)
    producer_of(s).admin.by(author).note("run", {"id": found.id}, job=job)
    return found
