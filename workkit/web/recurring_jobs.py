"""Recurring jobs as rows, with their trouble, filters, orders and pages; and a cache of the last single runs of a
schedule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any, Final, TypeVar

from workkit.contract.history import PastRun
from workkit.contract.inspector import Recurs
from workkit.contract.where import Where, ran_last, troubles
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.text.glance import OtherZone
from workkit.text.wording import zone_name
from workkit.triggers import Trigger, explain
from workkit.web.words import LATE_MS

SHOWS: Final = ("all", "failing", "late", "missed", "paused")
SORTS: Final = ("trouble", "next", "name", "took")
FAILED: Final = ("retried", "dead")
_RANKS: Final = ("failing", "missed", "late")
_CURSOR: Final = re.compile(r"(\d{1,7}):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringRow:
    """A recurring job with its last runs, the last one first. `trouble`: "failing", "late", "missed", or ""."""

    recurs: Recurs
    runs: Sequence[PastRun]
    trouble: tuple[str, ...]

    __repr__ = brief_repr

    @property
    def key(self) -> str:
        """The job's name, or else its id."""
        return self.recurs.key

    @property
    def rank(self) -> int:
        """The trouble of the last run as a number: 0 failed, 1 missed, 2 late, 3 none."""
        return next((rank for rank, kind in enumerate(_RANKS) if kind in self.trouble), len(_RANKS))

    @property
    def is_paused(self) -> bool:
        """Whether a pause stops the job."""
        return self.recurs.state == "paused"

    def is_overdue(self, read: datetime) -> bool:
        """Whether its next run should have begun by `read`."""
        due = self.recurs.due
        return due is not None and due < read - _LATE and not self.is_paused

    def due(self, read: datetime, now: datetime) -> datetime | None:
        """Return when it runs next. A run that became due since `read` counts as begun; then the time after it is
        returned.
        """
        due, trigger = self.recurs.due, self.recurs.job.trigger
        if due is None or trigger is None or due >= now or self.is_overdue(read) or self.recurs.state != "waiting":
            return due
        return trigger.next_after(now) or due

    def belongs(self, show: str) -> bool:
        """Return whether it is in a list of `SHOWS`."""
        return show == "all" or (self.is_paused if show == "paused" else show in self.trouble)


R = TypeVar("R", bound=RecurringRow)
D = TypeVar("D")
_LATE: Final = timedelta(milliseconds=LATE_MS)


