"""The page of one job. It finds the job. Recurring jobs are in `recurring_job.py`; jobs that run once are here: their
attempts, their function, and the facts about them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from workkit.contract.composed import attempts_of_job, finished_job
from workkit.contract.history import FN, JOB, Cell, PastRun, Result
from workkit.contract.record import attempts_text, deadline_at, full_record, run_record, words_of
from workkit.contract.where import JobQuery
from workkit.errors import Ambiguous, NotFound, Unsupported
from workkit.jobs.job import Job, argument_text, arguments_text
from workkit.jobs.meta import meta_text
from workkit.jobs.names import shown
from workkit.jobs.terms import spread_offset_ms
from workkit.text.glance import at_moment, full_moment, under
from workkit.text.masked_text import MASK
from workkit.text.wording import duration_text, iso, plural, progress
from workkit.web.charts.attempts import Attempts, attempts
from workkit.web.charts.axis import function_day
from workkit.web.charts.bars import Drawing
from workkit.web.dead_jobs import key_of
from workkit.web.page import Asked, Page, View
from workkit.web.pages import recurring_job
from workkit.web.pages.batches import Neighbours, around
from workkit.web.pages.dead import given_json
from workkit.web.pages.single_job_sentences import (
    JobFacts,
    Wrong,
    failed_text,
    is_of_group,
    state_sentence,
    wrong_of,
)
from workkit.web.words import pause_of, pauses_text, why_paused


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleJobView:
    """The content of the page. `failed`: how often it failed; `said`: the sentence about its state; `acts`: the acts
    that are possible.
    """

    schedule: str
    now: datetime
    job: Job
    failed: str
    said: str
    tried: tuple[PastRun, ...]
    attempts: Attempts | None
    wrong: Wrong | None
    function: Function | None
    facts: tuple[Fact, ...]
    by_hand: tuple[str, ...]
    acts: tuple[str, ...]
    unknown: str
    log: tuple[str, ...]
    around: Neighbours
    recurs: bool = False

    @property
    def title(self) -> str:
        """The job's name, else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def sentence(self) -> str:
        """Both sentences."""
        return f"{self.failed} {self.said}".strip()

    @property
    def changeable(self) -> str:
        """The arguments of a dead job as JSON, where a user may change them."""
        return given_json(self.job) if self.job.state == "dead" else ""

    @property
    def raw(self) -> str:
        """The job as the record that programs read."""
        return json.dumps(full_record(self.job), indent=1, ensure_ascii=False, default=str)

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.sentence,
            "job": full_record(self.job),
            "attempts": [run_record(run) for run in self.tried],
            "unknown": self.unknown,
            "log": list(self.log),
            "after": [row.record(self.schedule) for row in self.around.after],
            "next": [row.record(self.schedule) for row in self.around.next],
        }


def single_view(asked: Asked, job: Job, raw: Job) -> SingleJobView:
    """Make the view of a job. `job` is masked, `raw` is not."""
    unknown = ""
    tried: Sequence[PastRun] = ()
    function, usual_ms = None, 0.0
    try:
        tried = tried_of(asked, raw)
        function, usual_ms = function_of(asked, job)
    except Unsupported as error:
        unknown = str(error)
    listener = next((info.listener for info in asked.pulse.listeners for one in info.running if one.id == raw.id), None)
    pause = asked.veil.pause(pause_of(job, asked.pulse.control)) if job.state == "paused" else None
    shown = job if pause is None else replace(job, why=why_paused(pause, asked.now, asked.zone))
    standing = JobFacts(
        job=shown, now=asked.now, zone=asked.zone, listener=listener, place=place_in_line(asked, raw),
        last=tried[-1] if tried else None, usual_ms=usual_ms,
    )  # fmt: skip
    return SingleJobView(
        schedule=asked.served.name,
        now=asked.now,
        job=job,
        failed=failed_text(standing),
        said=state_sentence(standing),
        tried=tuple(tried),
        attempts=_attempts(asked, job, tried, usual_ms),
        wrong=wrong_of(job, raw, tried),
        function=function,
        facts=tuple(
            facts(
                job,
                now=asked.now,
                zone=asked.zone,
                result=result_of(asked, raw),
                late=recurring_job.late_said(asked, job),
            )
        ),
        by_hand=tuple(by_hand(asked.served.name, job)),
        acts=_acts(job),
        unknown=unknown,
        log=asked.log(raw),
        around=around(asked, raw),
    )


