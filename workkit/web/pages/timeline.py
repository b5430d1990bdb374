"""The page Timeline: past and future runs, overlaps, and times of high load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final, cast

from workkit.contract.history import NO_RUN, Bucket
from workkit.contract.record import run_record
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.text.cells import brief_repr
from workkit.text.glance import moment
from workkit.text.wording import epoch_ms, iso
from workkit.verbs.opening import by_time_of
from workkit.web.charts.axis import PIECES, SPANS, WORDS, Axis, Label, Span, above, lines, one_time_lane
from workkit.web.charts.bars import Drawing
from workkit.web.charts.load import Load, expected, load
from workkit.web.forecast import Planned, Remark, forecast, nothing
from workkit.web.page import Asked, Page
from workkit.web.pages.lanes import (
    GROUPS,
    DrawnLane,
    GroupBy,
    LaneSource,
    draw,
    lanes_of_page,
    of_functions,
    of_jobs,
    of_listeners,
    rows_chosen,
)
from workkit.web.pages.planned_jobs import PlannedJob, read_planned_jobs
from workkit.web.pages.trouble import crowded, one_time_crowds
from workkit.web.pages.window import (
    ACCEPTED_SPANS,
    Happened,
    Links,
    Seen,
    links,
    local_text,
    read_axis,
    read_cells,
    read_happened,
    read_seen,
    timeline_path,
)
from workkit.web.predictions import THIN, between, sparse
from workkit.web.words import pause_end

NOUNS: Final[dict[GroupBy, str]] = {"job": "recurring job", "fn": "function", "listener": "listener"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """The content of the page. `total`: the number of lanes without the filter; `once`: the lane of jobs that run once,
    which is the last one; `more`: the address of further lanes; `paused`: jobs with a pause of their own.
    """

    schedule: str
    now: datetime
    axis: Axis
    by: GroupBy
    q: str
    links: Links
    load: Load
    threads: int
    lanes: tuple[DrawnLane, ...]
    total: int
    once: Once | None
    happened: tuple[Happened, ...]
    labels: tuple[Label, ...]
    lines: tuple[float, ...]
    ahead: tuple[tuple[Remark, str], ...]
    paused: frozenset[str]
    is_paused: bool
    is_part: str
    after: str
    more: str
    unknown: Mapping[str, str]

    @property
    def title(self) -> str:
        """The sentence that describes the page."""
        words = WORDS[self.axis.span]
        middle = self.axis.start + (self.axis.end - self.axis.start) / 2
        if middle == self.now:
            return f"Timeline of {self.schedule}, {words} back and {words} ahead"
        at = moment(middle.replace(microsecond=0), self.now, self.axis.zone)
        return f"Timeline of {self.schedule}, {words} before and {words} after {at}"

    @property
    def span_words(self) -> str:
        """How far the sentences look ahead."""
        return WORDS[self.axis.span]

    @property
    def nothing_ahead(self) -> str:
        """The sentence for a span without remarks."""
        if self.is_paused:
            return f"{self.schedule} is paused: nothing starts until it is resumed."
        return nothing(WORDS[self.axis.span])

    @property
    def empty(self) -> str:
        """Why there is no lane."""
        if self.q:
            return f'No {NOUNS[self.by]} matches "{self.q}".'
        return {"job": "No job recurs.", "fn": "No function ran, and none is planned.", "listener": "Nobody listens."}[
            self.by
        ]

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "span": self.axis.span,
            "from": iso(self.axis.start),
            "to": iso(self.axis.end),
            "by": self.by,
            "lanes": [
                {
                    "name": one.name,
                    "words": one.words,
                    "runs": [run_record(run) for run in one.runs],
                    "planned": [iso(at) for at in one.planned],
                    "says": one.drawing.label,
                }
                for one in self.lanes
            ],
            "total": self.total,
            "load": self.load.label,
            "one_time": None if self.once is None else self.once.lane.label,
            "marks": [one.record() for one in self.happened],
            "ahead": [
                {"at": iso(one.at), "kind": one.kind, "says": one.says, "names": list(one.names)}
                for one, _ in self.ahead
            ],
            "next": self.after or None,
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> TimelineView:
    """Read a window of time. Raises InvalidOptions, PhraseError, CronError for an invalid address."""
    by = cast(GroupBy, asked.one_of("by", GROUPS))
    span = cast(Span, asked.one_of("span", ACCEPTED_SPANS))
    axis = read_axis(asked.params, span, now=asked.now, zone=asked.zone, typed_zone=asked.served.zone)
    q, at = (asked.params.get(name, "").strip() for name in ("q", "at"))
    unknown = dict(asked.pulse.unknown)
    found = read_planned_jobs(asked.served, asked.pulse.control, unknown, now=asked.now)
    seen = Seen() if by == "job" and axis.span == "90d" else read_seen(asked, axis, unknown)
    shown, following, total = _lanes(asked, by, q, found, seen, axis)
    threads = sum(info.threads for info in asked.pulse.listeners)
    seconds, stays = asked.served.spans(len(found), seconds=PAGE.every_s)
    ahead = asked.served.fresh(
        f"timeline {axis.span} {at} {asked.zone}",
        lambda: read_coming(asked, axis, found),
        seconds=seconds, stays=stays, given=(asked.pulse.control, threads, len(found)),
    )  # fmt: skip
    unknown |= ahead.unknown
    happened = tuple(read_happened(asked, axis.start, axis.end, unknown))
    return TimelineView(
        schedule=asked.served.name,
        now=asked.now,
        axis=axis,
        by=by,
        q=q,
        links=links(axis, by=by, q=q, at=bool(at)),
        load=ahead.load,
        threads=threads,
        lanes=tuple(draw(asked, axis, one, ahead.paused_since, by=by) for one in shown),
        total=total,
        once=ahead.once if by == "job" and not q and not following else None,
        happened=happened,
        labels=above(
            axis,
            [(one.at, one.mark, one.says) for one in ahead.remarks],
            [(one.at, one.says, one.sentence) for one in sorted(happened, key=lambda one: one.kind != "mark")],
        ),
        lines=lines(axis, (one.at for one in happened)),
        ahead=tuple((one, timeline_path(span="2h", at=local_text(one.at, asked.zone))) for one in ahead.remarks),
        paused=found.paused,
        is_paused=is_stopped(asked),
        is_part=_part(ahead.looked, len(found)),
        after=following,
        more=timeline_path(span=axis.span, at=at, by=by, q=q, after=following) if following else "",
        unknown=unknown,
    )


def _part(looked: int, of: int) -> str:
    return f"Of {of:,} recurring jobs, {looked:,} were looked at." if looked < of else ""


def _lanes(
    asked: Asked, by: GroupBy, q: str, found: Sequence[PlannedJob], seen: Seen, axis: Axis
) -> tuple[list[LaneSource], str, int]:
    """Return the lanes of this page that match a filter, the key of the next page, and the number of all lanes."""
    listeners, after = asked.pulse.listeners, asked.params.get("after", "")
    if by == "job":
        chosen, following = lanes_of_page(rows_chosen(found, q, asked.now), after)
        return list(of_jobs(chosen, seen, axis, listeners)), following, len(found)
    every = of_functions(found, seen, listeners) if by == "fn" else of_listeners(seen, listeners)
    shown, following = lanes_of_page([one for one in every if q.casefold() in one.name.casefold()], after)
    return shown, following, len(every)


MOST_INSTANTS: Final = 20_000  # most planned runs for the sentences and the load
MOST_REMARKS: Final = 12
MOST_CHANGES: Final = 1_000


def read_pauses(asked: Asked) -> Mapping[str, datetime]:
    """Return the start of each pause, by target, as far as the last changes tell."""
    paused = asked.pulse.control.paused
    if not paused:
        return {}
    found: dict[str, datetime] = {}
    try:
        for number, change in enumerate(asked.served.inspector().history.changes()):
            if number >= MOST_CHANGES or len(found) == len(paused):
                break
            if change.verb == "pause" and change.target in paused:
                found.setdefault(change.target, change.at)
    except Unsupported:
        return {}
    return found


def looked_at(rows: Sequence[PlannedJob], axis: Axis) -> list[PlannedJob]:
    """Return the rows for the forecast: from the first one on, until they have 20,000 planned runs."""
    found: list[PlannedJob] = []
    room, now, until = MOST_INSTANTS, axis.now, axis.now + SPANS[axis.span]
    for row in rows:
        if room <= 0:
            break
        room -= 1 + len(row.predicted(now, until).instants)
        found.append(row)
    return found


def remarks(
    asked: Asked,
    rows: Iterable[PlannedJob],
    axis: Axis,
    paused_since: Mapping[str, datetime],
    crowds: Mapping[datetime, int],
) -> list[Remark]:
    """List the remarks from now on, as far ahead as the span of the axis reaches."""
    if is_stopped(asked):
        return []
    known, now, until = list(rows), asked.now, asked.now + SPANS[axis.span]
    planned = [_planned(row, now, until, paused_since) for row in known]
    return forecast(
        planned,
        now=now,
        until=until,
        zone=asked.zone,
        threads=sum(info.threads for info in asked.pulse.listeners),
        one_time=one_time_crowds(crowds, known, now),
    )[:MOST_REMARKS]


def is_stopped(asked: Asked) -> bool:
    """Return whether the whole schedule is paused, without an end."""
    paused = asked.pulse.control.paused.get(SCHEDULE)
    return paused is not None and pause_end(paused) is None


def _planned(row: PlannedJob, now: datetime, until: datetime, paused_since: Mapping[str, datetime]) -> Planned:
    """Return the facts for the forecast. A pause of the whole schedule has its own remark, so its jobs have none."""
    return replace(
        row.planned(now, until),
        is_paused=row.pause is not None and row.paused_by != SCHEDULE,
        paused_since=paused_since.get(row.paused_by or ""),
    )


def read_load(asked: Asked, axis: Axis, rows: Iterable[PlannedJob], cells: Sequence[Bucket]) -> Load:
    """Draw the past and the expected number of busy threads."""
    since, step = max(axis.now, axis.start), (axis.end - axis.start) / THIN
    plans: list[tuple[Sequence[datetime], float]] = []
    for row in rows if since < axis.end else ():
        if row.pause is not None and (pause_end(row.pause) or axis.end) >= axis.end:
            continue
        parts = sparse(row.predicted(since, axis.end), axis.end, step=step)
        plans += [(instants, row.usual_ms * stands_for) for instants, stands_for in parts]
    threads = sum(info.threads for info in asked.pulse.listeners)
    return load(axis, cells, expected(plans, now=since, until=axis.end), threads=threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """The future, made of the first `looked` rows; `unknown`: the parts unknown to the layout, with the reason."""

    looked: int
    once: Once
    load: Load
    remarks: Sequence[Remark]
    paused_since: Mapping[str, datetime]
    unknown: Mapping[str, str]

    __repr__ = brief_repr


def read_coming(asked: Asked, axis: Axis, rows: Sequence[PlannedJob]) -> Coming:
    """Read the future. It is slow where many jobs recur."""
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
    """The jobs that run once: their lane, and the seconds with many waiting jobs of any kind."""

    lane: Drawing
    waiting: int
    crowds: Mapping[datetime, int] = field(default_factory=dict)

    __repr__ = brief_repr


def read_once(
    asked: Asked, axis: Axis, rows: Sequence[PlannedJob], cells: Iterable[Bucket], unknown: dict[str, str]
) -> Once:
    """Count the jobs that run once: future ones by their time; past ones as all runs except those of recurring jobs."""
    length = (axis.end - axis.start) / PIECES
    planned = [0] * PIECES
    crowds: Mapping[datetime, int] = {}
    first = max(0, (axis.now - axis.start) // length)
    if first < PIECES:
        starts = [axis.start + k * length for k in range(first, PIECES + 1)]
        edges = [epoch_ms(axis.now) if at <= axis.now else epoch_ms(at.replace(microsecond=0)) for at in starts]
        try:
            by_time = by_time_of(asked.served.s)
            counts = by_time.ahead(edges)
            crowds = crowded(by_time.ahead, edges, counts)
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


def _ran(axis: Axis, rows: Iterable[PlannedJob], cells: Iterable[Bucket], length: timedelta) -> list[int]:
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


def _recurred(row: PlannedJob, axis: Axis) -> Iterable[tuple[datetime, int]]:
    """Return the runs of a recurring job: those of its ring, and for the time before the ring the due ones."""
    runs = [run for run in row.runs if run.ending not in NO_RUN]
    if len(row.runs) >= 60 and row.runs[-1].due > axis.start and axis.start < axis.now:
        due = row.predicted(axis.start, min(axis.now, axis.end))
        known = between(due, axis.start, row.runs[-1].due)
        yield from ((at, 1) for at in due.instants[:known])
    yield from ((run.ended, 1) for run in runs)


def _column(axis: Axis, at: datetime, length: timedelta) -> int | None:
    k = (at - axis.start) // length
    return k if 0 <= k < PIECES else None


PAGE = Page(
    name="timeline", path="timeline", title="Timeline", template="timeline.html", look=look, icon="line", key="t",
    every_s=30.0,
)  # fmt: skip
