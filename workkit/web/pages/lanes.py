"""The lanes of the Timeline: their jobs, functions or listeners, their drawings, and the links to their runs."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import urlencode

from workkit.contract.filters import read_filter
from workkit.contract.history import FN, JOB, Day, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.text.glance import moment
from workkit.text.wording import epoch_ms, plural
from workkit.triggers.zone import ClockChange, clock_changes
from workkit.web.charts.axis import Axis
from workkit.web.charts.bars import kind_of
from workkit.web.charts.lanes import Lane, day_lane, days_of, lane, run_text
from workkit.web.page import Asked
from workkit.web.pages.planned_jobs import PlannedJob
from workkit.web.pages.window import Seen, by_job, counted, joined, known_since, runs_of_cells, tier_of
from workkit.web.predictions import THIN, between, sparse
from workkit.web.recurring_jobs import asked_for, words_in
from workkit.web.words import job_path, pause_end

GroupBy = Literal["job", "fn", "listener"]
GROUPS: Final[tuple[GroupBy, ...]] = ("job", "fn", "listener")
LANES_OF_A_PAGE: Final = 40


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


N = TypeVar("N", bound=_Keyed)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSource:
    """The data of one lane, before it is drawn. `key`: its name, or the id of a job without one; `subject`: of its
    counts, "" where no counts are kept; `rows`: the recurring jobs in it; `running`: when its runs in progress began;
    `known_since`: `runs` is complete from this instant on.
    """

    name: str
    key: str
    words: str
    path: str
    subject: str = ""
    rows: tuple[PlannedJob, ...] = ()
    runs: Sequence[PastRun] = field(default=(), repr=False)
    running: tuple[datetime, ...] = ()
    known_since: datetime | None = None

    __repr__ = brief_repr


def rows_chosen(rows: Sequence[PlannedJob], q: str, now: datetime) -> list[PlannedJob]:
    """Return the recurring jobs that match a filter, in order. Raises InvalidOptions for an invalid filter."""
    where = read_filter(q, "recurring")
    if where.is_everything:
        return [*rows]
    return asked_for(rows, where, now=now)


def of_jobs(
    rows: Iterable[PlannedJob], seen: Seen, axis: Axis, listeners: Iterable[ListenerInfo]
) -> Iterator[LaneSource]:
    """Make a lane for each recurring job."""
    single, running = by_job(seen), _began(listeners, lambda job: job.name or job.id)
    for row in rows:
        yield LaneSource(
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


def of_functions(rows: Iterable[PlannedJob], seen: Seen, listeners: Iterable[ListenerInfo]) -> list[LaneSource]:
    """Make a lane for each function that has recurring jobs or past runs: those in trouble first, then by name."""
    jobs: dict[str, list[PlannedJob]] = {}
    runs: dict[str, list[PastRun]] = {}
    for row in rows:
        jobs.setdefault(row.job.fn, []).append(row)
    for run in seen.runs:
        if run.fn is not None:
            runs.setdefault(run.fn, []).append(run)
    began = _began(listeners, lambda job: job.fn)
    found = [
        LaneSource(
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


def of_listeners(seen: Seen, listeners: Sequence[ListenerInfo]) -> list[LaneSource]:
    """Make a lane for each listener that is alive or has past runs: those alive first, then by name."""
    runs: dict[str, list[PastRun]] = {info.listener: [] for info in listeners}
    for run in seen.runs:
        if run.listener is not None:
            runs.setdefault(run.listener, []).append(run)
    here = {info.listener: info for info in listeners}
    found = [
        LaneSource(
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


def _began(listeners: Iterable[ListenerInfo], key: Callable[[Job], str | None]) -> dict[str, list[datetime]]:
    """Return when runs in progress were due. No source tells when they began."""
    found: dict[str, list[datetime]] = {}
    for info in listeners:
        for job in info.running:
            name = key(job)
            if name is not None and job.due is not None:
                found.setdefault(name, []).append(job.due)
    return found


def lanes_of_page(sources: Sequence[N], after: str) -> tuple[list[N], str]:
    """Return a page of lanes after the one with this key, and the key of the next page, "" for none."""
    start = next((k + 1 for k, one in enumerate(sources) if one.key == after), 0) if after else 0
    found = list(sources[start : start + LANES_OF_A_PAGE])
    return found, found[-1].key if start + LANES_OF_A_PAGE < len(sources) else ""


SECOND: Final = timedelta(seconds=1)
MOST_PLANNED: Final = 2_000  # most planned runs of a lane; more would form a band anyway
MOST_SHOWN: Final = 200  # most runs of a lane in JSON
MOST_NOTABLE: Final = 8  # most runs of a lane in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLane:
    """A lane with its drawing. `runs`: single runs, the last one first, masked; `planned`: when it runs next; `notes`:
    texts about the last runs that were late, failed, missed or left out; `parts`: the links to its runs.
    """

    name: str
    words: str
    path: str
    drawing: Lane
    runs: tuple[PastRun, ...] = field(default=(), repr=False)
    planned: tuple[datetime, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    __repr__ = brief_repr

    @property
    def summary(self) -> str:
        """The sentence about the drawing, without the name."""
        return self.drawing.label.removeprefix(f"{self.name}: ").removeprefix(f"{self.words}. ")


def draw(
    asked: Asked, axis: Axis, source: LaneSource, paused_since: Mapping[str, datetime], *, by: GroupBy
) -> DrawnLane:
    """Draw one lane."""
    planned = _planned(axis, source)
    runs = [asked.veil.run(run) for run in source.runs if axis.start <= run.ended and run.due <= axis.end]
    drawing: Lane
    if axis.span == "90d":
        drawing = day_lane(
            axis, source.name, source.words, days=_days(asked, axis, source),
            planned=Counter(at.astimezone(UTC).date() for at in planned.drawn), clocks=_clocks(axis, source),
        )  # fmt: skip
    else:
        drawing = lane(
            axis,
            source.name,
            source.words,
            past=[*runs, *_counts(asked, axis, source)],
            planned=planned.drawn,
            planned_runs=planned.count,
            usual_ms=max((row.usual_ms for row in source.rows), default=0.0),
            running=source.running,
            pauses=_pauses(asked, axis, source, paused_since),
            clocks=_clocks(axis, source),
        )
    return DrawnLane(
        name=source.name,
        words=source.words,
        path=source.path,
        drawing=drawing,
        runs=tuple(runs[:MOST_SHOWN]),
        planned=planned.first,
        notes=tuple(run_text(run, axis) for run in islice(filter(_is_notable, runs), MOST_NOTABLE)),
        parts=parts(axis, runs, by=by, key=source.key),
    )


def _is_notable(run: PastRun) -> bool:
    return kind_of(run) not in ("done", "over")


@dataclass(frozen=True, slots=True)
class _Planned:
    """The planned runs of a lane: those to draw, their number, and the first ones."""

    drawn: list[datetime]
    count: int
    first: tuple[datetime, ...]


def _planned(axis: Axis, source: LaneSource) -> _Planned:
    """Predict the runs of a lane, count them, and thin out dense ones. A pause has no runs."""
    since, step = max(axis.now, axis.start), (axis.end - axis.start) / THIN
    drawn: list[Sequence[datetime]] = []
    firsts: list[Sequence[datetime]] = []
    count, room = 0.0, MOST_PLANNED
    for row in source.rows if since < axis.end else ():
        if room <= 0:
            break
        begin = since if row.pause is None else max(since, pause_end(row.pause) or axis.end)
        foreseen = row.predicted(since, axis.end)
        firsts.append(_since(foreseen.instants, begin)[:MOST_SHOWN])
        for instants, stands_for in sparse(foreseen, axis.end, step=step):
            kept = _since(instants, begin)
            drawn.append(kept)
            room -= len(kept)
            count += 0 if foreseen.is_whole else len(kept) * stands_for
        if foreseen.is_whole:
            count += between(foreseen, begin, axis.end + SECOND)
    return _Planned(_in_order(drawn), round(count), tuple(_in_order(firsts)[:MOST_SHOWN]))


def _in_order(found: Sequence[Sequence[datetime]]) -> list[datetime]:
    return sorted(chain.from_iterable(found))


def _since(instants: Sequence[datetime], begin: datetime) -> Sequence[datetime]:
    return instants[bisect_left(instants, begin) :]


def _counts(asked: Asked, axis: Axis, source: LaneSource) -> list[PastRun]:
    """Read counts for the part of a window that has no single runs any more."""
    if not source.subject or source.known_since is None:
        return []
    return counted(asked, axis, source.subject, source.known_since)


def _days(asked: Asked, axis: Axis, source: LaneSource) -> Sequence[Day]:
    """Return the days of a lane: from history for a job, from counts by day for a function, from single runs for a
    listener.
    """
    inspector = asked.served.inspector()
    try:
        if source.subject.startswith(FN):
            cells = inspector.history.past(
                source.subject,
                since_ms=epoch_ms(axis.start),
                until_ms=epoch_ms(min(axis.now, axis.end)) + 1,
                tier=tier_of(axis),
            )
            return days_of(runs_of_cells(cells))
        if source.rows:
            return source.rows[0].days(lambda: inspector.history.days(source.key))
    except Unsupported:
        return []
    return days_of(source.runs)


def _clocks(axis: Axis, source: LaneSource) -> list[ClockChange]:
    zones = {row.trigger.tz for row in source.rows} - {"UTC"}
    return [change for tz in sorted(zones) for change in clock_changes(tz, axis.start, axis.end)]


def _pauses(
    asked: Asked, axis: Axis, source: LaneSource, paused_since: Mapping[str, datetime]
) -> list[tuple[datetime, datetime | None, str | None]]:
    """Return the pause that all jobs of a lane share, from its beginning if known, else from now on."""
    found = {row.paused_by: row.pause for row in source.rows}
    if len(found) != 1:
        return []
    ((target, pause),) = found.items()
    if target is None or pause is None:
        return []
    reason = None if pause.reason is None else asked.veil.text(pause.reason)
    return [(paused_since.get(target, axis.now), pause_end(pause), reason)]


ASKED: Final[dict[GroupBy, str]] = {"job": "job", "fn": "fn", "listener": "q"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a lane between two ticks: its place, the address of its runs, and its text."""

    x: float
    width: float
    path: str
    says: str


def parts(axis: Axis, runs: Iterable[PastRun], *, by: GroupBy, key: str) -> tuple[Part, ...]:
    """Make a part for each time between two ticks in which a run ended. `key`: the job, function or listener."""
    ended = sorted(run.ended for run in runs)
    edges = [axis.start, *axis.edges, axis.end]
    found = []
    for since, until in pairwise(edges):
        if bisect_left(ended, since) < bisect_left(ended, until):
            x = axis.clipped(since)
            found.append(
                Part(
                    round(x, 1),
                    round(axis.clipped(until) - x, 1),
                    _path(by, key, since, until),
                    _says(axis, key, since, until),
                )
            )
    return tuple(found)


def _path(by: GroupBy, key: str, since: datetime, until: datetime) -> str:
    value = f'on:"{key}"' if by == "listener" else key
    bounds = {"from": _iso(since), "to": _iso(until)}
    return f"runs?{urlencode({ASKED[by]: value} | bounds, errors='replace')}"


def _says(axis: Axis, key: str, since: datetime, until: datetime) -> str:
    first, last = (moment(at.replace(second=0, microsecond=0), axis.now, axis.zone) for at in (since, until))
    return f"Runs of {key}, {first} to {last}"


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