def _attempts(asked: Asked, job: Job, tried: Sequence[PastRun], usual_ms: float) -> Attempts | None:
    """Draw the attempts; None where history lacks some of those before the next one."""
    is_next = job.state not in ("dead", "done")
    if (not is_next and not tried) or (is_next and (tried[-1].attempt + 1 if tried else 0) != job.attempt):
        return None
    runs = job.state in ("running", "cancelling")
    return attempts(
        tried, options=job.options, now=asked.now, zone=asked.zone, usual_ms=usual_ms,
        next_due=job.due if is_next and not runs else None, began=job.due if runs else None,
    )  # fmt: skip


def _acts(job: Job) -> tuple[str, ...]:
    """Return the acts that are possible in the job's state."""
    match job.state:
        case "running":
            return ("cancel",)
        case "cancelling" | "done":
            return ()
        case "dead":
            return ("retry", "discard")
        case "paused":
            return ("resume", "cancel")
        case "held":
            return ("pause", "cancel")
    return ("run", "pause", "cancel")


MOST_PAUSES: Final = 6  # pauses of a back-off that are listed
MOST_RESULT: Final = 2_000  # characters of a kept result


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. `is_code`: the value is for programs."""

    title: str
    text: str
    is_code: bool = False


def facts(job: Job, *, now: datetime, zone: tzinfo, result: Result | None, late: str = "") -> Iterator[Fact]:
    """List the facts about a job, masked. `result`: the kept result of its last run. `late`: it is late, in words."""
    yield Fact("Id", job.id, is_code=True)
    if job.name:
        yield Fact("Name", job.name)
    yield Fact("Function", shown(job.fn), is_code=True)
    yield Fact("Arguments", arguments_text(job), is_code=job.args_kept)
    if job.meta:
        yield Fact("Metadata", meta_text(job.meta), is_code=True)
    if job.state != "done":
        yield Fact("When", words_of(job) or "once")
    if job.due is not None:
        yield Fact("Died" if job.state == "dead" else "Due", full_moment(job.due.replace(microsecond=0), now, zone))
    by = deadline_at(job)
    if late or by is not None:
        yield Fact("Deadline", full_moment(by, now, zone) if by is not None and not late else late)
    yield Fact("Attempts", attempts_text(job))
    options, terms = job.options, job.terms
    if options.retries:
        yield Fact("Retries", f"{options.retries:,}, after {pauses_text(options, most=MOST_PAUSES)}")
    if options.crashes is not None:
        yield Fact("Crashes", f"{options.crashes:,}, then it is dead" if options.crashes else "none: at most one run")
    if options.timeout_ms is not None:
        yield Fact("Timeout", duration_text(options.timeout_ms))
    if terms.expires_ms is not None:
        yield Fact("Expires", f"{duration_text(terms.expires_ms)} after it is due")
    if terms.priority is not None:
        yield Fact("Priority", f"{terms.priority}")
    if terms.unique_key is not None:
        yield Fact("Key", terms.unique_key, is_code=True)
    if terms.once_key is not None:
        yield Fact("Key that lasts", terms.once_key, is_code=True)
    if job.queue is not None:
        yield Fact("Queue", job.queue, is_code=True)
    if job.followed_by is not None:
        yield Fact("Followed by", job.followed_by, is_code=True)
    if job.progress is not None:
        yield Fact("Progress", progress(job.progress))
    if result is not None:
        yield Fact("Result", _result(result), is_code=result.kind == "value")
    elif options.keep_ms is not None:
        yield Fact("Result", f"none yet; kept for {duration_text(options.keep_ms)}")


def by_hand(schedule: str, job: Job) -> list[str]:
    """Write the commands for the acts that are possible."""
    verbs = {
        "running": ("cancel",), "cancelling": ("show",), "dead": ("retry", "discard"), "done": ("runs",),
        "paused": ("resume", "cancel"), "held": ("pause", "cancel"),
    }.get(job.state, ("run", "pause", "cancel"))  # fmt: skip
    which = job.name or job.short_id
    return [shlex.join(["workkit", verb, schedule, which]) for verb in verbs]


def _result(result: Result) -> str:
    if result.failure is not None:
        return f"{result.kind}: {result.failure.line}"
    text = argument_text(result.value) if result.kind == "value" else result.kind
    return text if len(text) <= MOST_RESULT else f"{text[:MOST_RESULT]}…"


DAY_MS: Final = 86_400_000
MOST_RUNS: Final = 20_000  # runs searched for attempts
LINE_MS: Final = 60.0  # ms; time budget of the search for a held job's place


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function over 24 hours. `path`: its runs."""

    name: str
    path: str
    said: str
    within: str
    drawing: Drawing


