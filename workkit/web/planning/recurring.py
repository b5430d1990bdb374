"""The jobs that recur, with their last runs: as rows, the ones in trouble first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from statistics import median
from typing import Final

from workkit.contract.history import NO_RUN, PastRun
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.text.brief import brief_repr
from workkit.triggers import Trigger
from workkit.web.ahead import Planned
from workkit.web.drawing.endings import kind_of
from workkit.web.planning.foresight import Foreseen, foreseen
from workkit.web.served import Served

RANKS: Final = {"fail": 0, "miss": 1, "late": 2}
LONGEST: Final = timedelta(days=3660)  # the period of what does not come again


@dataclass(frozen=True, kw_only=True)
class Row:
    """A recurring job. `runs`: its last 60, the last one first; `pause`: what holds it, and `paused_by` its target.

    What is found out about it is kept with it.
    """

    name: str
    job: Job
    runs: Sequence[PastRun] = field(default=(), repr=False)
    pause: Pause | None = None
    paused_by: str | None = None

    __repr__ = brief_repr

    @property
    def trigger(self) -> Trigger:
        """When it runs."""
        assert self.job.trigger is not None, "it recurs"
        return self.job.trigger

    @cached_property
    def usual_ms(self) -> float:
        """How long it usually takes: the median of its last runs."""
        took = [run.took_ms for run in self.runs if run.ending not in NO_RUN]
        return float(median(took)) if took else 0.0

    @cached_property
    def last(self) -> PastRun | None:
        """Its last run."""
        return next(iter(self.runs), None)

    @cached_property
    def trouble(self) -> int:
        """How bad its last run was: 0 failed, 1 missed, 2 late, 3 nothing of it."""
        return 3 if self.last is None else RANKS.get(kind_of(self.last), 3)

    @cached_property
    def _next(self) -> list[datetime | None]:
        return []  # an instant, and the one that follows it

    def next(self, now: datetime) -> datetime | None:
        """Say when it runs next."""
        known = [*self._next]
        if not known or known[0] is None or now < known[0] or (known[1] is not None and known[1] <= now):
            known = self._next[:] = [now, self.trigger.next_after(now)]
        return known[1]

    def foreseen(self, since: datetime, until: datetime) -> Foreseen:
        """Predict its runs."""
        return foreseen(self.trigger, since=since, until=until)

    def planned(self, now: datetime, until: datetime) -> Planned:
        """Say of it what the sentences about the time ahead need."""
        return Planned(
            name=self.name,
            trigger=self.trigger,
            instants=self.foreseen(now, until).instants,
            usual_ms=self.usual_ms,
            lately=self.runs,
            catch_up=self.job.terms.catch_up,
            is_paused=self.pause is not None,
            paused_until=None if self.pause is None else pause_end(self.pause),
        )


def recurring(served: Served) -> Mapping[str, Job]:
    """Read the jobs that have a name and recur. Raises ServerUnreachable, ServerRefused."""
    try:
        named = served.inspector().named()
    except Unsupported:
        return {}
    return {name: one.job for name, one in named.items() if one.job.trigger is not None and one.job.trigger.recurs}


def rows(served: Served, control: Control, unknown: dict[str, str], *, now: datetime) -> Sequence[Row]:
    """Give the recurring jobs with their last runs, in order, kept as `Served.fresh` keeps; why there are no runs goes
    into `unknown`.
    """
    found = served.fresh("rows", lambda: _read(served, control, now), given=control)
    if found.no_history:
        unknown["history"] = found.no_history
    return found.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    rows: Sequence[Row]
    no_history: str = ""

    __repr__ = brief_repr


def _read(served: Served, control: Control, now: datetime) -> _Rows:
    """Read them. A row of which nothing has changed is the one of before, with what was found out about it."""
    jobs, no_history = recurring(served), ""
    rings: Mapping[str, Sequence[PastRun]] = {}
    try:
        rings = served.inspector().lately([*jobs])
    except Unsupported as error:
        no_history = str(error)
    kept = served.before("rows", _Rows)
    before = {} if kept is None else {row.name: row for row in kept.rows}
    found = (_row(name, job, rings.get(name, ()), control) for name, job in jobs.items())
    rows = [old if (old := before.get(row.name)) is not None and old == row else row for row in found]
    return _Rows(rows=in_order(rows, now), no_history=no_history)


def _row(name: str, job: Job, runs: Sequence[PastRun], control: Control) -> Row:
    targets = (f"job:{job.name or job.id}", f"fn:{job.fn}", SCHEDULE)
    by = next((target for target in targets if target in control.paused), None)
    return Row(name=name, job=job, runs=runs, pause=None if by is None else control.paused[by], paused_by=by)


def pause_end(pause: Pause) -> datetime | None:
    """Say when a pause ends; None for one without an end that a calendar has."""
    try:
        return None if pause.until_ms is None else datetime.fromtimestamp(pause.until_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def in_order(found: Iterable[Row], now: datetime) -> list[Row]:
    """Sort rows: trouble first, then what runs often, then by name."""
    day = now.date()
    return sorted(found, key=lambda row: (row.trouble, period(row.trigger, day), row.name))


@lru_cache(20_000)
def period(trigger: Trigger, day: date) -> timedelta:
    """Find the time between the next two runs, as of a day."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first = trigger.next_after(start)
    second = None if first is None else trigger.next_after(first)
    return LONGEST if first is None or second is None else second - first
