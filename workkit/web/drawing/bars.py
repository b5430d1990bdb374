"""The last 60 runs of a recurring job as bars: height is the time taken, on a log scale between its own bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from math import log

from workkit.contract.history import NO_RUN, PastRun
from workkit.text.duration import duration_text
from workkit.text.glance import bare_clock, brief_day
from workkit.text.listing import plural
from workkit.web.drawing.endings import kind_of, tally
from workkit.web.drawing.shape import Drawing, Paths

SLOTS, STEP, BAR, HEIGHT = 60, 5, 4, 24
LOWEST, RISE = 5.0, 13.0  # px of the shortest run, and how much higher the longest one is
FLAT = 1.15  # runs that differ by less than that all have half the height
TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Drawing):
    """The bars. `ticks`: five texts below the wide form, evenly spread, "" where no run is."""

    ticks: tuple[str, ...] = ()


def bars(
    runs: Iterable[PastRun], *, now: datetime, zone: tzinfo, running: bool = False, running_ms: float = 0.0
) -> Bars:
    """Draw the last runs of a job, given the last one first, as `Inspector.lately` reads them. `running`: a bar for the
    run in progress follows, which has taken `running_ms` so far.
    """
    room = SLOTS - running
    shown = [run for _, run in zip(range(room), runs, strict=False)][::-1]
    took = [run.took_ms for run in shown if run.ending not in NO_RUN]
    scale = _Scale(took)
    paths = Paths()
    for slot in range(room - len(shown)):
        paths.rect("ds", slot * STEP, HEIGHT - 1, BAR, 1)
    for slot, run in enumerate(shown, room - len(shown)):
        _draw(paths, slot * STEP, run, scale)
    if running:
        height = scale.height(running_ms)
        paths.rect("r pulse", room * STEP, HEIGHT - height, BAR, height)
    label = _label(shown, took, running=running)
    ticks = _ticks(shown, room - len(shown), now=now, zone=zone)
    return Bars(width=SLOTS * STEP - 1, height=HEIGHT, paths=paths.done(), label=label, ticks=ticks)


class _Scale:
    def __init__(self, took: Sequence[float]) -> None:
        known = [max(1.0, ms) for ms in took]
        self.low, self.high = min(known, default=1.0), max(known, default=1.0)

    def height(self, ms: float) -> float:
        if self.high / self.low < FLAT:
            return round(LOWEST + RISE / 2, 1)
        part = log(max(1.0, ms) / self.low) / log(self.high / self.low)
        return round(LOWEST + RISE * min(1.0, max(0.0, part)), 1)


def _draw(paths: Paths, x: int, run: PastRun, scale: _Scale) -> None:
    kind, height = kind_of(run), scale.height(run.took_ms)
    match kind:
        case "fail":  # an exclamation mark
            height = max(height - 2, 7)
            paths.rect("f", x, 18.5 - height, BAR, height)
            paths.rect("f", x, 20, BAR, 4)
        case "miss":
            paths.rect("m", x + 0.5, 13.5, BAR - 1, 10)
        case "left":
            paths.rect("sk", x, 22, BAR, 2)
        case "over":
            paths.rect("ds", x, HEIGHT - height, BAR, height)
        case "done" | "late":
            paths.rect("d", x, HEIGHT - height, BAR, height)
            if kind == "late":  # a bar that something stands on
                paths.rect("l", x, HEIGHT - height - 4.5, BAR, 3.5)


def _label(shown: Sequence[PastRun], took: Sequence[int], *, running: bool) -> str:
    now = "One runs now." if running else ""
    if not shown:
        return now or "Has not run yet."
    said = f"Last {plural(len(shown), 'run')}: {tally(map(kind_of, shown))}"
    if took:
        low, high = duration_text(min(took)), duration_text(max(took))
        said += f"; took {low}" if low == high else f"; took {low} to {high}"
    return f"{said}. {now}".rstrip()


def _ticks(shown: Sequence[PastRun], first: int, *, now: datetime, zone: tzinfo) -> tuple[str, ...]:
    """Name the days at five places, or the times of day where all lie on one day."""
    places = [round(k * (SLOTS - 1) / (TICKS - 1)) - first for k in range(TICKS)]
    dues = [shown[min(k, len(shown) - 1)].due.astimezone(zone) if k >= 0 and shown else None for k in places]
    days: set[date] = {run.due.astimezone(zone).date() for run in shown}
    today = now.astimezone(zone).date()
    if len(days) == 1:
        return tuple("" if due is None else bare_clock(due) for due in dues)
    return tuple("" if due is None else brief_day(due.date(), today) for due in dues)
