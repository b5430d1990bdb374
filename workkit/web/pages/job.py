"""The page of one job: of one that recurs, or of one that runs once."""

from __future__ import annotations

from workkit.jobs.recurrence import spread_offset_ms
from workkit.web.page import Asked, Page, View
from workkit.web.pages import recurring_job, single_job


def look(asked: Asked) -> View:
    """Find the job by name, by id or by the beginning of one. Raises NotFound."""
    found = asked.served.inspector().job(asked.names["which"])
    job = asked.veil.job(found)
    if job.trigger is not None and job.trigger.recurs:
        # of an unnamed job it depends on the arguments, which the veil may hide
        return recurring_job.look(asked, job, offset_ms=spread_offset_ms(found.terms, found.fn, found.args))
    return single_job.look(asked, job)


PAGE = Page(name="job", path="jobs/{which}", title="Job", template="job.html", look=look)
