"""The jobs that recur, with their last runs: as rows, the ones in trouble first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
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
from workkit.web.ahead import Planned
from workkit.web.planning.foresight import Foreseen, foreseen
from workkit.web.recurring import rows
from workkit.web.served import Served
from workkit.web.words import pause_end, paused_by

LONGEST: Final = timedelta(days=3660)  # the period of what does not come again


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(rows.Row):
    """A recurring job, with what the time ahead depends on. `pause`: what holds it, and `paused_by` its target."""

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

    @property
    def usual_ms(self) -> float:
        """How long it usually takes: the median of its last runs."""
        took = [run.took_ms for run in self.runs if run.ending not in NO_RUN]
        return float(median(took)) if took else 0.0

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


def read_rows(served: Served, control: Control, unknown: dict[str, str]) -> list[Row]:
    """Read the recurring jobs with their last runs; why there are none goes into `unknown`."""
    try:
        standing = served.recurring()
    except Unsupported as error:
        unknown["recurring"] = str(error)
        return []
    if standing.no_history:
        unknown["history"] = standing.no_history
    return [_row(one, standing.runs.get(one.key, ()), control) for one in standing.jobs]


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