def tried_of(asked: Asked, job: Job) -> list[PastRun]:
    """Read the ended attempts, where there can be some."""
    if not job.attempt and job.state not in ("dead", "done"):
        return []
    return [asked.veil.run(run, of=job) for run in attempts_of_job(asked.served.inspector(), job, most=MOST_RUNS)]


def function_of(asked: Asked, job: Job) -> tuple[Function | None, float]:
    """Return the runs of its function in 24 hours, and the median duration in ms."""
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
        within=under(((0.5, half), (0.95, cell.durations.below_ms(0.95)))),
        drawing=function_day(past, shown(job.fn), now=asked.now, zone=asked.zone),
    )
    return found, min(half or 0.0, DAY_MS)


def place_in_line(asked: Asked, job: Job) -> int | None:
    """Find the place of a held job among the jobs that wait for the same limit."""
    if job.state != "held" or is_of_group(job):
        return None
    page = asked.served.inspector().page(JobQuery(state="held", limit=1000, budget_ms=LINE_MS))
    line = [one.id for one in page.jobs if one.why == job.why]
    return line.index(job.id) + 1 if job.id in line else None


def result_of(asked: Asked, job: Job) -> Result | None:
    """Read the kept result of its last run, masked."""
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


MOST_SEARCHED: Final = 20_000  # runs searched for a finished job
MOST_DEAD: Final = 20_000
MOST_CHANGES: Final = 2_000


def look(asked: Asked) -> View:
    """Find the job, and make the view for its kind. Raises NotFound."""
    found = _dead(asked, asked.params["dead"]) if "dead" in asked.params else _job(asked)
    job = asked.veil.job(found)
    if job.recurs and job.state != "dead":
        # the key of an unnamed job depends on its arguments, which the veil may hide
        again = asked.retry_of(found.id)
        return recurring_job.look(
            asked, job, offset_ms=spread_offset_ms(found.terms, found.fn, found.args), log=asked.log(found),
            again=again, wrong=None if again is None else wrong_of(asked.veil.job(again), again),
            follow=around(asked, found).next,
        )  # fmt: skip
    return single_view(asked, job, found)


def _job(asked: Asked) -> Job:
    """Find a job by name, by id, by the beginning of an id, or in history if it is finished."""
    which = asked.names["which"]
    inspector = asked.served.inspector()
    try:
        return inspector.job(which)
    except Ambiguous:
        raise
    except NotFound:
        over = finished_job(inspector, which, schedule=asked.served.name, most=MOST_SEARCHED)
        if over is None:
            if said := _cancelled(asked, which):
                raise NotFound(said, given=which) from None
            raise
        return over


def _cancelled(asked: Asked, which: str) -> str:
    """Say who cancelled a job and when, as far as the last changes tell; "" where nobody did."""
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
