"""What a schedule tells of a job beside the job itself: its attempts, its function, its place in a line, its result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Final
from urllib.parse import quote

from workkit.contract.history import FN, Cell, PastRun
from workkit.contract.job_page import JobQuery
from workkit.contract.past_runs import attempts_of_job
from workkit.contract.result import Result
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.glance import within
from workkit.text.listing import plural
from workkit.web.drawing.columns import function_day
from workkit.web.drawing.shape import Drawing
from workkit.web.hiding.masked_text import MASK
from workkit.web.page import Asked

DAY_MS: Final = 86_400_000
MOST_RUNS: Final = 20_000  # runs through which attempts are searched
LINE_MS: Final = 60.0  # for the place in a line of what is held


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function over 24 hours. `path`: its runs."""

    name: str
    path: str
    said: str
    within: str
    drawing: Drawing


def tried_of(asked: Asked, job: Job) -> list[PastRun]:
    """Read the attempts that ended, where there can be some."""
    if not job.attempt and job.state not in ("dead", "done"):
        return []
    return [asked.veil.run(run, of=job) for run in attempts_of_job(asked.served.inspector(), job, most=MOST_RUNS)]


def function_of(asked: Asked, job: Job) -> tuple[Function | None, float]:
    """Tell what its function did in 24 hours, and how long half of its runs took at most, in ms."""
    now = asked.pulse.now_ms
    past = asked.served.inspector().history.past(FN + job.fn, since_ms=now - DAY_MS, until_ms=now + 1, tier="5")
    cell = sum((bucket.cell for bucket in past), Cell())
    if not cell.runs:
        return None, 0.0
    failed = cell.retried + cell.dead
    half = cell.durations.below_ms(0.5)
    found = Function(
        name=shown(job.fn),
        path=f"runs?fn={quote(shown(job.fn), safe='', errors='replace')}",
        said=f"24 hours: {plural(cell.runs, 'run')}" + (f", {failed:,} failed" if failed else ""),
        within=within(((0.5, half), (0.95, cell.durations.below_ms(0.95)))),
        drawing=function_day(past, shown(job.fn), now=asked.now, zone=asked.zone),
    )
    return found, min(half or 0.0, DAY_MS)


def place_in_line(asked: Asked, job: Job) -> int | None:
    """Find the place of a held job among those that wait for the same: these are listed by what they wait for."""
    if job.state != "held":
        return None
    page = asked.served.inspector().page(JobQuery(state="held", limit=1000, budget_ms=LINE_MS))
    line = [one.id for one in page.jobs if one.why == job.why]
    return line.index(job.id) + 1 if job.id in line else None


def result_of(asked: Asked, job: Job) -> Result | None:
    """Read what is kept of its last run, masked."""
    if job.options.keep_ms is None and job.state != "done":
        return None
    try:
        last = next(islice(asked.served.inspector().history.results(job.id), 1), None)
    except Unsupported:
        return None
    if last is None:
        return None
    mask = asked.veil.usual
    return replace(last, value=MASK if mask.everything else mask.value(last.value))
