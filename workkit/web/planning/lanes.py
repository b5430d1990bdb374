"""The lanes of the Timeline, drawn: what ran, what is planned, pauses and changes of the clock."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Final

from workkit.contract.history import FN, Day, PastRun
from workkit.errors import Unsupported
from workkit.text.brief import brief_repr
from workkit.text.duration import epoch_ms
from workkit.triggers.clock.zone import ClockChange, clock_changes
from workkit.web.ahead.foresight import THIN, between, sparse
from workkit.web.drawing.axis import Axis
from workkit.web.drawing.days import day_lane, days_of
from workkit.web.drawing.endings import kind_of
from workkit.web.drawing.lanes import Lane, lane, run_text
from workkit.web.page import Asked
from workkit.web.planning.lane_links import Part, parts
from workkit.web.planning.past_runs import counted, runs_of_cells
from workkit.web.planning.strands import Group, Strand
from workkit.web.planning.window import tier_of
from workkit.web.words import pause_end

SECOND: Final = timedelta(seconds=1)
MOST_PLANNED: Final = 2_000  # planned runs of a lane; beyond, it is a band anyway
MOST_SHOWN: Final = 200  # runs of a lane in JSON
MOST_NOTABLE: Final = 8  # runs of a lane in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A lane with its drawing. `runs`: single runs, the last one first, masked; `planned`: when it runs next; `notes`:
    what there is to say of the last runs that were late, failed, missed or left out; `parts`: the links to its runs.
    """

    name: str
    words: str
    path: str
    drawing: Lane
    runs: tuple[PastRun, ...] = field(default=(), repr=False)
    planned: tuple[datetime, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    __repr__ = brief_repr

    @property
    def summary(self) -> str:
        """What the drawing says, without the name."""
        return self.drawing.label.removeprefix(f"{self.name}: ").removeprefix(f"{self.words}. ")


def draw(asked: Asked, axis: Axis, strand: Strand, paused_since: Mapping[str, datetime], *, by: Group) -> Drawn:
    """Draw one lane."""
    planned = _planned(axis, strand)
    runs = [asked.veil.run(run) for run in strand.runs if axis.start <= run.ended and run.due <= axis.end]
    drawing: Lane
    if axis.span == "90d":
        drawing = day_lane(
            axis, strand.name, strand.words, days=_days(asked, axis, strand),
            planned=Counter(at.astimezone(UTC).date() for at in planned.drawn), clocks=_clocks(axis, strand),
        )  # fmt: skip
    else:
        drawing = lane(
            axis,
            strand.name,
            strand.words,
            past=[*runs, *_counts(asked, axis, strand)],
            planned=planned.drawn,
            planned_runs=planned.count,
            usual_ms=max((row.usual_ms for row in strand.rows), default=0.0),
            running=strand.running,
            pauses=_pauses(asked, axis, strand, paused_since),
            clocks=_clocks(axis, strand),
        )
    return Drawn(
        name=strand.name,
        words=strand.words,
        path=strand.path,
        drawing=drawing,
        runs=tuple(runs[:MOST_SHOWN]),
        planned=planned.first,
        notes=tuple(run_text(run, axis) for run in islice(filter(_is_notable, runs), MOST_NOTABLE)),
        parts=parts(axis, runs, by=by, key=strand.key),
    )


def _is_notable(run: PastRun) -> bool:
    return kind_of(run) not in ("done", "over")


@dataclass(frozen=True, slots=True)
class _Planned:
    """The planned runs of a lane: those that are drawn, how many there are, and the first ones."""

    drawn: list[datetime]
    count: int
    first: tuple[datetime, ...]


def _planned(axis: Axis, strand: Strand) -> _Planned:
    """Predict the runs of a lane, thinned where they are dense, and count them. During a pause there is none."""
    since, step = max(axis.now, axis.start), (axis.end - axis.start) / THIN
    drawn: list[Sequence[datetime]] = []
    firsts: list[Sequence[datetime]] = []
    count, room = 0.0, MOST_PLANNED
    for row in strand.rows if since < axis.end else ():
        if room <= 0:
            break
        begin = since if row.pause is None else max(since, pause_end(row.pause) or axis.end)
        foreseen = row.foreseen(since, axis.end)
        firsts.append(_since(foreseen.instants, begin)[:MOST_SHOWN])
        for instants, stands_for in sparse(foreseen, axis.end, step=step):
            kept = _since(instants, begin)
            drawn.append(kept)
            room -= len(kept)
            count += 0 if foreseen.is_whole else len(kept) * stands_for
        if foreseen.is_whole:
            count += between(foreseen, begin, axis.end + SECOND)
    return _Planned(_in_order(drawn), round(count), tuple(_in_order(firsts)[:MOST_SHOWN]))


def _in_order(found: Sequence[Sequence[datetime]]) -> list[datetime]:
    return sorted(chain.from_iterable(found))


def _since(instants: Sequence[datetime], begin: datetime) -> Sequence[datetime]:
    return instants[bisect_left(instants, begin) :]


def _counts(asked: Asked, axis: Axis, strand: Strand) -> list[PastRun]:
    """Read counts for the part of a window of which single runs are no longer known."""
    if not strand.subject or strand.known_since is None:
        return []
    return counted(asked, axis, strand.subject, strand.known_since)


def _days(asked: Asked, axis: Axis, strand: Strand) -> Sequence[Day]:
    """Read the days of a job; of a function, its counts by day; of a listener, what single runs tell."""
    inspector = asked.served.inspector()
    try:
        if strand.subject.startswith(FN):
            cells = inspector.history.past(
                strand.subject,
                since_ms=epoch_ms(axis.start),
                until_ms=epoch_ms(min(axis.now, axis.end)) + 1,
                tier=tier_of(axis),
            )
            return days_of(runs_of_cells(cells))
        if strand.rows:
            return strand.rows[0].days(lambda: inspector.history.days(strand.key))
    except Unsupported:
        return []
    return days_of(strand.runs)


def _clocks(axis: Axis, strand: Strand) -> list[ClockChange]:
    zones = {row.trigger.tz for row in strand.rows} - {"UTC"}
    return [change for tz in sorted(zones) for change in clock_changes(tz, axis.start, axis.end)]


def _pauses(
    asked: Asked, axis: Axis, strand: Strand, paused_since: Mapping[str, datetime]
) -> list[tuple[datetime, datetime | None, str | None]]:
    """Give the pause of a lane's jobs, where all of them have one: from when it is known, else from now on."""
    found = {row.paused_by: row.pause for row in strand.rows}
    if len(found) != 1:
        return []
    ((target, pause),) = found.items()
    if target is None or pause is None:
        return []
    reason = None if pause.reason is None else asked.veil.text(pause.reason)
    return [(paused_since.get(target, axis.now), pause_end(pause), reason)]
