"""The hour behind and the hour ahead, and how late runs of the last day began: read for the page Now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Final

from workkit.contract.history import ALL, Bucket, Buckets, Cell
from workkit.errors import Unsupported
from workkit.text.brief import brief_repr
from workkit.text.duration import MILLISECOND
from workkit.text.glance import clock_at
from workkit.text.listing import plural
from workkit.web.ahead.remarks import HERD
from workkit.web.drawing.spark import Spark, lateness_spark
from workkit.web.drawing.strip import MINUTE, REACH, STEP, Strip, strip
from workkit.web.page import Asked
from workkit.web.planning.crowds import crowded
from workkit.web.planning.happened import read_happened
from workkit.web.planning.window import local_text, timeline_path

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
QUARTER_MS: Final = 15 * MINUTE_MS
SPARK_S: Final = 30.0  # so long the cells of a day are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late runs of the last hour began: upper bounds, in ms; None: nothing ran."""

    half_ms: float | None
    most_ms: float | None
    latest_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """One minute of the strip: where it is drawn, and what leads to it. Of a minute to come, `ran` is 0."""

    start: datetime
    x: float
    ran: int
    failed: int
    planned: int
    path: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known of the time around now. None: the layout does not tell. `crowds`: how many jobs wait for a second,
    where these are many.
    """

    last_hour: Cell | None
    lateness: Lateness | None
    spark: Spark | None
    strip: Strip | None
    minutes: tuple[Minute, ...] = field(default=(), repr=False)
    crowds: Mapping[datetime, int] = field(default_factory=dict)

    __repr__ = brief_repr


def read_around(asked: Asked, unknown: dict[str, str]) -> Around:
    """Read the cells of the minutes behind, and count what waits for those ahead: one question each."""
    inspector, now_ms = asked.served.inspector(), asked.pulse.now_ms
    minute_ms = now_ms // MINUTE_MS * MINUTE_MS
    try:
        past = inspector.history.past(ALL, since_ms=minute_ms - HOUR_MS, until_ms=now_ms + 1, tier="1")
    except Unsupported as error:
        unknown["history"] = str(error)
        past = []
    edges = [now_ms, *(minute_ms + k * MINUTE_MS for k in range(1, REACH + 2))]
    counts: Sequence[int] = ()
    crowds: Mapping[datetime, int] = {}
    try:
        counts = inspector.ahead(edges)
        crowds = asked.served.fresh(
            "crowds",
            lambda: crowded(inspector.ahead, edges, counts),
            given=(edges[1:], counts[1:], counts[0] < HERD),  # this minute gets emptier all the time
        )
    except Unsupported as error:
        unknown["ahead"] = str(error)
    cell = None if "history" in unknown else sum((bucket.cell for bucket in past), Cell())
    is_drawn = past or counts
    return Around(
        last_hour=cell,
        lateness=None if cell is None else quantiles(cell.lateness),
        spark=None if cell is None else _spark(asked, unknown),
        strip=strip(past, counts, now=asked.now, zone=asked.zone) if is_drawn else None,
        minutes=tuple(minutes(past, counts, asked, is_past_known=cell is not None)) if is_drawn else (),
        crowds=crowds,
    )


def quantiles(lateness: Buckets) -> Lateness:
    """Tell below which lateness half, 95 % and all of the runs began."""
    return Lateness(half_ms=lateness.below_ms(0.5), most_ms=lateness.below_ms(0.95), latest_ms=lateness.below_ms(1))


def _spark(asked: Asked, unknown: dict[str, str]) -> Spark:
    """Draw the lateness of the last day, and where something happened that may have changed it."""
    now_ms, inspector = asked.pulse.now_ms, asked.served.inspector()

    def read() -> Sequence[Bucket]:
        return inspector.history.past(ALL, since_ms=now_ms - DAY_MS - QUARTER_MS, until_ms=now_ms + 1, tier="5")

    cells = asked.served.fresh("lateness", read, seconds=SPARK_S)
    happened = read_happened(asked, asked.now - DAY_MS * MILLISECOND, asked.now, unknown)
    events = [(one.at, one.sentence) for one in happened]
    return lateness_spark(cells, now=asked.now, zone=asked.zone, events=events)


def minutes(past: Sequence[Bucket], counts: Sequence[int], asked: Asked, *, is_past_known: bool) -> Iterator[Minute]:
    """Say of each minute of the strip what ran and what is planned, with its place on the Timeline."""
    this = datetime.fromtimestamp(asked.pulse.now_ms // MINUTE_MS * 60, UTC)
    cells = {bucket.start: bucket.cell for bucket in past}
    for k in range(-REACH, REACH + 1):
        start = this + k * MINUTE
        cell = cells.get(start, Cell())
        planned = counts[k] if 0 <= k < len(counts) else 0
        path, at = _minute(start, asked.zone)
        failed = cell.retried + cell.dead
        said = [plural(cell.runs, "run")] if k <= 0 and is_past_known else []
        said += [f"{failed:,} failed"] if failed else []
        said += [f"{planned:,} planned"] if k >= 0 and counts else []
        yield Minute(
            start=start,
            x=(k + REACH) * STEP,
            ran=cell.runs,
            failed=failed,
            planned=planned,
            path=path,
            says=f"{at}: {', '.join(said)}" if said else at,
        )


@lru_cache(1_000)
def _minute(start: datetime, zone: tzinfo) -> tuple[str, str]:
    """Write the address and the time of a minute: each is shown for two hours."""
    return timeline_path(span="2h", at=local_text(start, zone)), clock_at(start.astimezone(zone))
