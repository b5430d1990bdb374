"""Which lanes the Timeline has: one for each recurring job, function or listener."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import urlencode

from workkit.contract.filters import read_filter
from workkit.contract.history import FN, JOB, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.brief import brief_repr
from workkit.text.listing import plural
from workkit.web.address import job_path
from workkit.web.charts.axis import Axis
from workkit.web.planning.past_runs import Seen, by_job, joined, known_since
from workkit.web.planning.recurring import Row
from workkit.web.recurring_jobs import asked_for, words_in

Group = Literal["job", "fn", "listener"]
GROUPS: Final[tuple[Group, ...]] = ("job", "fn", "listener")
PAGE: Final = 40


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


N = TypeVar("N", bound=_Keyed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """What one lane is about, before it is drawn. `key`: its name, or the id of a job without one; `subject`: of its
    counts, "" where none are kept; `rows`: the recurring jobs in it; `running`: when its runs in progress began;
    `known_since`: from when on `runs` are all.
    """

    name: str
    key: str
    words: str
    path: str
    subject: str = ""
    rows: tuple[Row, ...] = ()
    runs: Sequence[PastRun] = field(default=(), repr=False)
    running: tuple[datetime, ...] = ()
    known_since: datetime | None = None

    __repr__ = brief_repr


def chosen(rows: Sequence[Row], q: str, now: datetime) -> list[Row]:
    """Choose the recurring jobs that a filter means, in their order. Raises InvalidOptions for what is no filter."""
    where = read_filter(q, "recurring")
    if where.is_everything:
        return [*rows]
    return asked_for(rows, where, now=now)


def of_jobs(rows: Iterable[Row], seen: Seen, axis: Axis, listeners: Iterable[ListenerInfo]) -> Iterator[Strand]:
    """Make a strand for each recurring job."""
    single, running = by_job(seen), _running(listeners, lambda job: job.name or job.id)
    for row in rows:
        yield Strand(
            name=row.name,
            key=row.key,
            words=words_in(row.job, axis.zone),
            path=job_path(row.key),
            subject=JOB + row.key,
            rows=(row,),
            runs=joined(single.get(row.key, ()), row.runs),
            running=tuple(running.get(row.key, ())),
            known_since=known_since(seen, row.runs, axis),
        )


def of_functions(rows: Iterable[Row], seen: Seen, listeners: Iterable[ListenerInfo]) -> list[Strand]:
    """Make a strand for each function that has recurring jobs, or ran: those in trouble first, then by name."""
    jobs: dict[str, list[Row]] = {}
    runs: dict[str, list[PastRun]] = {}
    for row in rows:
        jobs.setdefault(row.job.fn, []).append(row)
    for run in seen.runs:
        if run.fn is not None:
            runs.setdefault(run.fn, []).append(run)
    began = _running(listeners, lambda job: job.fn)
    found = [
        Strand(
            name=shown(fn),
            key=shown(fn),
            words=plural(len(jobs[fn]), "recurring job") if fn in jobs else "jobs that run once",
            path=f"jobs?{urlencode({'q': f'fn:{shown(fn)}'})}",
            subject=FN + fn,
            rows=tuple(jobs.get(fn, ())),
            runs=runs.get(fn, ()),
            running=tuple(began.get(fn, ())),
            known_since=seen.since,
        )
        for fn in jobs.keys() | runs.keys() | began.keys()
    ]
    return sorted(found, key=lambda one: (min((row.rank for row in one.rows), default=3), one.name))


def of_listeners(seen: Seen, listeners: Sequence[ListenerInfo]) -> list[Strand]:
    """Make a strand for each listener that is there, or ran something: those that are there first, then by name."""
    runs: dict[str, list[PastRun]] = {info.listener: [] for info in listeners}
    for run in seen.runs:
        if run.listener is not None:
            runs.setdefault(run.listener, []).append(run)
    here = {info.listener: info for info in listeners}
    found = [
        Strand(
            name=name,
            key=name,
            words=plural(here[name].threads, "thread") if name in here else "is not there now",
            path="listeners",
            runs=ran,
            running=tuple(job.due for job in here[name].running if job.due) if name in here else (),
        )
        for name, ran in runs.items()
    ]
    return sorted(found, key=lambda one: (one.name not in here, one.name))


def _running(listeners: Iterable[ListenerInfo], key: Callable[[Job], str | None]) -> dict[str, list[datetime]]:
    """Say when runs in progress were due: when they began, nobody tells."""
    found: dict[str, list[datetime]] = {}
    for info in listeners:
        for job in info.running:
            name = key(job)
            if name is not None and job.due is not None:
                found.setdefault(name, []).append(job.due)
    return found


def page(strands: Sequence[N], after: str) -> tuple[list[N], str]:
    """Cut a page out of all lanes, behind the one of this key; and say what follows it, "" for nothing."""
    start = next((k + 1 for k, one in enumerate(strands) if one.key == after), 0) if after else 0
    found = list(strands[start : start + PAGE])
    return found, found[-1].key if start + PAGE < len(strands) else ""
