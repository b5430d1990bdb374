"""Counts by time as columns: runs of a function with its failures below a line, when jobs died, jobs that run once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import accumulate

from workkit.contract.history import Bucket
from workkit.text.glance import moment
from workkit.text.listing import plural
from workkit.web.charts.axis import WIDTH, Axis
from workkit.web.charts.shape import Drawing, Paths

QUARTERS, QUARTER = 96, timedelta(minutes=15)
HOURS, HOUR = 48, timedelta(hours=1)
MINUTES = 60
UP, LINE, DOWN = 36.0, 38, 22.0  # px above the line, where it is, and px below it
PIECES = 192  # columns of the lane of jobs that run once


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
    """Draw the runs of an hour by minute, the last one at the right. `minutes`: how many ran in each, and how many of
    these failed, which hang below the line.
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
    """Draw the lane of jobs that run once: 192 columns over the axis. `ran`, `planned`: how many in each column; the
    one has 0 ahead, the other 0 in the past.
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
