"""Answers that combine several calls of an inspector: a pulse, a page of jobs, the jobs of all states, a finished job,
the attempts of a job, the sync that owns it. Also the joined answers of the parts of a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Final, TypeVar

from workkit.contract.admin import Change
from workkit.contract.broker import Inspector
from workkit.contract.history import NO_RUN, PastRun, call_of, is_run_of
from workkit.contract.inspector import MOST_LISTENERS, SOON, Counts, Pulse, soonest
from workkit.contract.listener import ListenerInfo
from workkit.contract.where import JobPage, JobQuery, no_place, read_page
from workkit.errors import Unsupported
from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import STATES, Job, JobState
from workkit.text.wording import epoch_ms

_WAITING: tuple[JobState, ...] = ("due", "waiting", "retrying", "paused")

_MOST_COUNTED: Final = 20_000
"""The number of jobs that a page walks through, at most, in a layout with numbers as places."""

T = TypeVar("T")


def composed_pulse(inspector: Inspector, *, now_ms: int, soon: Sequence[JobState] = _WAITING) -> Pulse:
    """Make a pulse from the other calls of an inspector. A part that the inspector refuses is `unknown`, with its
    reason. `soon`: the states of the first jobs that the pulse holds.
    """
    unknown: dict[str, str] = {}

    def asked(part: str, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except Unsupported as error:
            unknown.setdefault(part, str(error))
            return otherwise

    def first(state: JobState) -> list[Job]:
        return list(islice(inspector.jobs(state=state), SOON))

    listeners = asked("listeners", inspector.listeners, list[ListenerInfo]())
    first_jobs = [job for state in soon for job in asked("soon", partial(first, state), list[Job]())]
    return Pulse(
        now_ms=now_ms,
        counts=asked("counts", inspector.counts, Counts()),
        control=asked("control", inspector.control, FREE),
        soon=soonest(first_jobs),
        listeners=tuple(sorted(listeners, key=lambda info: info.beat_ms or 0)[:MOST_LISTENERS]),
        unknown=unknown,
    )


def listable(inspector: Inspector, state: JobState | None, **like: Sequence[str]) -> Iterator[Job]:
    """Yield the jobs of a state, or those of every state that the layout can list. `like`: see `Inspector.jobs`."""
    missing = inspector.unlisted() if state is None else {}
    if not missing:
        return inspector.jobs(state=state, **like)
    return chain.from_iterable(inspector.jobs(state=one, **like) for one in STATES if one not in missing)


def counted_page(inspector: Inspector, query: JobQuery, *, now: datetime, clock_s: Callable[[], float]) -> JobPage:
    """Read a page of a layout that can only start at the first job: places are numbers, and the walk is limited."""
    start = _read_number(query.after)
    jobs = islice(enumerate(listable(inspector, query.state), 1), start, _MOST_COUNTED)
    page = read_page(((job, partial(str, n)) for n, job in jobs), query, now=now, clock_s=clock_s)
    if page.after is None and start + page.looked >= _MOST_COUNTED - 1:
        return JobPage(
            jobs=page.jobs, looked=page.looked, until=page.until,
            cut=f"Only the first {_MOST_COUNTED:,} jobs can be looked through in this layout.",
        )  # fmt: skip
    return page


def _read_number(after: str | None) -> int:
    """Read a place that is a number. Raises InvalidOptions."""
    if after is None:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) < 10):
        raise no_place(after)
    return int(after)


def place_in_list(job: Job) -> tuple[int, float]:
    """Return the sort key of a job in the order of `Inspector.jobs`: running, then waiting, then dead."""
    due = float("-inf") if job.due is None else job.due.timestamp()
    if job.state in ("running", "cancelling"):
        return 0, due
    return (2, -due) if job.state == "dead" else (1, due)


def joined_pulse(parts: list[Pulse]) -> Pulse:
    """Join the pulses of the parts of a schedule. A listener appears once for each part."""
    return Pulse(
        now_ms=max(one.now_ms for one in parts),
        counts=summed_counts([one.counts for one in parts]),
        control=joined_control([one.control for one in parts]),
        soon=soonest([job for one in parts for job in one.soon]),
        listeners=tuple(info for one in parts for info in one.listeners),
        version=" ".join(one.version for one in parts),
        unknown={part: why for one in parts for part, why in one.unknown.items()},
    )


def joined_control(parts: list[Control]) -> Control:
    """Join the pauses of all parts of a schedule; its own limits are those of the first part."""
    paused = {target: pause for control in parts for target, pause in control.paused.items()}
    return replace(parts[0], paused=paused, quiet=frozenset().union(*(control.quiet for control in parts)))


def summed_counts(parts: Sequence[Counts]) -> Counts:
    """Add up the counts of the parts of one schedule. A listener counts once in each."""
    totals: dict[str, int] = {}
    for counts in parts:
        for what, n in counts.totals.items():
            totals[what] = totals.get(what, 0) + n
    summed = {
        field.name: sum(getattr(counts, field.name) for counts in parts)
        for field in fields(Counts)
        if field.name not in ("totals", "late_ms", "unknown", "past_deadline")
    }
    past = tuple(one for counts in parts for one in counts.past_deadline)
    unknown = {name: why for counts in parts for name, why in counts.unknown.items()}
    late_ms = max((counts.late_ms for counts in parts if counts.late_ms is not None), default=None)
    return Counts(**summed, late_ms=late_ms, totals=totals, past_deadline=past, unknown=unknown)


def finished_job(inspector: Inspector, which: str, *, schedule: str, most: int | None = None) -> Job | None:
    """Find a finished job by its last single run, among the last `most` runs; None if there is none."""
    try:
        last = next((run for run in islice(inspector.history.runs(), most) if is_run_of(run, which)), None)
    except Unsupported:
        return None
    if last is None or last.ending in ("retried", "skipped"):
        return None
    assert last.id is not None, "single runs have an id"
    call = call_of(last)
    args, kwargs = call or ((), None)
    return Job(
        id=last.id,
        schedule=schedule,
        fn=last.fn or "?",
        args=args,
        kwargs=kwargs,
        name=last.name,
        due=last.due,
        state="done",
        attempt=last.attempt,
        error=last.error,
        ending=last.ending,
        args_kept=call is not None,
    )


def attempts_of_job(inspector: Inspector, job: Job, *, most: int) -> list[PastRun]:
    """Read the attempts of the latest occurrence of a job, the first one first, among the last `most` runs. For a dead
    job: the attempts before it died. Raises Unsupported.
    """
    died_ms = epoch_ms(job.due) + 60_000 if job.state == "dead" and job.due is not None else None
    found: list[PastRun] = []
    for run in islice(inspector.history.runs(until_ms=died_ms), most):
        if run.id == job.id and run.ending not in NO_RUN:
            found.append(run)
            if run.attempt == 0:
                break
    return found[::-1]


MOST_LOOKED: Final = 300  # changes, the last ones


def owning_sync(inspector: Inspector, name: str | None) -> Change | None:
    """Find the sync that set a job last; None if somebody has edited the job since, or no change names a sync."""
    if not name:
        return None
    try:
        for change in islice(inspector.history.changes(), MOST_LOOKED):
            said = change.after
            if change.verb == "sync" and any(name in (said.get(word) or ()) for word in ("added", "changed")):
                return change
            if change.verb in ("add", "edit") and said.get("name") == name:
                return None
    except Unsupported:
        pass
    return None
