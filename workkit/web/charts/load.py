"""Load and lateness: busy threads over the axis of the Timeline, runs by minute around now, lateness over 24 hours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import reduce
from math import isinf, log10
from operator import add

from workkit.contract.history import LATE_MS, Bucket, Buckets, Cell, upper_ms
from workkit.text.glance import at_moment, bare_clock, bound_text, clock_at, moment
from workkit.text.wording import duration_text, listed, plural
from workkit.web.charts.axis import WIDTH, Axis
from workkit.web.charts.bars import Drawing, Mark, Paths, Tick, number

LOAD_HEIGHT, LOAD_ROOM = 48, 46
STEPS = 144  # steps of the expected load, from now to the end of the axis
MILLISECOND = timedelta(milliseconds=1)
PEAKS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Drawing):
    """The load: `past` is an area, `ahead` is a line."""

    past: str
    ahead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The expected number of busy threads from `start` up to `end`, as an average."""

    start: datetime
    end: datetime
    busy: float


def expected(plans: Iterable[tuple[Sequence[datetime], float]], *, now: datetime, until: datetime) -> list[Step]:
    """Return the expected load of planned runs. Each plan has the instants of a job and its usual duration (ms). A run
    is busy from its due time on; each step holds the average over its span.
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
    """Add to each step the share of it that a run fills."""
    begin, end = max(0.0, begin), min(float(STEPS), end)
    k = int(begin)
    while k < STEPS and k < end:
        busy[k] += max(0.0, min(k + 1.0, end) - max(float(k), begin))
        k += 1


def load(axis: Axis, past: Iterable[Bucket], ahead: Sequence[Step], *, threads: int) -> Load:
    """Draw the busy threads of the past (cells of the whole schedule) and the expected ones. `threads`: those of all
    listeners.
    """
    known = [
        (bucket.start, bucket.end, bucket.cell.busy_ms * MILLISECOND / (bucket.end - bucket.start))
        for bucket in past
        if bucket.end > axis.start and bucket.start < min(axis.now, axis.end)
    ]
    coming = [step for step in ahead if step.end > axis.start and step.start < axis.end]
    top = max([threads, 1]) if threads else max([1.0, *(busy for *_, busy in known), *(s.busy for s in coming)])

    def y(busy: float) -> str:
        return number(LOAD_ROOM - LOAD_ROOM * min(busy, top) / top)

    def x(at: datetime) -> str:
        return number(axis.clipped(at))

    area = line = ""
    if known:
        points = "".join(f"L{x(start + (end - start) / 2)} {y(busy)}" for start, end, busy in known)
        last = min(known[-1][1], axis.now)
        area = f"M{x(known[0][0])} {LOAD_ROOM}{points}L{x(last)} {y(known[-1][2])}L{x(last)} {LOAD_ROOM}Z"
    if coming:
        line = f"M{x(coming[0].start)} {y(coming[0].busy)}"
        line += "".join(f"L{x(step.start + (step.end - step.start) / 2)} {y(step.busy)}" for step in coming)
    label = _load_label(axis, [(start, busy) for start, _, busy in known], coming, threads)
    return Load(width=WIDTH, height=LOAD_HEIGHT, label=label, paths={}, past=area, ahead=line)


def _load_label(axis: Axis, past: Sequence[tuple[datetime, float]], ahead: Sequence[Step], threads: int) -> str:
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
    """Find the two highest stretches above a bound. Return the highest place of each, in order of time."""
    stretches: list[list[tuple[datetime, float]]] = [[]]
    for at, value in found:
        if value >= above:
            stretches[-1].append((at, value))
        elif stretches[-1]:
            stretches.append([])
    tops = [max(stretch, key=lambda one: one[1]) for stretch in stretches if stretch]
    return sorted(sorted(tops, key=lambda one: -one[1])[:PEAKS])


MINUTE = timedelta(minutes=1)
REACH = 60  # minutes back, and minutes ahead
MINUTE_STEP, MINUTE_BAR = 8, 6
STRIP_LINE, STRIP_HEIGHT = 72, 92  # px; bars rise from the line, failures hang below it
STRIP_ROOM, MOST_UNIT = 66.0, 3.4  # px: the highest bar, and the most for one run
FAIL_FROM, FAIL_ROOM, FAIL_UNIT = 75, 13.0, 4.0
LEAST_BAR = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip(Drawing):
    """The strip. `start` is the minute of the first bar, `step` is the distance of two bars in px, `here` is now."""

    ran: int
    planned: int
    start: datetime
    here: float
    ticks: tuple[Tick, ...]
    step: int = MINUTE_STEP


def strip(past: Iterable[Bucket], planned: Sequence[int], *, now: datetime, zone: tzinfo) -> Strip:
    """Draw the minutes around `now`. `past`: cells of minutes, in any order, with older ones allowed; `planned`: the
    number of planned runs in each minute ahead, the first value for the rest of this minute.

    Heights are linear. Late runs are drawn on top of the bar of their minute. Failures hang below the line.
    """
    minute = now.replace(second=0, microsecond=0)
    start = minute - REACH * MINUTE
    columns = [(round((bucket.start - start) / MINUTE), bucket.cell) for bucket in past if bucket.cell.runs]
    cells = [(k, cell) for k, cell in columns if 0 <= k <= REACH]
    plan = [(REACH + k, count) for k, count in enumerate(planned[: REACH + 1]) if count > 0]
    paths = _paths(cells, plan)
    ran = sum(cell.runs for _, cell in cells)
    ticks = tuple(
        Tick(
            x=k * MINUTE_STEP, text=bare_clock((start + k * MINUTE).astimezone(zone)), kind="here" if k == REACH else ""
        )
        for k in range(0, 2 * REACH + 1, 20)
    )
    return Strip(
        width=2 * REACH * MINUTE_STEP + MINUTE_BAR,
        height=STRIP_HEIGHT,
        paths=paths,
        label=_strip_label(cells, plan, start=start, zone=zone),
        ran=ran,
        planned=sum(count for _, count in plan),
        start=start,
        here=round(REACH * MINUTE_STEP + (now - minute) / MINUTE * MINUTE_STEP, 1),
        ticks=ticks,
    )


def _parts(cell: Cell) -> tuple[int, int, int]:
    """Split the runs of a minute: on time, late, failed."""
    failed = _failed(cell)
    late = min(cell.late, cell.runs - failed)
    return cell.runs - failed - late, late, failed


def _failed(cell: Cell) -> int:
    return cell.retried + cell.dead


def _paths(cells: Iterable[tuple[int, Cell]], plan: Iterable[tuple[int, int]]) -> dict[str, str]:
    past = [(k, *_parts(cell)) for k, cell in cells]
    ahead = list(plan)
    now_height = sum(plain + late for k, plain, late, _ in past if k == REACH)
    highest = max([1, *(plain + late for _, plain, late, _ in past), *(n for _, n in ahead)])
    if ahead and ahead[0][0] == REACH:
        highest = max(highest, now_height + ahead[0][1])
    unit = min(MOST_UNIT, STRIP_ROOM / highest)
    fail_unit = min(FAIL_UNIT, FAIL_ROOM / max([1, *(failed for *_, failed in past)]))
    paths = Paths()
    for k, plain, late, failed in past:
        x, height = k * MINUTE_STEP, _height(plain, unit)
        if plain:
            paths.rect("d", x, STRIP_LINE - height, MINUTE_BAR, height)
        if late:
            top = STRIP_LINE - height - (1.5 if plain else 0)
            paths.rect("l", x, top - _height(late, unit), MINUTE_BAR, _height(late, unit))
        if failed:
            paths.rect("f", x, FAIL_FROM, MINUTE_BAR, 4 + failed * fail_unit)
    for k, count in ahead:
        stands = STRIP_LINE - (now_height * unit + 3 if k == REACH and now_height else 0)
        height = _height(count, unit)
        paths.rect("p", k * MINUTE_STEP + 0.5, stands - height, MINUTE_BAR - 1, height)
    return dict(paths.done())


def _height(count: int, unit: float) -> float:
    return max(LEAST_BAR, count * unit) if count else 0.0


def _strip_label(
    cells: Sequence[tuple[int, Cell]], plan: Sequence[tuple[int, int]], *, start: datetime, zone: tzinfo
) -> str:
    def at(k: int) -> str:
        return clock_at((start + k * MINUTE).astimezone(zone))

    failed, late = sum(_failed(cell) for _, cell in cells), sum(_parts(cell)[1] for _, cell in cells)
    missed = sum(cell.missed for _, cell in cells)
    notes = [f"{failed:,} of them failed"] if failed else []
    notes += [f"{late:,} started late"] if late else []
    notes += [f"{missed:,} missed"] if missed else []
    said = f"Runs in each minute from {at(0)} to {at(2 * REACH)}. "
    said += f"{', '.join([f'{sum(cell.runs for _, cell in cells):,} ran', *notes])}. "
    if not plan:
        return said + "None is planned."
    peak, most = max(plan, key=lambda one: one[1])
    total = sum(count for _, count in plan)
    return f"{said}{total:,} {'is' if total == 1 else 'are'} planned, {most:,} of them at {at(peak)}."


QUARTERS, QUARTER = 96, timedelta(minutes=15)
QUARTER_STEP, SPARK_HEIGHT, SPARK_LINE = 3, 44, 42
TOP_MS = 2000.0  # ms; top of the scale, where no start is later
MOST_WORST = 2
LONGEST_MS = upper_ms(62)  # ms; the last bucket has no upper end


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark(Drawing):
    """The lines `half` (50 %) and `most` (95 %), and the `area` below `most`. `ticks`: three texts below; `worst`: the
    middle one, "" where no start was late. `marks`: events, as dotted lines.
    """

    half: str
    most: str
    area: str
    ticks: tuple[str, str, str]
    worst: str


def lateness_spark(
    past: Iterable[Bucket], *, now: datetime, zone: tzinfo, events: Iterable[tuple[datetime, str]] = ()
) -> Spark:
    """Draw the lateness of the last 24 hours. `past`: cells of five minutes of a schedule; `events`: possible causes of
    a change, each with its text. A quarter of an hour without a start is a gap.
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
        f"{line}L{number((run[-1] + 1) * QUARTER_STEP)} {SPARK_HEIGHT}L{number(run[0] * QUARTER_STEP)} {SPARK_HEIGHT}Z"
        for line, run in zip(lines[1], _runs(quarters), strict=True)
    )
    marks = tuple(
        Mark(kind="p dash", data=f"M{number((at - start) / QUARTER * QUARTER_STEP)} 0V{SPARK_HEIGHT}", says=says)
        for at, says in events
        if start <= at <= now
    )
    return Spark(
        width=QUARTERS * QUARTER_STEP,
        height=SPARK_HEIGHT,
        label=_spark_label(half, most, named),
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
    """Group quarters that follow one another."""
    found: list[list[int]] = []
    for k in quarters:
        if found and found[-1][-1] == k - 1:
            found[-1].append(k)
        else:
            found.append([k])
    return found


def _line(run: Sequence[int], values: dict[int, float], top: float) -> str:
    points = [(k * QUARTER_STEP, _y(values[k], top)) for k in run]
    points.append(((run[-1] + 1) * QUARTER_STEP, points[-1][1]))  # the last quarter has its full width
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def _y(ms: float, top: float) -> float:
    return SPARK_LINE - SPARK_LINE * log10(max(1.0, ms)) / log10(top)


def _spark_label(half: dict[int, float], most: dict[int, float], named: Sequence[str]) -> str:
    if not half:
        return "Lateness in the last 24 hours: nothing started."
    but = f", but for {listed(named)}" if named else ""
    return f"Lateness in the last 24 hours: half of all starts {_usual(half)}; 95 % {_usual(most)}{but}."


def _usual(values: dict[int, float]) -> str:
    known = sorted(values.values())
    low, high = (bound_text(known[round(share * (len(known) - 1))]) for share in (0.1, 0.9))
    return f"under {low}" if low == high else f"under {low} to {high}"
