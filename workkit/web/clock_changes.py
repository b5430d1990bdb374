"""The changes of the clock, in words: what each does to the clocks of a zone, and to the runs of a job. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from workkit.text.calendar import MONTH_NAMES, time_text, weekday_name
from workkit.text.glance import clock_at
from workkit.text.listing import plural
from workkit.triggers import Trigger
from workkit.triggers.clock.zone import ClockChange, clock_changes
from workkit.triggers.skipped import AHEAD, touched

MOST_RUNS: Final = 5_000  # that are counted until a change


@dataclass(frozen=True, slots=True, kw_only=True)
class NextChange:
    """The next change of the clock that touches a job: its day, and the sentence about it."""

    change: ClockChange
    day: str
    says: str


def city(tz: str) -> str:
    """Name the place of a zone: ``Paris``, ``New York``."""
    return tz.rpartition("/")[2].replace("_", " ")


def moves(change: ClockChange) -> str:
    """Say how the clock changes: ``clocks go from 2:00 to 3:00``."""
    back = "" if change.skips else " back"
    return f"clocks go{back} from {time_text(change.wall_from)} to {time_text(change.wall_to)}"


def what_came(trigger: Trigger, change: ClockChange) -> str | None:
    """Say what came of a change that is past, for its day: ``02:30 did not exist; ran at 03:00``; None for nothing."""
    wall = touched(trigger, change)
    if wall is None:
        return None
    if change.skips:
        return f"{clock_at(wall)} did not exist; ran at {clock_at(change.wall_to)}"
    return f"{clock_at(wall)} came twice; ran the first time"


def next_change(trigger: Trigger, *, now: datetime) -> NextChange | None:
    """Find the next change of the clock that touches a recurring job, within two years."""
    for change in clock_changes(trigger.tz, now, now + AHEAD) if trigger.tz != "UTC" else ():
        if (wall := touched(trigger, change)) is None:
            continue
        day = f"{weekday_name(wall)[:3]} {wall.day} {MONTH_NAMES[wall.month - 1]} {wall.year}"
        count = _runs_before(trigger, now=now, change=change)
        place = f"in {city(change.tz)}"
        after = "" if count is None else f", in {plural(count, 'run')}"
        if change.skips:
            said = f"{time_text(wall)} does not exist {place}, {moves(change)}. It runs at {time_text(change.wall_to)}."
        else:
            said = f"{time_text(wall)} comes twice {place}, {moves(change)}. It runs the first time."
        return NextChange(change=change, day=day, says=f"{day}{after}: {said}")
    return None


def _runs_before(trigger: Trigger, *, now: datetime, change: ClockChange) -> int | None:
    """Count the runs up to that of the change, with it; None where there are too many to count."""
    at, until = now, change.at - timedelta(seconds=max(0, change.before - change.after))
    for count in range(MOST_RUNS):
        following = trigger.next_after(at)
        if following is None or following >= until:
            return count + (following is not None)
        at = following
    return None
