"""Lateness over 24 hours: half of all starts and 95 % of them, by quarter of an hour, on a log scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import reduce
from math import isinf, log10
from operator import add

from workkit.contract.history import LATE_MS, Bucket, Buckets, upper_ms
from workkit.text.duration import duration_text
from workkit.text.glance import at_moment, moment
from workkit.text.listing import listed
from workkit.web.charts.shape import Drawing, Mark, number

QUARTERS, QUARTER = 96, timedelta(minutes=15)
STEP, HEIGHT, LINE = 3, 44, 42
TOP_MS = 2000.0  # of the scale, where nothing is later
MOST_WORST = 2
LONGEST_MS = upper_ms(62)  # what lies beyond has no end


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark(Drawing):
    """The lines: `half` and `most` (95 %), and the `area` below that. `ticks`: three texts below; `worst` is the middle
    one, "" where no start was late. `marks` are events, as dotted lines.
    """

    half: str
    most: str
    area: str
    ticks: tuple[str, str, str]
    worst: str


def lateness_spark(
    past: Iterable[Bucket], *, now: datetime, zone: tzinfo, events: Iterable[tuple[datetime, str]] = ()
) -> Spark:
    """Draw the lateness of the last 24 hours. `past`: cells of five minutes of a schedule; `events`: what may have
    changed it, each with its words. A quarter without a start is a gap.
    """
    start = now - QUARTERS * QUARTER
    sides: dict[int, list[Buckets]] = {}
    for bucket in past:
        k = (bucket.start - start) // QUARTER
        if 0 <= k < QUARTERS and bucket.cell.lateness.total:
            sides.setdefault(k, []).append(bucket.cell.lateness)
    quarters = {k: reduce(add, found) for k, found in sorted(sides.items())}
    half, most = ({k: _ms(counted, share) for k, counted in quarters.items()} for share in (0.5, 0.95))
    top = max([TOP_MS, *most.values()])
    late = sorted((ms, k) for k, ms in most.items() if ms > LATE_MS)[::-1][:MOST_WORST]
    named = [f"{duration_text(ms)} {at_moment(_shown(start, k), now, zone)}" for ms, k in late]
    lines = [_line(run, half, top) for run in _runs(quarters)], [_line(run, most, top) for run in _runs(quarters)]
    area = "".join(
        f"{line}L{number((run[-1] + 1) * STEP)} {HEIGHT}L{number(run[0] * STEP)} {HEIGHT}Z"
        for line, run in zip(lines[1], _runs(quarters), strict=True)
    )
    marks = tuple(
        Mark(kind="p dash", data=f"M{number((at - start) / QUARTER * STEP)} 0V{HEIGHT}", says=says)
        for at, says in events
        if start <= at <= now
    )
    return Spark(
        width=QUARTERS * STEP,
        height=HEIGHT,
        label=_label(half, most, named),
        paths={},
        marks=marks,
        half="".join(lines[0]),
        most="".join(lines[1]),
        area=area,
        ticks=(moment(_minute(start), now, zone), named[0] if named else "", "now"),
        worst=named[0] if named else "",
    )


def _ms(counted: Buckets, share: float) -> float:
    ms = counted.below_ms(share) or 0.0
    return LONGEST_MS if isinf(ms) else ms


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _shown(start: datetime, k: int) -> datetime:
    return _minute(start + k * QUARTER)


def _runs(quarters: Iterable[int]) -> list[list[int]]:
    """Put quarters together that follow one another."""
    found: list[list[int]] = []
    for k in quarters:
        if found and found[-1][-1] == k - 1:
            found[-1].append(k)
        else:
            found.append([k])
    return found


def _line(run: Sequence[int], values: dict[int, float], top: float) -> str:
    points = [(k * STEP, _y(values[k], top)) for k in run]
    points.append(((run[-1] + 1) * STEP, points[-1][1]))  # a quarter is as wide as it is long
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def _y(ms: float, top: float) -> float:
    return LINE - LINE * log10(max(1.0, ms)) / log10(top)


def _label(half: dict[int, float], most: dict[int, float], named: Sequence[str]) -> str:
    if not half:
        return "Lateness in the last 24 hours: nothing started."
    but = f", but for {listed(named)}" if named else ""
    return f"Lateness in the last 24 hours: half of all starts {_usual(half)}; 95 % {_usual(most)}{but}."


def _usual(values: dict[int, float]) -> str:
    known = sorted(values.values())
    low, high = (duration_text(known[round(share * (len(known) - 1))]) for share in (0.1, 0.9))
    return f"within {low}" if low == high else f"within {low} to {high}"
