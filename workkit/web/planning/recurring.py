"""The jobs that recur, with their last runs: as rows, the ones in trouble first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from statistics import median
from typing import Final

from workkit.contract.history import NO_RUN, PastRun
from workkit.contract.recurring import Recurs
from workkit.contract.where import troubles
from workkit.errors import Unsupported
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.brief import brief_repr
from workkit.triggers import Trigger
from workkit.web.ahead.foresight import Foreseen, foreseen
from workkit.web.ahead.remarks import Planned
from workkit.web.recurring import rows
from workkit.web.served import Served
from workkit.web.words import pause_end, paused_by

LONGEST: Final = timedelta(days=3660)  # the period of what does not come again


@dataclass(frozen=True, kw_only=True)
class Row(rows.Row):
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
            paused_until=pause_end(self.pause),
        )


def read_rows(served: Served, control: Control, unknown: dict[str, str], *, now: datetime) -> Sequence[Row]:
    """Give the recurring jobs with their last runs, in order, kept as `Served.fresh` keeps; why there are none, or no
    runs, goes into `unknown`.
    """
    try:
        found = served.fresh("rows", lambda: _read(served, control, now), given=control)
    except Unsupported as error:
        unknown["recurring"] = str(error)
        return []
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
    inspector, no_history = served.inspector(), ""  # not what `served` keeps: the ages would add up
    jobs = inspector.recurring()
    rings: Mapping[str, Sequence[PastRun]] = {}
    try:
        rings = inspector.lately([one.key for one in jobs])
    except Unsupported as error:
        no_history = str(error)
    kept = served.before("rows", _Rows)
    before = {} if kept is None else {row.key: row for row in kept.rows}
    found = (_row(one, rings.get(one.key, ()), control) for one in jobs)
    read = [old if (old := before.get(row.key)) is not None and old == row else row for row in found]
    return _Rows(rows=in_order(read, now), no_history=no_history)


def _row(recurs: Recurs, runs: Sequence[PastRun], control: Control) -> Row:
    by = paused_by(recurs.job, control)
    pause = None if by is None else control.paused[by]
    return Row(recurs=recurs, runs=runs, trouble=troubles(runs), pause=pause, paused_by=by)


def in_order(found: Iterable[Row], now: datetime) -> list[Row]:
    """Sort rows: trouble first, then what runs often, then by name."""
    day = now.date()
    return sorted(found, key=lambda row: (row.rank, period(row.trigger, day), row.name))


@lru_cache(20_000)
def period(trigger: Trigger, day: date) -> timedelta:
    """Find the time between the next two runs, as of a day."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first = trigger.next_after(start)
    second = None if first is None else trigger.next_after(first)
    return LONGEST if first is None or second is None else second - first
