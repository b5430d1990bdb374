"""The verb `result`: find the job, wait for its end, and raise the error that explains why it has no result. Also the
results of the members of a group.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.broker import Inspector
from workkit.contract.history import Result, no_results
from workkit.errors import JobFailed, NoResult, NotFound, ResultPending, ResultTimeout
from workkit.jobs.job import Job
from workkit.jobs.marks import imported_options
from workkit.jobs.option_readers import milliseconds
from workkit.jobs.outcome import Failure
from workkit.text.wording import duration_text
from workkit.verbs.control import Which, text_of
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import groups_of, members_of, producer_of
from workkit.verbs.past import job_of

LOOK_MS = 5_000  # ms; the longest wait without a check that the job still exists: some endings write no result
_OCCURRENCE = re.compile(r"([0-9a-f]{40})@(-?\d{1,17})(#\S+)?")
_ID = re.compile(r"[0-9a-f]{40}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The result to find: that of a job (of one that was added now, none of an earlier job with its id), or of one
    occurrence.
    """

    id: str
    which: str
    schedule: str
    due_ms: int | None = None  # ms; results of earlier due times do not count
    occurrence: str | None = None

    def among(self, found: Sequence[Result]) -> Result | None:
        """Find it from results, the last one first. Without an occurrence, an entry only means that the job is gone."""
        mine = [one for one in found if self.due_ms is None or one.due_ms >= self.due_ms]
        if self.occurrence is not None:
            return next((one for one in mine if one.occurrence == self.occurrence), None)
        return next((one for one in mine if one.occurrence), mine[0] if mine else None)


def read_wait(wait: Any) -> int:
    """Read how long to wait, in ms; None: do not wait. Raises TriggerError, InvalidOptions."""
    return 0 if wait is None else int(milliseconds(0)(wait, "wait"))


def result(s: Schedule, which: Which, *, wait: str | timedelta | None = "30s") -> Any:
    """Return the value that the handler of a job with `keep` returned, as JSON has it. Waits for its end, `wait` at
    most.

    `which` is a Job, an id, the beginning of one, or a name. Of a recurring job it is the latest run with a result, or
    the one named as ``ID@DUE``, the due time in ms since 1970. `wait=None` does not wait. The server wakes the waiting
    callers; any number may wait for, or read, one result.

    Raises JobFailed (with `type`, `message`, `traceback`) for a job that failed for good, or was discarded or
    cancelled; ResultPending for one that is not over, and ResultTimeout if it is not over after `wait`; NoResult for
    one that keeps none, or if its value could not be stored; NotFound for an unknown one, or if its result has expired;
    TriggerError; Unsupported where the layout keeps no results.
    """
    wait_ms = read_wait(wait)
    inspector = producer_of(s).inspector
    if Keeps.KEEP_RESULT not in layout_of(s.layout).keeps:
        raise no_results("a result")
    results, wanted = inspector.history.results, _wanted(inspector, which, s.name)
    ends_at = time.monotonic() + wait_ms / 1000
    found = results(wanted.id)
    while True:
        place = found[0].place if found else "0"
        if (one := wanted.among(found)) is not None:
            return _value(one, wanted)
        job = _there(inspector, wanted.id)
        left_ms = (ends_at - time.monotonic()) * 1000
        if job is None or job.state == "dead" or _is_behind(job, wanted) or not _may_keep(job) or left_ms <= 0:
            if (one := wanted.among(results(wanted.id))) is not None:  # it has ended between the two reads
                return _value(one, wanted)
            raise _none(inspector, job, wanted, wait_ms)
        found = results(wanted.id, after=place, wait_ms=min(LOOK_MS, max(1, round(left_ms)))) or found


def _wanted(inspector: Inspector, which: Which, schedule: str) -> _Wanted:
    """Find the job of the result. Raises NotFound."""
    text = text_of(which)
    if isinstance(which, Job):
        is_own = which.trigger is not None or which.batch is not None  # no earlier job had its id
        due_ms = None if is_own or which.due is None else _ms(which.due)
        return _Wanted(id=which.id, which=text, schedule=schedule, due_ms=due_ms)
    if (occurrence := _OCCURRENCE.fullmatch(text)) is not None:
        return _Wanted(id=occurrence[1], which=text, schedule=schedule, occurrence=text)
    if _ID.fullmatch(text):
        return _Wanted(id=text, which=text, schedule=schedule)
    try:
        id = inspector.job(text).id
    except NotFound:
        found = inspector.history.result_id(text)
        id = job_of(inspector, text, schedule=schedule).id if found is None else found
    return _Wanted(id=id, which=text, schedule=schedule)