@dataclass(slots=True, eq=False, kw_only=True)
class RecurringJobs:
    """All recurring jobs of a schedule with their last runs, as of `read`; `no_history`: why there are no runs. It
    caches sorted orders, because sorting thousands of jobs takes as long as reading them.
    """

    read: datetime
    jobs: tuple[Recurs, ...] = ()
    runs: Mapping[str, Sequence[PastRun]] = field(default_factory=dict)
    no_history: str = ""
    _all: Sequence[RecurringRow] = ()
    _orders: dict[str, Sequence[RecurringRow]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _derived: dict[str, _Derived] = field(default_factory=dict)

    __repr__ = brief_repr

    def rows(self, sort: str, *, now: datetime) -> Sequence[RecurringRow]:
        """Return all rows in one of `SORTS`."""
        found = self._orders.get(sort)
        if found is None:
            found = self._orders[sort] = in_order(next(iter(self._orders.values()), self.all()), sort, now=now)
        return found

    def all(self) -> Sequence[RecurringRow]:
        """Return all rows in any order."""
        self._all = self._all or self._made({})
        return self._all

    def counts(self) -> Mapping[str, int]:
        """Count the rows of each list of `SHOWS`."""
        if not self._counts:
            self._counts = counted(self.all())
        return self._counts

    def derived(self, what: str, make: Callable[[RecurringJobs, D | None], D], *, given: object) -> D:
        """Return a value that `make` computes from all rows for `given`, cached with the rows. `make` gets its former
        value, of these rows or of the standing before.
        """
        known = self._derived.get(what)
        if known is None or known.given != given:
            made = make(self, None if known is None else known.value)
            known = self._derived[what] = _Derived(make=make, given=given, value=made)
        value: D = known.value
        return value

    def prepare(self, before: RecurringJobs, *, now: datetime) -> None:
        """Compute at once the values that were requested from the standing before. Unchanged rows are reused."""
        self._all = self._made({row.key: row for row in before.all()})
        for sort in (*before._orders,):
            self.rows(sort, now=now)
        self.counts()
        for what, known in (*before._derived.items(),):
            self._derived[what] = replace(known, value=known.make(self, known.value))

    def _made(self, before: Mapping[str, RecurringRow]) -> list[RecurringRow]:
        found = []
        for one in self.jobs:
            row, runs = before.get(one.key), self.runs.get(one.key, ())
            if row is None or row.recurs != one or row.runs != runs:
                row = RecurringRow(recurs=one, runs=runs, trouble=troubles(runs))
            found.append(row)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Derived:
    """A value computed from the rows of a standing, with its input and its function."""

    make: Callable[[RecurringJobs, Any], Any]
    given: object
    value: Any


def asked_for(rows: Iterable[R], where: Where, *, now: datetime) -> list[R]:
    """Return the rows that match a filter."""
    needs_words = bool(where.texts or where.without)

    def is_meant(row: RecurringRow) -> bool:
        words = words_of(row.recurs.job) if needs_words else ""
        return where.recurring(row.recurs.standing, row.runs, words=words, now=now)

    return [row for row in rows if is_meant(row)]


def counted(rows: Sequence[RecurringRow]) -> dict[str, int]:
    """Count the rows of each list of `SHOWS`."""
    found = Counter(one for row in rows for one in (*row.trouble, *(("paused",) if row.is_paused else ())))
    return {show: len(rows) if show == "all" else found[show] for show in SHOWS}


def in_order(rows: Iterable[RecurringRow], sort: str, *, now: datetime) -> list[RecurringRow]:
    """Sort rows by one of `SORTS`; those without a name come last."""
    by = _BY[sort]
    return sorted(rows, key=lambda row: (row.recurs.job.name is None, by(row, now), row.key))


def page_of(rows: Sequence[RecurringRow], after: str | None, *, most: int) -> tuple[Sequence[RecurringRow], str | None]:
    """Return the rows after a place, and the place of the next page. A place is the row before it; if that row has left
    the list, its number counts. Raises InvalidOptions for an invalid place.
    """
    start = 0
    if after:
        found = _CURSOR.fullmatch(after)
        if found is None:
            remedy = "It is the value of next in the list before, as it stood there."
            raise InvalidOptions.about(
                f'after="{after}"', "is no place in this list", remedy, where="after", given=after
            )
        start = next((k + 1 for k, row in enumerate(rows) if row.key == found[2]), int(found[1]))
    page = rows[start : start + most]
    end = start + len(page)
    return page, f"{end}:{page[-1].key}" if page and end < len(rows) else None


def in_a_row(runs: Iterable[PastRun]) -> int:
    """Count the failures in a row among the last runs."""
    return sum(1 for _ in takewhile(lambda run: run.ending in FAILED, runs))


def words_of(job: Job) -> str:
    """Say when a recurring job runs, in its zone."""
    assert job.trigger is not None, "it recurs"
    return _words(job.trigger)


def words_in(job: Job, zone: tzinfo) -> str:
    """Say when a recurring job runs; its zone is left out where it is the schedule's, and all times are shown in that
    zone.
    """
    return words_of(job) if isinstance(zone, OtherZone) else words_of(job).removesuffix(f" {zone_name(zone)}")


@lru_cache(maxsize=50_000)
def _words(trigger: Trigger) -> str:
    return explain(trigger)


_FAR: Final = float("inf")


def _due(row: RecurringRow) -> float:
    return _FAR if row.recurs.due is None else row.recurs.due.timestamp()


def _trouble(row: RecurringRow, now: datetime) -> tuple[int, float]:
    return row.rank + (not row.trouble and not row.is_overdue(now)), _due(row)


def _took(row: RecurringRow, now: datetime) -> float:
    last = ran_last(row.runs)
    return 1.0 if last is None else -float(last.took_ms)


_BY: Final[Mapping[str, Callable[[RecurringRow, datetime], object]]] = {
    "trouble": _trouble,
    "next": lambda row, now: _due(row),
    "name": lambda row, now: (row.recurs.job.name or shown(row.recurs.job.fn)).casefold(),
    "took": _took,
}


MOST_RUNS: Final = 2_000
SETTLED: Final = timedelta(seconds=2)
"""Time after a run in which entries before it may still come, where a schedule has several shards."""


Runs = Callable[..., Iterator[PastRun]]  # pages through single runs, as `History.runs` does


class RecentRuns:
    """A cache of the last 2,000 single runs. Thread-safe."""

    def __init__(self) -> None:
        self._settled: Sequence[PastRun] = ()

    def read(self, runs: Runs, now: datetime) -> Sequence[PastRun]:
        """Return the runs, the last one first. Raises Unsupported."""
        settled = self._settled
        added = _added(runs, settled[0]) if settled else None
        found = list(islice(runs(), MOST_RUNS)) if added is None else [*added, *settled][:MOST_RUNS]
        first = next((k for k, run in enumerate(found) if run.ended <= now - SETTLED), len(found))
        self._settled = found[first:]
        return found


def _added(runs: Runs, last: PastRun) -> list[PastRun] | None:
    """Read the runs after a known one; None where that one no longer exists, or is not unique."""
    since_ms = int(last.ended.timestamp() * 1000)
    found: list[PastRun] = []
    for run in islice(runs(since_ms=since_ms), MOST_RUNS):
        if run.place is not None and run.place == last.place:
            return found
        found.append(run)
    return None
