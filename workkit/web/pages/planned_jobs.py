"""The jobs that recur as pages about time read them: with their last runs and pauses, the ones in trouble first."""

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

LONGEST: Final = timedelta(days=3660)  # the period of what does not come again


@dataclass(frozen=True, kw_only=True)
class PlannedJob(recurring_jobs.RecurringRow):
    """A recurring job, with what the time ahead depends on. `pause`: what holds it, and `paused_by` its target.

    What is found out about it is kept with it.
    """

    pause: Pause | None = None
    paused_by: str | None = None

    __repr__ = brief_repr

    @property
    def name(self) -> str:
        """Its name, or else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def job(self) -> Job:
        """It as it was added."""
        return self.recurs.job

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
    def _next(self) -> list[datetime | None]:
        return []  # an instant, and the one that follows it

    def next(self, now: datetime) -> datetime | None:
        """Say when it runs next."""
        known = [*self._next]
        if not known or known[0] is None or now < known[0] or (known[1] is not None and known[1] <= now):
            known = self._next[:] = [now, self.trigger.next_after(now)]
        return known[1]

    @cached_property
    def _order(self) -> dict[date, tuple[int, timedelta, str]]:
        return {}

    def order(self, day: date) -> tuple[int, timedelta, str]:
        """Say where it stands as of a day: trouble first, then what runs often, then by name."""
        if day not in self._order:
            self._order.clear()
            self._order[day] = (self.rank, period(self.trigger, day), self.name)
        return self._order[day]

    @cached_property
    def _days(self) -> list[Sequence[Day]]:
        return []

    def days(self, read: Callable[[], Sequence[Day]]) -> Sequence[Day]:
        """Give the days of its runs, which change only as its last runs do: read once."""
        if not self._days:
            self._days.append(read())
        return self._days[0]

    def predicted(self, since: datetime, until: datetime) -> Prediction:
        """Predict its runs."""
        return predicted(self.trigger, since=since, until=until)

    def planned(self, now: datetime, until: datetime) -> Planned:
        """Say of it what the sentences about the time ahead need."""
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
    """Recurring jobs in order, and what is found out about all of them: once, however many pages ask."""

    @cached_property
    def named(self) -> Mapping[str, PlannedJob]:
        """Those with a name, by name."""
        return {row.key: row for row in self if row.job.name is not None}

    @cached_property
    def runs(self) -> Mapping[str, Sequence[PastRun]]:
        """The last runs of each, by name or else id."""
        return {row.key: row.runs for row in self}

    @cached_property
    def failed(self) -> Sequence[PlannedJob]:
        """Those with a name whose last run failed."""
        return [row for row in self.named.values() if row.last is not None and row.last.ending in recurring_jobs.FAILED]

    @cached_property
    def on_time(self) -> int:
        """How many began their last run in time, and ended it well, or have not run."""
        return sum(_is_on_time(row.last) for row in self)

    @cached_property
    def paused(self) -> frozenset[str]:
        """The names of those with a pause of their own."""
        return frozenset(row.name for row in self if row.paused_by == f"job:{row.job.name}")


def _is_on_time(last: PastRun | None) -> bool:
    return last is None or (last.ending not in recurring_jobs.FAILED and last.late_ms < LATE_MS)


def read_planned_jobs(served: Served, control: Control, unknown: dict[str, str], *, now: datetime) -> PlannedJobs:
    """Give the recurring jobs with their last runs, in order, kept as `Served.recurring` keeps; why there are none, or
    no runs, goes into `unknown`.
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
    """Make the rows. One of which nothing has changed is the one of before, with what was found out about it."""
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
    """Find the time between the next two runs, as of a day."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first = trigger.next_after(start)
    second = None if first is None else trigger.next_after(first)
    return LONGEST if first is None or second is None else second - first