def _there(inspector: Inspector, id: str) -> Job | None:
    try:
        return inspector.job(id)
    except NotFound:
        return None


def _may_keep(job: Job) -> bool:
    """Return whether a job may keep its result. The `@job` of a function that is not imported here is unknown."""
    marked = imported_options(job.fn)
    return marked is None or job.options.over(marked).keep_ms is not None


def _is_behind(job: Job, wanted: _Wanted) -> bool:
    """Return whether a recurring job has moved past the wanted occurrence."""
    if wanted.occurrence is None or job.due is None or job.state not in ("waiting", "due", "paused"):
        return False
    occurrence = _OCCURRENCE.fullmatch(wanted.occurrence)
    return occurrence is not None and _ms(job.due) > int(occurrence[2])


def _value(one: Result, wanted: _Wanted) -> Any:
    """Return the value of a result. Raises JobFailed, NoResult."""
    if one.kind == "value":
        return one.value
    failure = one.failure or Failure(type="?", message="")
    if one.kind == "unkept":
        trouble = f"is done, and its result was not kept: {failure.message}"
        raise NoResult.about(_named(wanted), trouble, where=wanted.schedule, given=wanted.which)
    raise _failed(wanted, failure, ending=one.kind)


def _failed(wanted: _Wanted, failure: Failure, *, ending: str) -> JobFailed:
    did = {"failed": "failed", "discarded": "was discarded", "cancelled": "was cancelled"}[ending]
    line = failure.message if failure.type in ("Discard", "JobCancelled") and ending != "failed" else failure.line
    error = JobFailed(f"{_named(wanted)} {did}: {line.rstrip('.')}.", given=wanted.which, where=wanted.schedule)
    error.ending, error.type, error.message, error.traceback = ending, failure.type, failure.message, failure.traceback
    return error


def _none(inspector: Inspector, job: Job | None, wanted: _Wanted, wait_ms: int) -> Exception:
    """Make the error that explains why there is no result."""
    said = {"where": wanted.schedule, "given": wanted.which}
    if job is None:
        try:
            over = job_of(inspector, wanted.id, schedule=wanted.schedule)
        except NotFound as unknown:
            why = "It never was, it was removed or replaced, or its result has expired or was not kept"
            return NotFound.about(f'no result of "{wanted.which}"', f"in {wanted.schedule}", f"{why}.", **said) \
                if unknown.suggestion is None else unknown  # fmt: skip
        trouble = f"is over ({over.ending}), and has no result"
        return NoResult.about(_named(wanted), trouble, "It has expired, or the job keeps none: keep=.", **said)
    if job.state == "dead" and wanted.occurrence is None:
        return _failed(wanted, job.failure or Failure(type="?", message=job.error or ""), ending="failed")
    if _is_behind(job, wanted) or job.state == "dead":
        return NoResult.about(_named(wanted), "has no result", "It has expired, or none was kept.", **said)
    if not _may_keep(job):
        remedy = 'Add it with keep="1 day", or mark its function with @job(keep="1 day").'
        return NoResult.about(_named(wanted), "keeps no result", remedy, **said)
    if wait_ms:
        long = duration_text(wait_ms)
        return ResultTimeout.about(_named(wanted), f"has no result after {long}: it is {job.state}", **said)
    return ResultPending.about(_named(wanted), f"has no result yet: it is {job.state}", 'Give wait="30s".', **said)


def _named(wanted: _Wanted) -> str:
    which = wanted.which if wanted.which != wanted.id else wanted.id[:8]
    return f"job {which} in {wanted.schedule}"


def _ms(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def results_of(s: Schedule, which: str) -> Iterator[tuple[str, Any]]:
    """Read the results of the members of a group, page by page: those that are kept. `which`: the name of a batch, or
    the id of the job that runs after them.
    """
    results = producer_of(s).inspector.history.results
    for member in members_of(s, groups_of(s).group(which), "done"):
        id, _, due = member.name.partition("@")
        found = (one for one in results(id) if not due or one.due_ms == int(due))
        if (last := next(found, None)) is not None and last.kind == "value":
            yield id, last.value
