"""How many threads were busy, and will be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workkit.contract.history import Bucket
from workkit.text.glance import at_moment
from workkit.text.listing import plural
from workkit.web.charts.axis import WIDTH, Axis
from workkit.web.charts.shape import Drawing, number

HEIGHT, ROOM = 48, 46
STEPS = 144  # of the expected load, from now to the end of the axis
MILLISECOND = timedelta(milliseconds=1)
PEAKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Drawing):
    """The load: `past` is an area, `ahead` a line."""

    past: str
    ahead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """So many threads are expected to be busy from `start` up to `end`: on average, and at most at one time."""

    start: datetime
    end: datetime
    busy: float


def expected(plans: Iterable[tuple[Sequence[datetime], float]], *, now: datetime, until: datetime) -> list[Step]:
    """Expect the load of planned runs: for each job its instants, and how long it usually takes (ms). A run is busy
    from its due time on; each step holds the average of its span.
    """
    length = (until - now) / STEPS
    if length <= timedelta():
        return []
    busy = [0.0] * STEPS
    for instants, usual_ms in plans:
        took = timedelta(milliseconds=max(usual_ms, 0.0))
        for due in instants:
            _spread(busy, (due - now) / length, (due + took - now) / length)
    return [Step(start=now + k * length, end=now + (k + 1) * length, busy=value) for k, value in enumerate(busy)]


def _spread(busy: list[float], begin: float, end: float) -> None:
    """Add the part of each step that a run fills."""
    begin, end = max(0.0, begin), min(float(STEPS), end)
    k = int(begin)
    while k < STEPS and k < end:
        busy[k] += max(0.0, min(k + 1.0, end) - max(float(k), begin))
        k += 1


def load(axis: Axis, past: Iterable[Bucket], ahead: Sequence[Step], *, threads: int) -> Load:
    """Draw the busy threads of the past (cells of the whole schedule) and those expected, of `threads` that listen."""
    known = [
        (bucket.start, bucket.end, bucket.cell.busy_ms * MILLISECOND / (bucket.end - bucket.start))
        for bucket in past
        if bucket.end > axis.start and bucket.start < min(axis.now, axis.end)
    ]
    coming = [step for step in ahead if step.end > axis.start and step.start < axis.end]
    top = max([threads, 1]) if threads else max([1.0, *(busy for *_, busy in known), *(s.busy for s in coming)])

    def y(busy: float) -> str:
        return number(ROOM - ROOM * min(busy, top) / top)

    def x(at: datetime) -> str:
        return number(axis.clipped(at))

    area = line = ""
    if known:
        points = "".join(f"L{x(start + (end - start) / 2)} {y(busy)}" for start, end, busy in known)
        last = min(known[-1][1], axis.now)
        area = f"M{x(known[0][0])} {ROOM}{points}L{x(last)} {y(known[-1][2])}L{x(last)} {ROOM}Z"
    if coming:
        line = f"M{x(coming[0].start)} {y(coming[0].busy)}"
        line += "".join(f"L{x(step.start + (step.end - step.start) / 2)} {y(step.busy)}" for step in coming)
    label = _label(axis, [(start, busy) for start, _, busy in known], coming, threads)
    return Load(width=WIDTH, height=HEIGHT, label=label, paths={}, past=area, ahead=line)


def _label(axis: Axis, past: Sequence[tuple[datetime, float]], ahead: Sequence[Step], threads: int) -> str:
    found = [*past, *((step.start, step.busy) for step in ahead)]
    if not found:
        return "How many threads were busy is not known."
    busy = sorted(value for _, value in found)
    low, high = busy[len(busy) // 10], busy[len(busy) * 9 // 10]
    few, many = round(low), round(high)
    of = f" of {threads:,}" if threads else ""
    mostly = f"{many:,}" if few == many else f"{few:,} to {many:,}"
    peaks = "".join(
        f"; {_all(round(value), threads)} {at_moment(at, axis.now, axis.zone)}"
        for at, value in _peaks(found, above=max(1.0, 2 * high))
    )
    when = "How many threads were busy, and will be" if ahead else "How many threads were busy"
    if not threads:
        when = f"{when}; nobody listens now"
    return f"{when}: mostly {mostly}{of}{peaks}."


def _all(busy: int, threads: int) -> str:
    return f"all {threads:,}" if threads and busy >= threads else plural(busy, "thread")


def _peaks(found: Sequence[tuple[datetime, float]], *, above: float) -> list[tuple[datetime, float]]:
    """Find the two highest stretches above a bound, each by its highest place, in order of time."""
    stretches: list[list[tuple[datetime, float]]] = [[]]
    for at, value in found:
        if value >= above:
            stretches[-1].append((at, value))
        elif stretches[-1]:
            stretches.append([])
    tops = [max(stretch, key=lambda one: one[1]) for stretch in stretches if stretch]
    return sorted(sorted(tops, key=lambda one: -one[1])[:PEAKS])
