"""Two hours as a strip: a bar a minute, an hour back and an hour ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from workkit.contract.history import Bucket, Cell
from workkit.text.glance import bare_clock, clock_at
from workkit.web.drawing.shape import Drawing, Paths, Tick

MINUTE = timedelta(minutes=1)
REACH = 60  # minutes back, and as many ahead
STEP, BAR = 8, 6
LINE, HEIGHT = 72, 92  # bars stand on the one; what failed hangs below
ROOM, MOST_UNIT = 66.0, 3.4  # px that the highest bar may take, and px of one run where there are few
FAIL_FROM, FAIL_ROOM, FAIL_UNIT = 75, 13.0, 4.0
LEAST = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip(Drawing):
    """The strip. `start` is the minute of the first bar, `step` px lie between two, `here` is now."""

    ran: int
    planned: int
    start: datetime
    here: float
    ticks: tuple[Tick, ...]
    step: int = STEP


def strip(past: Iterable[Bucket], planned: Sequence[int], *, now: datetime, zone: tzinfo) -> Strip:
    """Draw the minutes around `now`. `past`: cells of minutes, in any order, also older ones; `planned`: how many runs
    each minute has ahead, the first for the rest of this minute.

    Heights are linear. What started late stands on the bar of its minute, what failed hangs below the line.
    """
    minute = now.replace(second=0, microsecond=0)
    start = minute - REACH * MINUTE
    columns = [(round((bucket.start - start) / MINUTE), bucket.cell) for bucket in past if bucket.cell.runs]
    cells = [(k, cell) for k, cell in columns if 0 <= k <= REACH]
    plan = [(REACH + k, count) for k, count in enumerate(planned[: REACH + 1]) if count > 0]
    paths = _paths(cells, plan)
    ran = sum(cell.runs for _, cell in cells)
    ticks = tuple(
        Tick(x=k * STEP, text=bare_clock((start + k * MINUTE).astimezone(zone)), kind="here" if k == REACH else "")
        for k in range(0, 2 * REACH + 1, 20)
    )
    return Strip(
        width=2 * REACH * STEP + BAR,
        height=HEIGHT,
        paths=paths,
        label=_label(cells, plan, start=start, zone=zone),
        ran=ran,
        planned=sum(count for _, count in plan),
        start=start,
        here=round(REACH * STEP + (now - minute) / MINUTE * STEP, 1),
        ticks=ticks,
    )


def _parts(cell: Cell) -> tuple[int, int, int]:
    """Split the runs of a minute: at their time, late, failed."""
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
    unit = min(MOST_UNIT, ROOM / highest)
    fail_unit = min(FAIL_UNIT, FAIL_ROOM / max([1, *(failed for *_, failed in past)]))
    paths = Paths()
    for k, plain, late, failed in past:
        x, height = k * STEP, _height(plain, unit)
        if plain:
            paths.rect("d", x, LINE - height, BAR, height)
        if late:
            top = LINE - height - (1.5 if plain else 0)
            paths.rect("l", x, top - _height(late, unit), BAR, _height(late, unit))
        if failed:
            paths.rect("f", x, FAIL_FROM, BAR, 4 + failed * fail_unit)
    for k, count in ahead:
        stands = LINE - (now_height * unit + 3 if k == REACH and now_height else 0)
        height = _height(count, unit)
        paths.rect("p", k * STEP + 0.5, stands - height, BAR - 1, height)
    return dict(paths.done())


def _height(count: int, unit: float) -> float:
    return max(LEAST, count * unit) if count else 0.0


def _label(cells: Sequence[tuple[int, Cell]], plan: Sequence[tuple[int, int]], *, start: datetime, zone: tzinfo) -> str:
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
