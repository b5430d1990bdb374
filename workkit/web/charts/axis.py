"""The time axis of the Timeline: a span around now as 2,880 units, its ticks, and the labels above it. Also counts by
time as columns, with an axis or without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import accumulate
from typing import Final, Literal

from workkit.contract.history import Bucket
from workkit.text.cells import cells, shorten
from workkit.text.glance import bare_clock, moment
from workkit.text.wording import MONTH_NAMES, plural, printable, weekday_name
from workkit.web.charts.bars import Drawing, Paths, Tick

Span = Literal["2h", "24h", "7d", "90d"]
SPANS: Final[dict[Span, timedelta]] = {
    "2h": timedelta(hours=2),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "90d": timedelta(days=90),
}
WORDS: Final[dict[Span, str]] = {"2h": "2 hours", "24h": "24 hours", "7d": "7 days", "90d": "90 days"}
WIDTH: Final = 2880.0
PX: Final = 3.75  # units of the axis per px, on a screen of 1280 px
GRID: Final = 15.0  # units between two text places: classes tx-0 to tx-192
NEAR: Final = 160.0  # units; a text nearer to that of now is left out (36 px on a narrow screen)
NEAR_DATE: Final[dict[Span, float]] = {"24h": 230.0}
HALF: Final = 60.0  # units, half the width of a text; a text that the end would cut is left out
HALF_DATE: Final[dict[Span, float]] = {"24h": 131.0, "7d": 75.0, "90d": 75.0}
_HOURS: Final[dict[Span, int]] = {"24h": 6, "7d": 24}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A span of time from `start` to `end` (aware UTC), seen at `now`, in `zone`."""

    span: Span
    start: datetime
    end: datetime
    now: datetime
    zone: tzinfo

    def x(self, at: datetime) -> float:
        """Return the place of an instant, also beyond the ends."""
        return (at - self.start) / (self.end - self.start) * WIDTH

    def clipped(self, at: datetime) -> float:
        """Return the place of an instant, moved to the nearest end if it lies outside."""
        return min(WIDTH, max(0.0, self.x(at)))

    @property
    def here(self) -> float:
        """The place of now, moved to the nearest end if it lies outside."""
        return round(self.clipped(self.now), 1)

    @property
    def shows_now(self) -> bool:
        """Whether now lies on the axis."""
        return self.start <= self.now <= self.end

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The hours and dates of the axis, on the clock of its zone. The tick of now is "here"."""
        return _ticks(self)

    @property
    def edges(self) -> tuple[datetime, ...]:
        """The instants of its ticks, without that of now."""
        return _edges(self)

    def has_room(self, at: datetime, *, is_date: bool) -> bool:
        """Return whether a text fits there: not too near to the text of now, nor to an end."""
        near = NEAR_DATE.get(self.span, NEAR) if is_date else NEAR
        half = HALF_DATE.get(self.span, HALF) if is_date else HALF
        is_clear = not self.shows_now or abs(self.x(at) - self.here) >= near
        return is_clear and self.x(at) <= WIDTH - half


@lru_cache(4)
def _edges(axis: Axis) -> tuple[datetime, ...]:
    return tuple(at for at, _, _ in _marks(axis) if axis.start < at < axis.end)


@lru_cache(4)
def _ticks(axis: Axis) -> tuple[Tick, ...]:
    """Make the ticks once for all lanes."""
    found = [
        Tick(x=round(axis.x(at), 1), text=text if axis.has_room(at, is_date=":" not in text) else "", kind=kind)
        for at, text, kind in _marks(axis)
        if axis.start <= at <= axis.end
    ]
    if axis.shows_now:
        found.append(Tick(x=round(axis.here, 1), text=bare_clock(_local(axis.now, axis.zone, 60)), kind="here"))
    return tuple(found)


def axis(span: Span, *, now: datetime, zone: tzinfo, at: datetime | None = None) -> Axis:
    """Make the axis of a span, with `at` (default: now) in the middle."""
    middle = at or now
    reach = SPANS[span]
    return Axis(span=span, start=middle - reach, end=middle + reach, now=now, zone=zone)


def place(x: float) -> int:
    """Return the class of a text at a place of the axis: ``tx-96`` for 96."""
    return round(x / GRID)


def _marks(axis: Axis) -> Iterator[tuple[datetime, str, str]]:
    first, last = (at.astimezone(axis.zone) for at in (axis.start, axis.end))
    day = first.date()
    if axis.span == "2h":
        yield from _half_hours(axis)
        return
    while day <= last.date():
        if axis.span == "90d":
            if day.day == 1 or day.day == 15:
                text = f"{day.day} {MONTH_NAMES[day.month - 1][:3]}"
                yield _midnight(axis, day.year, day.month, day.day, 0), text, "day" if day.day == 1 else ""
        else:
            for hour in range(0, 24, _HOURS[axis.span]):
                at = _midnight(axis, day.year, day.month, day.day, hour)
                name = f"{weekday_name(day)[:3]} {day.day}"
                if axis.span == "24h":
                    name += f" {MONTH_NAMES[day.month - 1][:3]}"
                yield at, f"{hour:02}:00" if hour else name, "" if hour else "day"
        day += timedelta(days=1)


def _half_hours(axis: Axis) -> Iterator[tuple[datetime, str, str]]:
    """Yield every half hour of the clock. A change of the clock moves the texts, not the steps."""
    step = timedelta(minutes=30)
    local = axis.start.astimezone(axis.zone)
    past = timedelta(minutes=local.minute % 30, seconds=local.second, microseconds=local.microsecond)
    at = axis.start + (step - past if past else timedelta())
    while at <= axis.end:
        yield at, bare_clock(at.astimezone(axis.zone)), ""
        at += step


def _midnight(axis: Axis, year: int, month: int, day: int, hour: int) -> datetime:
    return datetime(year, month, day, hour, tzinfo=axis.zone).astimezone(UTC)


def _local(at: datetime, zone: tzinfo, step: int) -> datetime:
    local = at.astimezone(zone)
    return local.replace(second=local.second // step * step, microsecond=0)


LONGEST: Final = 20  # columns; longest text
COLUMN: Final = 28.0  # units of the axis: 6 px where it is narrowest
BESIDE: Final = 60.0  # units: the background of a text, with the free space beside it
SIGN: Final = "▾"  # shown where the text has no room


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text above the axis, its middle at `x`. `kind` is its class."""

    x: float
    text: str
    says: str
    kind: Literal["herd", "event"]


