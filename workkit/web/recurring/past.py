"""The past of a recurring job as drawings: its year, its last 60 runs, how late and how long. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

from workkit.contract.history import NO_RUN, Bucket, Buckets, Cell, Day, PastRun, bucket_of, upper_ms
from workkit.text.brief import brief_repr
from workkit.text.duration import duration_text
from workkit.web.charts.bars import Bars, Histogram, bars, durations, lateness
from workkit.web.charts.shapes import kind_of
from workkit.web.charts.year import Year, year
from workkit.web.recurring.cells import took_within

SPAN = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What the past looks like. `span`: what the two histograms count, "90 days" or "last runs"; `late`, `took`: the
    same as tables, a bound and how many runs lie below it and above the one before. `usual`: how long runs took.
    """

    year: Year | None = field(repr=False)
    bars: Bars = field(repr=False)
    lateness: Histogram = field(repr=False)
    durations: Histogram = field(repr=False)
    span: str
    late: tuple[tuple[str, int], ...]
    took: tuple[tuple[str, int], ...]
    has_run: bool
    usual: str

    __repr__ = brief_repr


def drawn(
    ring: Sequence[PastRun],
    days: Sequence[Day],
    cells: Sequence[Bucket],
    *,
    planned: Mapping[date, int],
    clocks: Mapping[date, str],
    timeout_ms: float | None,
    running: bool,
    now: datetime,
    zone: tzinfo,
) -> Drawn:
    """Draw the past. `cells`: counts of the job by day (UTC). Where these have none of its runs, because a schedule
    counts only so many jobs by themselves, the last runs are counted.
    """
    recent = [bucket.cell for bucket in cells if bucket.end > now - SPAN]
    cell = sum(recent, Cell())
    late_days = {bucket.start.date() for bucket in cells if bucket.cell.late}
    late_days |= {run.ended.astimezone(UTC).date() for run in ring if kind_of(run) == "late"}
    ran = [run for run in ring if run.ending not in NO_RUN]
    is_counted = cell.durations.total > 0
    late = cell.lateness if is_counted else Buckets((bucket_of(run.late_ms), 1) for run in ran)
    took = cell.durations if is_counted else Buckets((bucket_of(run.took_ms), 1) for run in ran)
    return Drawn(
        year=year(days, today=now.astimezone(UTC).date(), planned=planned, late=late_days, clocks=clocks),
        bars=bars(ring, now=now, zone=zone, running=running),
        lateness=lateness(late),
        durations=durations(took, timeout_ms=timeout_ms),
        span="90 days" if is_counted or not ran else "last runs",
        late=_table(late),
        took=_table(took),
        has_run=bool(days or ran),
        usual=_usual(ring),
    )


def _usual(ring: Sequence[PastRun]) -> str:
    half, most = (took_within(ring, share) for share in (0.5, 0.95))
    return "" if half is None or most is None else f"half within {duration_text(half)}, p95 {duration_text(most)}"


def _table(counted: Buckets) -> tuple[tuple[str, int], ...]:
    return tuple((_bound(bucket), n) for bucket, n in counted.pairs())


def _bound(bucket: int) -> str:
    end = upper_ms(bucket)
    return "longer" if end == float("inf") else f"below {duration_text(end)}" if end >= 1 else "below 1 ms"
