"""The one addition: a new job goes to the server of its schedule, in a span of its own."""

from __future__ import annotations

from workkit import tracing
from workkit.contract.producer import NewJob
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import as_job
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
