"""The page Jobs: the jobs in each state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from workkit.contract.filters import PLACES, read_filter, understood
from workkit.contract.inspector import Counts
from workkit.contract.record import job_record
from workkit.contract.where import JobPage, JobQuery, Where, looked_up
from workkit.errors import Unsupported
from workkit.jobs.job import STATES, Job, JobState
from workkit.text.glance import moment
from workkit.text.wording import iso, listed, plural
from workkit.web.page import Asked, Page
from workkit.web.words import Sentence, job_ref, pause_of, plain, why_paused

ROWS: Final = 50
LOOK_MS: Final = 60.0
"""How long a request searches jobs, in ms. Then the page says how far it came, and a link continues. A page without a
job opens that link by itself, and its search takes `FURTHER` times as long.
"""

FURTHER: Final = 8

MANY: Final = 50_000
"""The number of jobs to assume where the layout does not count them. A filter continues by itself through at most twice
the number of jobs: recurring jobs move to later times meanwhile, so the end may never come.
"""

ALL: Final = "all"
TABS: Final[Mapping[str, str]] = {
    ALL: "All",
    "running": "Running",
    "due": "Due",
    "waiting": "Waiting",
    "retrying": "To be tried again",
    "held": "Held",
    "paused": "Paused",
    "dead": "Dead",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A state, and the number of jobs in it; None: the layout does not count them."""

    text: str
    n: int | None
    path: str
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job, the path of its page, and the reason for its state."""

    job: Job
    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsView:
    """The content of the page. `looked`: a sentence that says how far a filter has searched. `more`: leads to the next
    page. `total`: the number of jobs in the whole list, where it is known. `onward`: the next page, which the browser
    opens by itself while a filter has found no job.
    """

    schedule: str
    now: datetime
    state: str
    filter: str
    understood: str
    tabs: tuple[Tab, ...]
    rows: tuple[JobRow, ...]
    said: Sentence
    looked: str
    more: str | None
    unknown: tuple[str, ...]
    page: JobPage
    total: int | None = None
    is_first: bool = True
    onward: str | None = None

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "state": None if self.state == ALL else self.state,
            "filter": self.filter,
            "understood": self.understood,
            "jobs": [job_record(row.job) for row in self.rows],
            "looked": self.page.looked,
            "until": iso(self.page.until) if self.page.until else None,
            "next": None if self.more is None else self.more.replace("jobs", "jobs.json", 1),
            "unknown": list(self.unknown),
        }


def look(asked: Asked) -> JobsView:
    """Read a page of the jobs in a state that match a filter. Raises InvalidOptions."""
    text = asked.params.get("q", "").strip()
    where = read_filter(text, "jobs")
    state = asked.one_of("state", (ALL, *STATES))
    counts = asked.pulse.counts
    unknown: list[str] = []
    page = _page(asked, where, None if state == ALL else state, unknown)  # type: ignore[arg-type]
    before, found, most = (_number(asked.params.get(name, "")) for name in ("looked", "found", "of"))
    total, looked = _total(counts, state), before + page.looked
    most = max(most, MANY if total is None else total)  # while some end
    more = None
    if page.after is not None:
        counted = "" if where.is_everything else f"&looked={looked}&found={found + len(page.jobs)}&of={most}"
        more = f"{_path(state, text)}&after={quote(page.after)}{counted}"
    goes_on = bool(text) and not page.jobs and looked < 2 * most
    return JobsView(
        schedule=asked.served.name,
        now=asked.now,
        state=state,
        filter=text,
        understood="" if where.is_everything else understood(where),
        tabs=tuple(_tabs(counts, state, text)),
        rows=tuple(JobRow(job=job, path=job_ref(job), why=_why(job, asked)) for job in page.jobs),
        said=_said(asked.served.name, page, where, state, found=found, looked=looked, total=total, goes_on=goes_on),
        looked=_looked(page, where, before, total, asked),
        more=more,
        unknown=tuple(dict.fromkeys([*unknown, *([page.cut] if page.cut else [])])),
        page=page,
        total=total if where.is_everything else None,
        is_first="after" not in asked.params,
        onward=more if goes_on else None,
    )


def _page(asked: Asked, where: Where, state: JobState | None, unknown: list[str]) -> JobPage:
    """Find the one job that a filter names, or search the jobs for a limited time."""
    inspector = asked.served.inspector()
    if "after" not in asked.params:
        named = looked_up(where, lambda which: asked.veil.job(inspector.job(which)), state=state, now=asked.now)
        if named is not None:
            return JobPage(jobs=named)
    missing = inspector.unlisted()
    if state is None:
        unknown += missing.values()
    budget_ms = LOOK_MS * FURTHER if "looked" in asked.params else LOOK_MS
    query = JobQuery(
        state=state, where=where, after=asked.params.get("after"), limit=ROWS, budget_ms=budget_ms, see=asked.veil.job
    )
    try:
        return inspector.page(query)
    except Unsupported as error:
        unknown.append(str(error))
        return JobPage(jobs=())


def _tabs(counts: Counts, state: str, text: str) -> list[Tab]:
    return [
        Tab(text=TABS[name], n=_total(counts, name), path=_path(name, text), is_here=name == state) for name in TABS
    ]


def _total(counts: Counts, state: str) -> int | None:
    """Count the jobs of a state, or all; None where the layout does not count them."""
    states = STATES if state == ALL else (state,)
    if any(one in counts.unknown for one in states):
        return None
    return sum(int(getattr(counts, one)) for one in states)


def _path(state: str, text: str) -> str:
    return f"jobs?state={state}" + (f"&q={quote(text)}" if text else "")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _why(job: Job, asked: Asked) -> str:
    if job.state == "paused" and (pause := asked.veil.pause(pause_of(job, asked.pulse.control))):
        return why_paused(pause, asked.now, asked.zone)
    return job.error or "" if job.state in ("retrying", "dead") or job.fn == "?" else job.why or job.error or ""


def _said(
    schedule: str, page: JobPage, where: Where, state: str, *, found: int, looked: int, total: int | None, goes_on: bool
) -> Sentence:
    """Describe the page. `found` and `looked`: how many jobs the filter found on the pages before, and how many were
    searched so far. `goes_on`: the search continues by itself.
    """
    if page.jobs:
        return (f"Jobs of {schedule}",)
    if not where.is_everything and page.after is not None and not goes_on:
        return (f"{'No other' if found else 'Not'} found. {plural(looked, 'job')} were looked at, and they move.",)
    if not where.is_everything and page.after is not None:
        far = f"{100 * looked // total} %" if total is not None and total > looked else plural(looked, "job")
        return (f"{'No other' if found else 'Not'} found yet, {'less than 1 %' if far == '0 %' else far} looked at.",)
    if not where.is_everything:
        accepted = listed([f"{one}:" for one in PLACES["jobs"]])
        return (
            f"No {'other ' if found else ''}job here: {understood(where)}. A filter may say {accepted}, or any text.",
        )
    if page.after is not None:
        return (f"Jobs of {schedule}",)
    return ("No job here." if state == ALL else f"No job is {TABS[state].lower()}.",)


def _looked(page: JobPage, where: Where, before: int, total: int | None, asked: Asked) -> str:
    """Say how far a filter has searched, where it has not searched all jobs."""
    if where.is_everything or page.after is None:
        return ""
    looked = before + page.looked
    of = f" of {total:,}" if total is not None and total >= looked else ""
    due = (
        "" if page.until is None else f", due until {moment(page.until.replace(microsecond=0), asked.now, asked.zone)}"
    )
    return f"Looked at {looked:,}{of}{due}." if of else f"Looked at {plural(looked, 'job')}{due}."


PAGE = Page(name="jobs", path="jobs", title="Jobs", template="jobs.html", look=look, icon="list", key="j")
