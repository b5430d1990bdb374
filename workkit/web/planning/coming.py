"""What lies ahead of a schedule: how busy it will be, the jobs that run once, and the sentences about both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from workkit.contract.changes import Change
from workkit.contract.history import NO_RUN, Bucket
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.text.brief import brief_repr
from workkit.text.duration import epoch_ms
from workkit.web.ahead.foresight import THIN, between, sparse
from workkit.web.ahead.remarks import Planned, Remark, ahead
from workkit.web.drawing.axis import SPANS, Axis
from workkit.web.drawing.columns import PIECES, one_time_lane
from workkit.web.drawing.load import Load, expected, load
from workkit.web.drawing.shape import Drawing
from workkit.web.page import Asked
from workkit.web.planning.crowds import crowded
from workkit.web.planning.past_runs import read_cells
from workkit.web.planning.recurring import Row
from workkit.web.planning.trouble import one_time_crowds
from workkit.web.words import pause_end

MOST_INSTANTS: Final = 20_000  # planned runs that the sentences and the load look at
MOST_REMARKS: Final = 12
MOST_CHANGES: Final = 1_000


def read_pauses(asked: Asked) -> Mapping[str, datetime]:
    """Say since when what is paused is paused, by target, as far as the last changes tell."""
    paused = asked.pulse.control.paused
    if not paused:
        return {}
    found: dict[str, datetime] = {}
    try:
        for number, change in enumerate(asked.served.inspector().history.changes()):
            if number >= MOST_CHANGES or len(found) == len(paused):
                break
            if _pauses(change) and change.target in paused:
                found.setdefault(change.target, change.at)
    except Unsupported:
        return {}
    return found


def _pauses(change: Change) -> bool:
    return change.verb == "pause"


def looked_at(rows: Sequence[Row], axis: Axis) -> list[Row]:
    """Choose the rows whose planned runs are looked at: from the first one on, until there are 20,000 runs."""
    found: list[Row] = []
    room, now, until = MOST_INSTANTS, axis.now, axis.now + SPANS[axis.span]
    for row in rows:
        if room <= 0:
            break
        room -= 1 + len(row.foreseen(now, until).instants)
        found.append(row)
    return found


def remarks(
    asked: Asked, rows: Iterable[Row], axis: Axis, paused_since: Mapping[str, datetime], crowds: Mapping[datetime, int]
) -> list[Remark]:
    """Find what is worth a sentence from now on, as far ahead as the span of the axis reaches."""
    if is_stopped(asked):
        return []
    known, now, until = list(rows), asked.now, asked.now + SPANS[axis.span]
    planned = [_planned(row, now, until, paused_since) for row in known]
    return ahead(
        planned,
        now=now,
        until=until,
        zone=asked.zone,
        threads=sum(info.threads for info in asked.pulse.listeners),
        one_time=one_time_crowds(crowds, known, now),
    )[:MOST_REMARKS]


def is_stopped(asked: Asked) -> bool:
    """Say whether the whole schedule is paused, without an end."""
    paused = asked.pulse.control.paused.get(SCHEDULE)
    return paused is not None and pause_end(paused) is None


def _planned(row: Row, now: datetime, until: datetime, paused_since: Mapping[str, datetime]) -> Planned:
    """A pause of the whole schedule is told by itself, not for each of its jobs."""
    return replace(
        row.planned(now, until),
        is_paused=row.pause is not None and row.paused_by != SCHEDULE,
        paused_since=paused_since.get(row.paused_by or ""),
    )


def read_load(asked: Asked, axis: Axis, rows: Iterable[Row], cells: Sequence[Bucket]) -> Load:
    """Draw how many threads were busy, and are expected to be."""
    since, step = max(axis.now, axis.start), (axis.end - axis.start) / THIN
    plans: list[tuple[Sequence[datetime], float]] = []
    for row in rows if since < axis.end else ():
        if row.pause is not None and (pause_end(row.pause) or axis.end) >= axis.end:
            continue
        parts = sparse(row.foreseen(since, axis.end), axis.end, step=step)
        plans += [(instants, row.usual_ms * stands_for) for instants, stands_for in parts]
    threads = sum(info.threads for info in asked.pulse.listeners)
    return load(axis, cells, expected(plans, now=since, until=axis.end), threads=threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """What lies ahead, made of so many rows as were `looked` at; `unknown`: what the layout does not tell, and why."""

    looked: int
    once: Once
    load: Load
    remarks: Sequence[Remark]
    paused_since: Mapping[str, datetime]
    unknown: Mapping[str, str]

    __repr__ = brief_repr


def read_coming(asked: Asked, axis: Axis, rows: Sequence[Row]) -> Coming:
    """Read all of it. It takes a while where many jobs recur."""
    unknown: dict[str, str] = {}
    cells, looked, paused_since = read_cells(asked, axis, unknown), looked_at(rows, axis), read_pauses(asked)
    once = read_once(asked, axis, looked, cells, unknown)
    return Coming(
        looked=len(looked),
        once=once,
        load=read_load(asked, axis, looked, cells),
        remarks=remarks(asked, looked, axis, paused_since, once.crowds),
        paused_since=paused_since,
        unknown=unknown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The jobs that run once: their lane, and the seconds for which many jobs wait, whatever they are."""

    lane: Drawing
    waiting: int
    crowds: Mapping[datetime, int] = field(default_factory=dict)

    __repr__ = brief_repr


