"""What a change of the clock does to the local times of a trigger: one is left out, or comes twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from workkit.text.calendar import full_date_text, time_text
from workkit.triggers.clock.zone import ClockChange, clock_changes, names_every_hour
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.interval import plain
from workkit.triggers.trigger import Trigger

AHEAD = timedelta(days=731)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def touched(trigger: Trigger, change: ClockChange) -> datetime | None:
    """Find the first local time of a recurring trigger that a change of its clock leaves out or shows twice, as if it
    were UTC; None where there is none. A rule that names every hour goes by elapsed time: no change touches it.
    """
    if trigger.cron is not None or trigger.tz != change.tz or not trigger.recurs:
        return None
    interval = trigger.interval
    read = (plain(rule) if interval else parse_cron(rule, stored=True, rule=True) for rule in trigger.rules)
    start, end = sorted((change.second + change.before, change.second + change.after))
    named = (cron.next(start - 1) for cron in read if not names_every_hour(cron))
    wall = min((second for second in named if second is not None and second < end), default=None)
    if wall is None or not (interval is None or interval.wall_number(wall) % interval.n == interval.phase):
        return None
    return _EPOCH + timedelta(seconds=wall)


def with_skipped(trigger: Trigger, *, after: datetime) -> Trigger:
    """Add a warning to a recurring trigger where a clock change leaves out one of its local times.

    Looks two years ahead of `after` (aware). The job runs at the end of the gap then (spec/cron.md, clock changes).
    """
    if trigger.cron is not None or trigger.tz == "UTC" or not trigger.recurs:
        return trigger
    for change in clock_changes(trigger.tz, after, after + AHEAD):
        if change.skips and (wall := touched(trigger, change)) is not None:
            return replace(trigger, warnings=(*trigger.warnings, _sentence(trigger.tz, wall, change)))
    return trigger


def _sentence(tz: str, wall: datetime, change: ClockChange) -> str:
    end = time_text(change.wall_to)
    return (
        f"{time_text(wall)} on {full_date_text(wall)} does not exist in {tz}: "
        f"clocks go from {time_text(change.wall_from)} to {end} then. It runs at {end} that day."
    )