def above(
    axis: Axis, herds: Iterable[tuple[datetime, str, str]], events: Iterable[tuple[datetime, str, str]]
) -> tuple[Label, ...]:
    """Place instants, each with its text and its sentence. A herd keeps its place. An event without room for its text
    becomes a sign; without room for a sign it is left out. Earlier `events` get room first.
    """
    found = [
        Label(x=axis.x(at), text=text, says=says, kind="herd")
        for at, text, says in herds
        if text and axis.start <= at <= axis.end
    ]
    for at, text, says in events:
        if axis.start <= at <= axis.end:
            for short in (shorten(printable(text), LONGEST), SIGN):
                one = Label(x=_within(axis.x(at), short), text=short, says=says, kind="event")
                if all(abs(one.x - other.x) >= _half(one.text) + _half(other.text) for other in found):
                    found.append(one)
                    break
    return tuple(found)


def lines(axis: Axis, events: Iterable[datetime]) -> tuple[float, ...]:
    """Return the places of the lines through all lanes, each once, from left to right."""
    return tuple(sorted({round(axis.x(at), 1) for at in events if axis.start <= at <= axis.end}))


def _half(text: str) -> float:
    return (cells(text) * COLUMN + BESIDE) / 2


def _within(x: float, text: str) -> float:
    """Move a text into the axis."""
    return min(WIDTH - _half(text), max(_half(text), x))


QUARTERS, QUARTER = 96, timedelta(minutes=15)
HOURS, HOUR = 48, timedelta(hours=1)
MINUTES = 60
UP, LINE, DOWN = 36.0, 38, 22.0  # px above the line, y of the line, px below it
PIECES = 192  # columns in the lane of jobs that run once