def read_once(asked: Asked, axis: Axis, rows: Sequence[Row], cells: Iterable[Bucket], unknown: dict[str, str]) -> Once:
    """Count the jobs that run once: those to come by their time, and those that ran as what is left of all runs when
    the recurring ones are taken out.
    """
    length = (axis.end - axis.start) / PIECES
    planned = [0] * PIECES
    crowds: Mapping[datetime, int] = {}
    first = max(0, (axis.now - axis.start) // length)
    if first < PIECES:
        starts = [axis.start + k * length for k in range(first, PIECES + 1)]
        edges = [epoch_ms(axis.now) if at <= axis.now else epoch_ms(at.replace(microsecond=0)) for at in starts]
        try:
            inspector = asked.served.inspector()
            counts = inspector.ahead(edges)
            crowds = crowded(inspector.ahead, edges, counts)
            for k, n in enumerate(counts):
                planned[first + k] = n
        except Unsupported as error:
            unknown["ahead"] = str(error)
    for row in rows:
        following = row.next(axis.now)
        place = None if following is None else _column(axis, following, length)
        if place is not None:
            planned[place] = max(0, planned[place] - 1)
    standing = asked.pulse.counts
    waiting = max(0, standing.waiting + standing.due - len(rows))
    ran = _ran(axis, rows, cells, length)
    return Once(lane=one_time_lane(axis, ran, planned, waiting=waiting), waiting=waiting, crowds=crowds)


def _ran(axis: Axis, rows: Iterable[Row], cells: Iterable[Bucket], length: timedelta) -> list[int]:
    left = [0.0] * PIECES
    for bucket in cells:
        begin, end = (bucket.start - axis.start) / length, (min(bucket.end, axis.now) - axis.start) / length
        for k in range(max(0, int(begin)), min(PIECES, ceil(end))):
            left[k] += bucket.cell.runs * max(0.0, min(k + 1, end) - max(k, begin)) / max(end - begin, 1e-9)
    for row in rows:
        for at, n in _recurred(row, axis):
            if (place := _column(axis, at, length)) is not None:
                left[place] -= n
    return [max(0, round(n)) for n in left]


def _recurred(row: Row, axis: Axis) -> Iterable[tuple[datetime, int]]:
    """Give the runs of a recurring job: those of its ring, and before these the ones that were due."""
    runs = [run for run in row.runs if run.ending not in NO_RUN]
    if len(row.runs) >= 60 and row.runs[-1].due > axis.start and axis.start < axis.now:
        due = row.foreseen(axis.start, min(axis.now, axis.end))
        known = between(due, axis.start, row.runs[-1].due)
        yield from ((at, 1) for at in due.instants[:known])
    yield from ((run.ended, 1) for run in runs)


def _column(axis: Axis, at: datetime, length: timedelta) -> int | None:
    k = (at - axis.start) // length
    return k if 0 <= k < PIECES else None
