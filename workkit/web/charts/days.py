"""A lane of the Timeline by days: a cell a day, as in the year."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from workkit.contract.history import ENDINGS, NO_RUN, Day, PastRun
from workkit.text.calendar import short_date_text
from workkit.text.listing import plural
from workkit.triggers.clock.zone import ClockChange
from workkit.web.charts.axis import WIDTH, Axis
from workkit.web.charts.endings import KINDS, WORDS, Kind, tally
from workkit.web.charts.lanes import HEIGHT, Dotted, Lane, PausedField, change_text
from workkit.web.charts.shape import Mark, Paths, rect

ONE_DAY = timedelta(days=1)
_Cell = tuple[float, float, float, float]
PART = 0.8  # of a day's width that its cell takes


def day_lane(
    axis: Axis,
    name: str,
    words: str,
    *,
    days: Iterable[Day],
    planned: Mapping[date, int],
    pauses: tuple[PausedField, ...] = (),
    clocks: Iterable[ClockChange] = (),
) -> Lane:
    """Draw a lane with a cell for each day (UTC, as history has them) of the axis. `planned`: how many runs each coming
    day has.
    """
    cells = _cells(axis)
    known = {day.day: day for day in days if day.day in cells}
    ahead = [day for day, n in planned.items() if n and day not in known and day in cells]
    paths = Paths()
    for day in ahead:
        paths.rect("p", *cells[day])
    for day, one in known.items():
        if KINDS[one.worst] in ("done", "over"):
            paths.rect("d", *cells[day])
    kinds = [KINDS[day.worst] for day in known.values()]
    bad = [kind for kind in kinds if kind not in ("done", "over")]
    said = f"{name}: {words}. " if words and words != name else f"{name}: "
    said += f"{plural(sum(day.runs for day in known.values()), 'run')} on {plural(len(known), 'day')}"
    said += f", the worst of a day: {tally(bad)}" if bad else ""
    said += f"; planned on {plural(len(ahead), 'day')}" if ahead else ""
    return Lane(
        width=WIDTH,
        height=HEIGHT,
        label="".join([said, *(f". {field.says}" for field in pauses), "."]),
        paths=paths.done(),
        marks=tuple(_marks(cells, known)),
        pauses=pauses,
        clocks=tuple(Dotted(x=round(axis.x(change.at), 1), says=change_text(change)) for change in clocks),
    )


def days_of(runs: Iterable[PastRun]) -> list[Day]:
    """Put runs together by the day (UTC) on which they were due."""
    found: dict[date, Day] = {}
    for run in runs:
        day = run.due.astimezone(UTC).date()
        before = found.get(day, Day(day=day, runs=0, worst=run.ending))
        worst = max(before.worst, run.ending, key=ENDINGS.index)
        found[day] = Day(day=day, runs=before.runs + (0 if run.ending in NO_RUN else run.times), worst=worst)
    return [found[day] for day in sorted(found)]


def _start(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


@lru_cache(4)
def _cells(axis: Axis) -> Mapping[date, _Cell]:
    """Give the place of each day that the axis shows: the same for all lanes."""
    found: dict[date, _Cell] = {}
    start = _start(axis.start.astimezone(UTC).date())
    while start < axis.end:
        x = axis.clipped(start)
        found[start.date()] = x, 8, max(1.0, (axis.clipped(start + ONE_DAY) - x) * PART), 14
        start += ONE_DAY
    return found


def _marks(cells: Mapping[date, _Cell], known: Mapping[date, Day]) -> Iterator[Mark]:
    for day, one in sorted(known.items()):
        kind: Kind = KINDS[one.worst]
        if kind in ("done", "over"):
            continue
        x, y, width, height = cells[day]
        runs = f"{plural(one.runs, 'run')}, the worst {WORDS[kind]}" if one.runs > 1 else WORDS[kind]
        says = f"{short_date_text(day)}: {runs}"
        match kind:
            case "fail":
                yield Mark(kind="f", data=rect(x, 3, width, 16) + rect(x, 21.5, width, 5), says=says)
            case "miss":
                yield Mark(kind="m", data=rect(x, y, width, height), says=says)
            case _:
                yield Mark(kind="sk", data=rect(x, 22, width, 3), says=says)
