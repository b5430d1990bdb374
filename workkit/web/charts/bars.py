"""The parts of every chart: path data by class, marks, and how each ending of a run is drawn and named. Also charts of
bars: the last runs of a job, and durations as a histogram.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from functools import lru_cache
from math import log, log2
from types import MappingProxyType
from typing import Final, Literal

from workkit.contract.history import BUCKETS, LATE_MS, NO_RUN, Buckets, Ended, PastRun, bucket_of, upper_ms
from workkit.text.cells import brief_repr
from workkit.text.glance import bare_clock, bound_text, brief_day, capital, under
from workkit.text.wording import duration_text, plural


class Paths:
    """Collects rectangles as path data, one path for each class."""

    def __init__(self) -> None:
        self._data: dict[str, list[str]] = {}

    def rect(self, kind: str, x: float, y: float, width: float, height: float) -> None:
        """Add a rectangle to the path of a class."""
        self.add(kind, rect(x, y, width, height))

    def add(self, kind: str, data: str) -> None:
        """Add path data to the path of a class."""
        self._data.setdefault(kind, []).append(data)

    def done(self) -> Mapping[str, str]:
        """Return the path data of each class, in the order in which the classes were first used."""
        return MappingProxyType({kind: "".join(parts) for kind, parts in self._data.items()})


def rect(x: float, y: float, width: float, height: float) -> str:
    """Write a rectangle as path data: ``M10 8h4.5v14h-4.5z``."""
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z"


@lru_cache(20_000)
def number(value: float) -> str:
    """Write a coordinate with one decimal at most, and never with an exponent."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A shape with its own text: its class, its path data, and its sentence. `run`: the index of its run, where it
    shows one run only.
    """

    kind: str
    data: str
    says: str
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A text below or above an axis, at `x`. `kind` is its class: "", "day" or "here"."""

    x: float
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawing: its size, path data by class, marks, and the sentence that describes it."""

    width: float
    height: float
    label: str
    paths: Mapping[str, str] = field(repr=False)
    marks: tuple[Mark, ...] = ()

    __repr__ = brief_repr


Kind = Literal["done", "late", "fail", "miss", "left", "over"]
"""How a run is drawn: done on time; done, but late; failed or dead; missed; left out; over without being done."""

KINDS: Final[Mapping[Ended, Kind]] = {
    "done": "done",
    "skipped": "left",
    "discarded": "over",
    "cancelled": "over",
    "missed": "miss",
    "expired": "miss",
    "overlap": "left",
    "retried": "fail",
    "dead": "fail",
}
WORDS: Final[Mapping[Kind, str]] = {
    "done": "done",
    "late": "started late",
    "fail": "failed",
    "miss": "missed",
    "left": "left out",
    "over": "discarded or cancelled",
}
STATES: Final[Mapping[Ended, str]] = {
    "done": "done",
    "skipped": "left out",
    "discarded": "discarded",
    "cancelled": "cancelled",
    "missed": "missed",
    "expired": "expired",
    "overlap": "left out, its last run still went on",
    "retried": "failed",
    "dead": "dead",
}
WHY: Final[Mapping[Ended, str]] = {
    "expired": "nobody started it in time",
    "missed": "nobody started it in time",
    "overlap": "the run before it still went on",
    "skipped": "by hand",
}
"""The reason why an occurrence did not run."""


def kind_of(run: PastRun) -> Kind:
    """Return how a run is drawn. A run is late if it was done and started 1 s after its due time or more."""
    kind = KINDS[run.ending]
    return "late" if kind == "done" and run.late_ms >= LATE_MS else kind


def tally(kinds: Iterable[Kind]) -> str:
    """Count kinds in words: ``54 done, 3 started late, 1 failed``."""
    found = list(kinds)
    return ", ".join(f"{n:,} {word}" for kind, word in WORDS.items() if (n := found.count(kind)))


SLOTS, SLOT, SLOT_BAR, BARS_HEIGHT = 60, 5, 4, 24
LOWEST, RISE = 5.0, 13.0  # px: height of the shortest run, extra height of the longest
FLAT = 1.15  # ratio; durations closer than this all get half the height
TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Drawing):
    """The bars. `ticks`: five texts below the wide form, evenly spread, "" where there is no run; `failed`: the failed
    runs, each with the place of its bar.
    """

    ticks: tuple[str, ...] = ()
    failed: tuple[tuple[int, PastRun], ...] = ()


def bars(
    runs: Iterable[PastRun], *, now: datetime, zone: tzinfo, running: bool = False, running_ms: float = 0.0
) -> Bars:
    """Draw the last runs of a job. The runs come with the last one first, as `History.lately` reads them. `running`:
    adds a bar for the run in progress, which has taken `running_ms` so far.
    """
    room = SLOTS - running
    shown = [run for _, run in zip(range(room), runs, strict=False)][::-1]
    took = [run.took_ms for run in shown if run.ending not in NO_RUN]
    scale = _Scale(took)
    paths = Paths()
    for slot in range(room - len(shown)):
        paths.rect("ds", slot * SLOT, BARS_HEIGHT - 1, SLOT_BAR, 1)
    for slot, run in enumerate(shown, room - len(shown)):
        _draw_run(paths, slot * SLOT, run, scale)
    if running:
        height = scale.height(running_ms)
        paths.rect("r pulse", room * SLOT, BARS_HEIGHT - height, SLOT_BAR, height)
    label = _label(shown, took, running=running)
    ticks = _ticks(shown, room - len(shown), now=now, zone=zone)
    failed = tuple((slot * SLOT, run) for slot, run in enumerate(shown, room - len(shown)) if kind_of(run) == "fail")
    return Bars(width=SLOTS * SLOT - 1, height=BARS_HEIGHT, paths=paths.done(), label=label, ticks=ticks, failed=failed)


class _Scale:
    def __init__(self, took: Sequence[float]) -> None:
        known = [max(1.0, ms) for ms in took]
        self.low, self.high = min(known, default=1.0), max(known, default=1.0)

    def height(self, ms: float) -> float:
        if self.high / self.low < FLAT:
            return round(LOWEST + RISE / 2, 1)
        part = log(max(1.0, ms) / self.low) / log(self.high / self.low)
        return round(LOWEST + RISE * min(1.0, max(0.0, part)), 1)


def _draw_run(paths: Paths, x: int, run: PastRun, scale: _Scale) -> None:
    kind, height = kind_of(run), scale.height(run.took_ms)
    match kind:
        case "fail":  # an exclamation mark
            height = max(height - 2, 7)
            paths.rect("f", x, 18.5 - height, SLOT_BAR, height)
            paths.rect("f", x, 20, SLOT_BAR, 4)
        case "miss":
            paths.rect("m", x + 0.5, 13.5, SLOT_BAR - 1, 10)
        case "left":
            paths.rect("sk", x, 22, SLOT_BAR, 2)
        case "over":
            paths.rect("ds", x, BARS_HEIGHT - height, SLOT_BAR, height)
        case "done" | "late":
            paths.rect("d", x, BARS_HEIGHT - height, SLOT_BAR, height)
            if kind == "late":  # a bar with a mark above it
                paths.rect("l", x, BARS_HEIGHT - height - 4.5, SLOT_BAR, 3.5)


def _label(shown: Sequence[PastRun], took: Sequence[int], *, running: bool) -> str:
    now = "One runs now." if running else ""
    if not shown:
        return now or "Has not run yet."
    said = f"Last {plural(len(shown), 'run')}: {tally(map(kind_of, shown))}"
    if took:
        low, high = duration_text(min(took)), duration_text(max(took))
        said += f"; took {low}" if low == high else f"; took {low} to {high}"
    return f"{said}. {now}".rstrip()


def _ticks(shown: Sequence[PastRun], first: int, *, now: datetime, zone: tzinfo) -> tuple[str, ...]:
    """Name the days at five places, or the times of day where all runs are on one day."""
    places = [round(k * (SLOTS - 1) / (TICKS - 1)) - first for k in range(TICKS)]
    dues = [shown[min(k, len(shown) - 1)].due.astimezone(zone) if k >= 0 and shown else None for k in places]
    days: set[date] = {run.due.astimezone(zone).date() for run in shown}
    today = now.astimezone(zone).date()
    if len(days) == 1:
        return tuple("" if due is None else bare_clock(due) for due in dues)
    return tuple("" if due is None else brief_day(due.date(), today) for due in dues)


BUCKET_HEIGHT, BUCKET, BUCKET_BAR = 56, 20, 16
LEAST_HEIGHT = 3  # px; least height of a bar with a count
FEWEST_BUCKETS = 9  # least number of columns
LABELS = 5
LATE_FROM: Final = bucket_of(LATE_MS)  # the next bucket is the first one with late runs only
VERY_LATE: Final = bucket_of(60_000)
VERY_LATE_TEXT: Final = duration_text(upper_ms(VERY_LATE - 1))  # the lower end of that bucket, so counts are exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Drawing):
    """The histogram. `labels`: texts below the axis, evenly spread; `limit_x`: the place of the limit's line, None
    without a limit or where it lies beyond the axis; `sentence`: the text below.
    """

    labels: tuple[str, ...]
    limit_x: float | None
    sentence: str


def lateness(counted: Buckets) -> Histogram:
    """Draw how late runs started. Lateness of 1 s or more is amber."""
    long = sum(n for bucket, n in counted.pairs() if bucket >= VERY_LATE)
    sentence = capital(_shares(counted)) + "."
    if long:
        sentence += f" {long:,} started more than {VERY_LATE_TEXT} late."
    label = f"How late runs started: {_shares(counted)}" + (f", {long:,} more than {VERY_LATE_TEXT}" if long else "")
    if not counted.total:
        sentence, label = "No run yet.", "How late runs started: no run yet"
    return _histogram(counted, label=f"{label}.", sentence=sentence, late_from=LATE_FROM)


def durations(counted: Buckets, *, timeout_ms: float | None = None) -> Histogram:
    """Draw how long runs took, and their timeout as a line."""
    longest = max((bucket for bucket, _ in counted.pairs()), default=0)
    bound = "" if longest == BUCKETS - 1 else f", none longer than {bound_text(upper_ms(longest))}"
    sentence, label = f"{capital(_shares(counted))}.", f"How long runs took: {_shares(counted)}{bound}."
    if not counted.total:
        sentence, label = "No run yet.", "How long runs took: no run yet."
    if timeout_ms is not None:
        limit = f" Its timeout is {duration_text(timeout_ms)}."
        sentence, label = sentence + limit, label + limit
    return _histogram(counted, label=label, sentence=sentence, limit_ms=timeout_ms)


def _shares(counted: Buckets) -> str:
    return under((share, counted.below_ms(share)) for share in (0.5, 0.95)) if counted.total else ""


def _histogram(
    counted: Buckets, *, label: str, sentence: str, limit_ms: float | None = None, late_from: int | None = None
) -> Histogram:
    low, columns = _range(counted, limit_ms)
    counts = [0] * columns
    late = [False] * columns
    for bucket, n in counted.pairs():
        k = bucket - low
        counts[k] += n
        late[k] = late_from is not None and bucket > late_from
    top = max([1, *counts])
    paths = Paths()
    for k, n in enumerate(counts):
        if n:
            height = max(LEAST_HEIGHT, round(BUCKET_HEIGHT * n / top, 1))
            paths.rect("l" if late[k] else "d", k * BUCKET, BUCKET_HEIGHT - height, BUCKET_BAR, height)
    width = columns * BUCKET - (BUCKET - BUCKET_BAR)
    return Histogram(
        width=width,
        height=BUCKET_HEIGHT,
        label=label,
        paths=_ordered(paths.done()),
        labels=_labels(low, columns),
        limit_x=_place(limit_ms, low, width),
        sentence=sentence,
    )


def _ordered(paths: Mapping[str, str]) -> dict[str, str]:
    return {kind: paths[kind] for kind in ("d", "l") if kind in paths}


def _range(counted: Buckets, limit_ms: float | None) -> tuple[int, int]:
    """Choose the first bucket and the number of columns."""
    known = [bucket for bucket, _ in counted.pairs()]
    low, high = min(known, default=0), max(known, default=FEWEST_BUCKETS - 1)
    if limit_ms is not None and 0 < bucket_of(limit_ms) - high <= 8:
        high = bucket_of(limit_ms)
    short = FEWEST_BUCKETS - (high - low + 1)
    if short > 0:
        low = max(0, low - short // 2)
        high = min(BUCKETS - 1, low + FEWEST_BUCKETS - 1)
        low = max(0, high - FEWEST_BUCKETS + 1)
    return low, high - low + 1


def _labels(low: int, columns: int) -> tuple[str, ...]:
    """Name the lower end of the columns at five places."""
    places = [round(k * (columns - 1) / (LABELS - 1)) for k in range(LABELS)]
    return tuple(_end_text(low + k) for k in places)


def _end_text(bucket: int) -> str:
    """Write the lower end of a bucket."""
    ms = upper_ms(bucket - 1) if bucket > 1 else 0.0
    return f"{ms:.1f} ms" if 0 < ms < 1 else duration_text(ms, 1)


def _place(ms: float | None, low: int, width: int) -> float | None:
    """Return the place of a duration on the axis; None beyond the axis."""
    if ms is None or ms <= 0:
        return None
    x = (2 * log2(ms * 10) + 1 - low) * BUCKET
    return round(x, 1) if 0 <= x <= width else None