def function_day(past: Iterable[Bucket], name: str, *, now: datetime, zone: tzinfo) -> Drawing:
    """Draw the runs of a function in the last 24 hours by quarter of an hour; failures hang below the line."""
    start = now - QUARTERS * QUARTER
    good, bad = [0] * QUARTERS, [0] * QUARTERS
    for bucket in past:
        k = (bucket.start - start) // QUARTER
        if 0 <= k < QUARTERS:
            failed = bucket.cell.retried + bucket.cell.dead
            good[k] += bucket.cell.runs - failed
            bad[k] += failed
    most_good, most_bad = max(1, *good), max(1, *bad)
    paths = Paths()
    for k in range(QUARTERS):
        if good[k]:
            height = max(1.0, UP * good[k] / most_good)
            paths.rect("d", k * 6, LINE - height, 5, height)
        if bad[k]:
            paths.rect("f", k * 6, LINE + 3, 5, max(2.0, DOWN * bad[k] / most_bad))
    label = f"Runs of {name} in each quarter of an hour: {plural(sum(good) + sum(bad), 'run')}"
    if sum(bad):
        first = next(k for k in range(QUARTERS) if bad[k])
        at = moment((start + first * QUARTER).replace(second=0, microsecond=0), now, zone)
        label += f", {sum(bad):,} failed, the first at about {at}"
    return Drawing(width=QUARTERS * 6, height=64, label=f"{label}.", paths=paths.done())


def last_hour(minutes: Sequence[tuple[int, int]]) -> Drawing:
    """Draw the runs of an hour by minute, the last one at the right. `minutes`: for each, how many ran and how many of
    these failed. Failures hang below the line.
    """
    shown = minutes[-MINUTES:]
    good, bad = [ran - failed for ran, failed in shown], [failed for _, failed in shown]
    paths = Paths()
    for k, x in enumerate(range((MINUTES - len(shown)) * 5, MINUTES * 5, 5)):
        if good[k]:
            height = max(1.0, 15 * good[k] / max(good))
            paths.rect("d", x, 16 - height, 4, height)
        if bad[k]:
            paths.rect("f", x, 18, 4, max(2.0, 6 * bad[k] / max(bad)))
    failed = f", {sum(bad):,} failed" if sum(bad) else ""
    label = f"The last hour, by minute: {plural(sum(good) + sum(bad), 'run')}{failed}."
    return Drawing(width=MINUTES * 5 - 1, height=24, label=label, paths=paths.done())


def burst(died: Iterable[datetime], *, now: datetime) -> Drawing:
    """Draw when jobs died in the last 48 hours, by hour."""
    start = now - HOURS * HOUR
    counts = [0] * HOURS
    earlier = 0
    for at in died:
        k = (at - start) // HOUR
        if k < 0:
            earlier += 1
        else:
            counts[min(k, HOURS - 1)] += 1
    top = max(1, *counts)
    paths = Paths()
    for k, count in enumerate(counts):
        if count:
            height = max(2.0, 20 * count / top)
            paths.rect("f", k * 4, 20 - height, 3, height)
    label = f"When they died: {sum(counts):,} in the last 48 hours" + (f", {earlier:,} before" if earlier else "")
    return Drawing(width=HOURS * 4, height=20, label=f"{label}.", paths=paths.done())


def one_time_lane(axis: Axis, ran: Sequence[int], planned: Sequence[int], *, waiting: int) -> Drawing:
    """Draw the lane of jobs that run once: 192 columns over the axis. `ran`, `planned`: how many in each column. `ran`
    is 0 in the future, `planned` is 0 in the past.
    """
    top = max([1, *ran, *planned])
    paths = Paths()
    for kind, counts, width in (("ds", ran, 13), ("pf", planned, 11)):
        for k, count in enumerate(counts[:PIECES]):
            if count:
                height = max(1.0, 22 * count / top)
                paths.rect(kind, k * WIDTH / PIECES, 26 - height, width, height)
    label = f"One-time jobs: {sum(ran):,} ran; {waiting:,} {'waits' if waiting == 1 else 'wait'}"
    if sum(planned):
        last = next(k for k, seen in enumerate(accumulate(planned)) if seen * 10 >= sum(planned) * 9)
        at = axis.start + (last + 1) * (axis.end - axis.start) / PIECES
        label += f", most until {moment(at.replace(second=0, microsecond=0), axis.now, axis.zone)}"
    return Drawing(width=WIDTH, height=30, label=f"{label}.", paths=paths.done())
