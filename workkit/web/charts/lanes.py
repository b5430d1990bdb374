"""Lanes of the Timeline: bars for runs, outlines for planned ones, fields for pauses; over 90 days, a cell per day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from workkit.contract.history import ENDINGS, NO_RUN, Day, PastRun
from workkit.text.glance import moment
from workkit.text.wording import clock_text, duration_text, plural, short_date_text
from workkit.triggers.zone import ClockChange
from workkit.web.charts.axis import PX, WIDTH, Axis
from workkit.web.charts.bars import KINDS, STATES, WORDS, Drawing, Kind, Mark, Paths, kind_of, rect, tally
from workkit.web.words import city

HEIGHT = 30
SHORTEST = 1.2 * PX  # units; least width of a run
CLOSE = 3 * PX  # units; runs closer than this become one band
ROOM = 4 * PX  # units; a planned run this wide is an outline, a narrower one a tick
MOST_MARKS = 200  # marks of a lane with their own text; further ones share a path


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedField:
    """A pause, as a grey field."""

    x: float
    width: float
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dotted:
    """A change of the clock, as a dotted line."""

    x: float
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane(Drawing):
    """A lane, 30 units high."""

    pauses: tuple[PausedField, ...]
    clocks: tuple[Dotted, ...]


def lane(
    axis: Axis,
    name: str,
    words: str,
    *,
    past: Iterable[PastRun],
    planned: Iterable[datetime] = (),
    planned_runs: int | None = None,
    usual_ms: float = 0.0,
    running: Iterable[datetime] = (),
    pauses: Iterable[tuple[datetime, datetime | None, str | None]] = (),
    clocks: Iterable[ClockChange] = (),
) -> Lane:
    """Draw one lane.

    `past`: single runs, in any order; `planned`: instants to come, in order; `planned_runs`: the number of planned
    runs, where `planned` has only some of dense ones; `usual_ms`: the median duration; `running`: when runs in progress
    began; `pauses`: start, end (None: open) and reason. Parts beyond the axis are cut or left out. Planned runs within
    a pause are left out.
    """
    seen = sorted((run for run in past if _is_shown(axis, run)), key=_began)
    paused = [pause for pause in pauses if _overlaps(axis, pause[0], pause[1])]
    due = [at for at in planned if axis.start <= at <= axis.end]
    if paused:
        due = [at for at in due if not _is_paused(at, paused)]
    paths = Paths()
    _plan(paths, axis, due, usual_ms)
    _past(paths, axis, seen)
    for began in running:
        x = axis.clipped(began)
        paths.rect("r", x, 8, max(SHORTEST, axis.here - x), 14)
    marks = list(_marks(axis, seen))
    for mark in marks[MOST_MARKS:]:
        paths.add(mark.kind, mark.data)
    fields = tuple(_field(axis, *pause) for pause in paused)
    return Lane(
        width=WIDTH,
        height=HEIGHT,
        label=_label(name, words, seen, len(due) if planned_runs is None else planned_runs, fields),
        paths=paths.done(),
        marks=tuple(marks[:MOST_MARKS]),
        pauses=fields,
        clocks=tuple(_dotted(axis, change) for change in clocks if axis.start <= change.at <= axis.end),
    )


def _began(run: PastRun) -> datetime:
    return run.due if run.ending in NO_RUN else run.due + timedelta(milliseconds=run.late_ms)


def _ended(run: PastRun) -> datetime:
    return run.due if run.ending in NO_RUN else max(_began(run), run.ended)


def _is_shown(axis: Axis, run: PastRun) -> bool:
    return _began(run) <= axis.end and _ended(run) >= axis.start


def _extent(axis: Axis, run: PastRun) -> tuple[float, float]:
    x = axis.clipped(_began(run))
    return x, max(SHORTEST, axis.clipped(_ended(run)) - x)


def _bands(extents: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float, int]]:
    """Merge extents that are closer than 3 px, in order of place. Yield start, width and count of each band."""
    begin = end = 0.0
    count = 0
    for x, width in extents:
        if count and x - end >= CLOSE:
            yield begin, end - begin, count
            count = 0
        if not count:
            begin, end = x, x + width
        elif x + width > end:
            end = x + width
        count += 1
    if count:
        yield begin, end - begin, count


def _past(paths: Paths, axis: Axis, seen: Sequence[PastRun]) -> None:
    """Draw the runs without their own text, and bands for those that are close."""
    quiet, late = ([run for run in seen if kind_of(run) in kinds] for kinds in (("done", "over"), ("late",)))
    for x, width, _ in _bands(_extent(axis, run) for run in late):  # lower, with a mark above them
        paths.rect("d", x, 10, width, 12)
    for x, width, count in _bands(_extent(axis, run) for run in quiet):
        if count == 1:
            paths.rect("d", x, 8, width, 14)
        else:
            paths.rect("ds", x, 10, width, 10)


def _plan(paths: Paths, axis: Axis, due: Iterable[datetime], usual_ms: float) -> None:
    start, unit = axis.start, (axis.end - axis.start) / WIDTH  # x() of thousands of instants takes longer
    usual = max(SHORTEST, timedelta(milliseconds=usual_ms) / unit)
    last = WIDTH - usual  # a run that begins later is cut at the end
    for x, width, count in _bands(
        (x, usual if x <= last else max(SHORTEST, WIDTH - x)) for x in ((at - start) / unit for at in due)
    ):
        if count > 1:
            paths.rect("p", x, 10, width, 10)
        else:
            paths.rect("p" if width >= ROOM else "pf", x, 8, width, 14)


def _marks(axis: Axis, seen: Iterable[PastRun]) -> Iterator[Mark]:
    """Draw runs that need attention, each with its text: late, failed, missed and left out. Close runs of one kind
    share a mark.
    """
    waiting: list[tuple[Kind, PastRun, float, float]] = []
    for run in seen:
        kind = kind_of(run)
        if kind in ("done", "over"):
            continue
        x, width = _extent(axis, run)
        if waiting and (kind != waiting[0][0] or x - waiting[-1][2] - waiting[-1][3] >= CLOSE):
            yield _mark(axis, waiting)
            waiting = []
        waiting.append((kind, run, x, width))
    if waiting:
        yield _mark(axis, waiting)


def _mark(axis: Axis, close: Sequence[tuple[Kind, PastRun, float, float]]) -> Mark:
    kind = close[0][0]
    x = close[0][2]
    width = max(begin + width for _, _, begin, width in close) - x
    says, run = run_text(close[0][1], axis), close[0][1].place or ""
    if len(close) > 1:
        run = ""
        last = moment(close[-1][1].due, axis.now, axis.zone)
        says = f"{len(close):,} {WORDS[kind]}, due {moment(close[0][1].due, axis.now, axis.zone)} to {last}"
    match kind:
        case "fail":
            data = rect(x - 3, 3, width + 6, 16) + rect(x - 3, 21.5, width + 6, 5)
            return Mark(kind="f", data=data, says=says, run=run)
        case "late":
            return Mark(kind="l", data=rect(x - 3, 3, width + 6, 5), says=says, run=run)
        case "miss":
            return Mark(kind="m", data=rect(x, 8, max(width, 6), 14), says=says, run=run)
        case _:
            return Mark(kind="sk", data=rect(x - 3, 22, width + 6, 3), says=says, run=run)


def run_text(run: PastRun, axis: Axis) -> str:
    """Describe a run: when it was due, when it started, how late, how long it took, where, and how it ended."""
    due = moment(run.due, axis.now, axis.zone)
    if run.ending in NO_RUN:
        return f"Due {due}: {STATES[run.ending]}"
    started = moment(_began(run), axis.now, axis.zone)
    said = [f"Due {due}", f"started {duration_text(run.late_ms)} late, {started}" if run.late_ms >= 1000 else ""]
    said += [f"took {duration_text(run.took_ms)}", f"on {run.listener}" if run.listener else "", STATES[run.ending]]
    return ", ".join(part for part in said if part) + (f": {run.error}" if run.error else "")


def _overlaps(axis: Axis, since: datetime, until: datetime | None) -> bool:
    return since <= axis.end and (until is None or until >= axis.start)


def _is_paused(at: datetime, pauses: Iterable[tuple[datetime, datetime | None, str | None]]) -> bool:
    return any(since <= at and (until is None or at < until) for since, until, _ in pauses)


def _field(axis: Axis, since: datetime, until: datetime | None, reason: str | None) -> PausedField:
    x = axis.clipped(since)
    end = WIDTH if until is None else axis.clipped(until)
    till = "" if until is None else f" until {moment(until, axis.now, axis.zone)}"
    says = f"Paused from {moment(since, axis.now, axis.zone)}{till}" + (f": {reason}" if reason else "")
    return PausedField(x=round(x, 1), width=round(max(SHORTEST, end - x), 1), says=says)


def _dotted(axis: Axis, change: ClockChange) -> Dotted:
    return Dotted(x=round(axis.x(change.at), 1), says=change_text(change))


def change_text(change: ClockChange) -> str:
    """Write a change of the clock: ``2:00 to 3:00, Paris``."""
    shown = (clock_text(at.hour * 3600 + at.minute * 60 + at.second) for at in (change.wall_from, change.wall_to))
    return f"{' to '.join(shown)}, {city(change.tz)}"


def _label(
    name: str,
    words: str,
    seen: Sequence[PastRun],
    due: int,
    fields: Sequence[PausedField],
) -> str:
    total = sum(run.times for run in seen if run.ending not in NO_RUN)
    kinds = [kind for run in seen if (kind := kind_of(run)) not in ("done", "over")]
    said = f"{name}: {words}. " if words and words != name else f"{name}: "
    said += f"{plural(total, 'run')}" + (f", {tally(kinds)}" if kinds else "")
    said += f"; {due:,} planned" if due else ""
    said += "".join(f". {field.says}" for field in fields)
    return f"{said}."


ONE_DAY = timedelta(days=1)
_Cell = tuple[float, float, float, float]
PART = 0.8  # share of a day's width that its cell takes


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
    """Draw a lane with a cell for each day (UTC, as in history) of the axis. `planned`: the number of runs on each
    coming day.
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
        marks=tuple(_day_marks(cells, known)),
        pauses=pauses,
        clocks=tuple(Dotted(x=round(axis.x(change.at), 1), says=change_text(change)) for change in clocks),
    )


def days_of(runs: Iterable[PastRun]) -> list[Day]:
    """Group runs by the day (UTC) on which they were due."""
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
    """Return the place of each day that the axis shows. It is the same for all lanes."""
    found: dict[date, _Cell] = {}
    start = _start(axis.start.astimezone(UTC).date())
    while start < axis.end:
        x = axis.clipped(start)
        found[start.date()] = x, 8, max(1.0, (axis.clipped(start + ONE_DAY) - x) * PART), 14
        start += ONE_DAY
    return found


def _day_marks(cells: Mapping[date, _Cell], known: Mapping[date, Day]) -> Iterator[Mark]:
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
