"""Recurring jobs for pages about time: with their last runs and pauses, jobs in trouble first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache, partial
from statistics import median
from typing import Final

from workkit.contract.history import LATE_MS, NO_RUN, Day, PastRun
from workkit.errors import Unsupported
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.triggers import Trigger
from workkit.web import recurring_jobs
from workkit.web.cache import Served
from workkit.web.forecast import Planned
from workkit.web.predictions import Prediction, predicted
from workkit.web.words import pause_end, paused_by

LONGEST: Final = timedelta(days=3660)  # the period of a job without a second run


@dataclass(frozen=True, kw_only=True)
class PlannedJob(recurring_jobs.RecurringRow):
    """A recurring job, with the facts that its future depends on. `pause`: the pause in force, and `paused_by` its
    target.

    Computed values are cached in the object.
    """

    pause: Pause | None = None
    paused_by: str | None = None

    __repr__ = brief_repr

    @property
    def name(self) -> str:
        """The job's name, or else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def job(self) -> Job:
        """The job as it was added."""
        return self.recurs.job

    @property
    def trigger(self) -> Trigger:
        """The trigger of the job."""
        assert self.job.trigger is not None, "it recurs"
        return self.job.trigger

    @cached_property
    def usual_ms(self) -> float:
        """The usual duration in ms: the median of the last runs."""
        took = [run.took_ms for run in self.runs if run.ending not in NO_RUN]
        return float(median(took)) if took else 0.0

    @cached_property
    def last(self) -> PastRun | None:
        """The last run."""
        return next(iter(self.runs), None)

    @cached_property
    def _next(self) -> list[datetime | None]:
        return []  # an instant, and the first run after it

    def next(self, now: datetime) -> datetime | None:
        """Return when the job runs next."""
        known = [*self._next]
        if not known or known[0] is None or now < known[0] or (known[1] is not None and known[1] <= now):
            known = self._next[:] = [now, self.trigger.next_after(now)]
        return known[1]

    @cached_property
    def _order(self) -> dict[date, tuple[int, timedelta, str]]:
        return {}

    def order(self, day: date) -> tuple[int, timedelta, str]:
        """Return the sort key as of a day: trouble first, then short periods, then the name."""
        if day not in self._order:
            self._order.clear()
            self._order[day] = (self.rank, period(self.trigger, day), self.name)
        return self._order[day]

    @cached_property
    def _days(self) -> list[Sequence[Day]]:
        return []

    def days(self, read: Callable[[], Sequence[Day]]) -> Sequence[Day]:
        """Return the days of the job's runs. They are read once, because they change only with the last runs."""
        if not self._days:
            self._days.append(read())
        return self._days[0]

    def predicted(self, since: datetime, until: datetime) -> Prediction:
        """Predict the job's runs."""
        return predicted(self.trigger, since=since, until=until)

    def planned(self, now: datetime, until: datetime) -> Planned:
        """Return the facts that the forecast needs."""
        return Planned(
            name=self.name,
            trigger=self.trigger,
            instants=self.predicted(now, until).instants,
            usual_ms=self.usual_ms,
            lately=self.runs,
            catch_up=self.job.terms.catch_up,
            is_paused=self.pause is not None,
            paused_until=pause_end(self.pause),
        )


class PlannedJobs(list[PlannedJob]):
    """Recurring jobs in order, with facts about all of them. Each fact is computed once for all pages."""

    @cached_property
    def named(self) -> Mapping[str, PlannedJob]:
        """The jobs with a name, by name."""
        return {row.key: row for row in self if row.job.name is not None}

    @cached_property
    def runs(self) -> Mapping[str, Sequence[PastRun]]:
        """The last runs of each, by name or else id."""
        return {row.key: row.runs for row in self}

    @cached_property
    def failed(self) -> Sequence[PlannedJob]:
        """The named jobs that failed in their last run."""
        return [row for row in self.named.values() if row.last is not None and row.last.ending in recurring_jobs.FAILED]

    @cached_property
    def on_time(self) -> int:
        """How many jobs began their last run on time and ended it well, or have not run."""
        return sum(_is_on_time(row.last) for row in self)

    @cached_property
    def paused(self) -> frozenset[str]:
        """The names of the jobs with a pause of their own."""
        return frozenset(row.name for row in self if row.paused_by == f"job:{row.job.name}")


def _is_on_time(last: PastRun | None) -> bool:
    return last is None or (last.ending not in recurring_jobs.FAILED and last.late_ms < LATE_MS)


def read_planned_jobs(served: Served, control: Control, unknown: dict[str, str], *, now: datetime) -> PlannedJobs:
    """Return the recurring jobs with their last runs, in order, cached by `Served.recurring`. Where jobs or runs are
    missing, `unknown` gets the reason.
    """
    try:
        found = served.recurring(now, control)
    except Unsupported as error:
        unknown["recurring"] = str(error)
        return PlannedJobs()
    if found.no_history:
        unknown["history"] = found.no_history
    day = now.date()
    made: PlannedJobs = found.derived("planned", partial(_made, control, day), given=(control, day))
    return made


def _made(
    control: Control, day: date, standing: recurring_jobs.RecurringJobs, before: PlannedJobs | None
) -> PlannedJobs:
    """Make the rows. An unchanged row is reused from `before`, with its cached values."""
    known = {} if before is None else {row.key: row for row in before}
    found = (_row(one, known.get(one.key), control) for one in standing.all())
    return PlannedJobs(sorted(found, key=lambda row: row.order(day)))


def _row(one: recurring_jobs.RecurringRow, before: PlannedJob | None, control: Control) -> PlannedJob:
    by = paused_by(one.recurs.job, control) if control.paused else None
    pause = None if by is None else control.paused[by]
    is_same = before is not None and before.recurs is one.recurs and before.runs is one.runs
    if before is not None and is_same and (before.paused_by, before.pause) == (by, pause):
        return before
    return PlannedJob(recurs=one.recurs, runs=one.runs, trouble=one.trouble, pause=pause, paused_by=by)


@lru_cache(20_000)
def period(trigger: Trigger, day: date) -> timedelta:
    """Return the time between the next two runs, as of a day."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first = trigger.next_after(start)
    second = None if first is None else trigger.next_after(first)
    return LONGEST if first is None or second is None else second - first
