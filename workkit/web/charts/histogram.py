"""Lengths of time as a histogram in half octaves, with its labels, and a limit as a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from typing import Final

from workkit.contract.history import BUCKETS, LATE_MS, Buckets, bucket_of, upper_ms
from workkit.text.duration import duration_text
from workkit.text.glance import capital, within
from workkit.web.charts.shape import Drawing, Paths

HEIGHT, STEP, BAR = 56, 20, 16
LEAST = 3  # px of a bar with any count
FEWEST = 9  # columns
LABELS = 5
LATE_FROM: Final = bucket_of(LATE_MS)  # the first bucket that is late throughout is the one after it
VERY_LATE: Final = bucket_of(60_000)
VERY_LATE_TEXT: Final = duration_text(upper_ms(VERY_LATE - 1))  # the lower end of that bucket, so that counts are exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Drawing):
    """The histogram. `labels` are texts below the axis, evenly spread; `limit_x` is where the limit's line is, None
    without one or where it lies beyond the axis; `sentence` stands below.
    """

    labels: tuple[str, ...]
    limit_x: float | None
    sentence: str


def lateness(counted: Buckets) -> Histogram:
    """Draw how late runs started; what is 1 s late or more is amber."""
    long = sum(n for bucket, n in counted.pairs() if bucket >= VERY_LATE)
    sentence = capital(_shares(counted)) + "."
    if long:
        sentence += f" {long:,} started more than {VERY_LATE_TEXT} late."
    label = f"How late runs started: {_shares(counted)}" + (f", {long:,} more than {VERY_LATE_TEXT}" if long else "")
    if not counted.total:
        sentence, label = "No run yet.", "How late runs started: no run yet"
    return _draw(counted, label=f"{label}.", sentence=sentence, late_from=LATE_FROM)


def durations(counted: Buckets, *, timeout_ms: float | None = None) -> Histogram:
    """Draw how long runs took, and their timeout as a line."""
    longest = max((bucket for bucket, _ in counted.pairs()), default=0)
    bound = "" if longest == BUCKETS - 1 else f", none longer than {duration_text(upper_ms(longest))}"
    sentence, label = f"{capital(_shares(counted))}.", f"How long runs took: {_shares(counted)}{bound}."
    if not counted.total:
        sentence, label = "No run yet.", "How long runs took: no run yet."
    if timeout_ms is not None:
        limit = f" Its timeout is {duration_text(timeout_ms)}."
        sentence, label = sentence + limit, label + limit
    return _draw(counted, label=label, sentence=sentence, limit_ms=timeout_ms)


def _shares(counted: Buckets) -> str:
    return within((share, counted.below_ms(share)) for share in (0.5, 0.95)) if counted.total else ""


def _draw(
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
            height = max(LEAST, round(HEIGHT * n / top, 1))
            paths.rect("l" if late[k] else "d", k * STEP, HEIGHT - height, BAR, height)
    width = columns * STEP - (STEP - BAR)
    return Histogram(
        width=width,
        height=HEIGHT,
        label=label,
        paths=_ordered(paths.done()),
        labels=_labels(low, columns),
        limit_x=_place(limit_ms, low, width),
        sentence=sentence,
    )


def _ordered(paths: Mapping[str, str]) -> dict[str, str]:
    return {kind: paths[kind] for kind in ("d", "l") if kind in paths}


def _range(counted: Buckets, limit_ms: float | None) -> tuple[int, int]:
    """Choose the first bucket, and how many columns there are."""
    known = [bucket for bucket, _ in counted.pairs()]
    low, high = min(known, default=0), max(known, default=FEWEST - 1)
    if limit_ms is not None and 0 < bucket_of(limit_ms) - high <= 8:
        high = bucket_of(limit_ms)
    short = FEWEST - (high - low + 1)
    if short > 0:
        low = max(0, low - short // 2)
        high = min(BUCKETS - 1, low + FEWEST - 1)
        low = max(0, high - FEWEST + 1)
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
    """Find where a length of time lies on the axis; None beyond it."""
    if ms is None or ms <= 0:
        return None
    x = (2 * log2(ms * 10) + 1 - low) * STEP
    return round(x, 1) if 0 <= x <= width else None
