"""The page of one job: of one that recurs, or of one that runs once."""

from __future__ import annotations

from itertools import islice
from typing import Final

from workkit.contract.composed import finished_job
from workkit.contract.history import JOB
from workkit.errors import Ambiguous, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.terms import spread_offset_ms
from workkit.text.glance import at_moment
from workkit.web.dead_jobs import key_of
from workkit.web.page import Asked, Page, View
from workkit.web.pages import recurring_job, single_job

MOST_RUNS: Final = 20_000  # runs in which a job that is over is searched
MOST_DEAD: Final = 20_000
MOST_CHANGES: Final = 2_000


def look(asked: Asked) -> View:
    """Find the job, and make the view of its kind. Raises NotFound."""
    found = _dead(asked, asked.params["dead"]) if "dead" in asked.params else _job(asked)
    job = asked.veil.job(found)
    if job.recurs and job.state != "dead":
        # of an unnamed job it depends on the arguments, which the veil may hide
        again = asked.retry_of(found.id)
        return recurring_job.look(
            asked, job, offset_ms=spread_offset_ms(found.terms, found.fn, found.args), log=asked.log(found),
            again=again, wrong=None if again is None else single_job.wrong_of(asked.veil.job(again), again),
        )  # fmt: skip
    return single_job.look(asked, job, found)


def _job(asked: Asked) -> Job:
    """Find a job by name, by id, by the beginning of one, or in history, where it is over."""
    which = asked.names["which"]
    inspector = asked.served.inspector()
    try:
        return inspector.job(which)
    except Ambiguous:
        raise
    except NotFound:
        over = finished_job(inspector, which, schedule=asked.served.name, most=MOST_RUNS)
        if over is None:
            if said := _cancelled(asked, which):
                raise NotFound(said, given=which) from None
            raise
        return over


def _cancelled(asked: Asked, which: str) -> str:
    """Say who has cancelled a job and when, as far as the last changes tell; "" where nobody has."""
    try:
        for change in islice(asked.served.inspector().history.changes(), MOST_CHANGES):
            if which not in (change.id, change.target.removeprefix(JOB)):
                continue
            if change.verb != "cancel":
                return ""
            seen = asked.veil.change(change)
            at = at_moment(seen.at.replace(second=0, microsecond=0), asked.now, asked.zone)
            return f"Cancelled{f' by {seen.by}' if seen.by else ''} {at}: {which}."
    except Unsupported:
        pass
    return ""


def _dead(asked: Asked, key: str) -> Job:
    """Find one dead record of a job."""
    which = asked.names["which"]
    dead = islice(asked.served.inspector().jobs(state="dead"), MOST_DEAD)
    found = next((job for job in dead if key_of(job.dead_id or job.id) == key and which in (job.id, job.name)), None)
    if found is None:
        remedy = "It was retried or discarded, or it is the record of another job."
        raise NotFound.about(
            f'no dead record "{key}" of "{which}"', f"in {asked.served.name}", remedy, given=key,
            suggestion=which,
        )  # fmt: skip
    return found


PAGE = Page(name="job", path="jobs/{which}", title="Job", template="job.html", look=look)
