"""The page of one job: of one that recurs, or of one that runs once."""

from __future__ import annotations

from workkit.web.page import Asked, Page, View
from workkit.web.pages import recurring_job, single_job


def look(asked: Asked) -> View:
    """Find the job by name, by id or by the beginning of one. Raises NotFound."""
    job = asked.veil.job(asked.served.inspector().job(asked.names["which"]))
    if job.trigger is not None and job.trigger.recurs:
        return recurring_job.look(asked, job)
    return single_job.look(asked, job)


PAGE = Page(name="job", path="jobs/{which}", title="Job", template="job.html", look=look)
