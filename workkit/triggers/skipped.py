"""A warning, in advance, of a local time that a clock change leaves out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from workkit.text.calendar import full_date_text, time_text
from workkit.triggers.clock.lowering import segments
from workkit.triggers.clock.zone import names_every_hour
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.interval import plain
from workkit.triggers.trigger import Trigger

AHEAD = timedelta(days=731)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def with_skipped(trigger: Trigger, *, after: datetime) -> Trigger:
    """Add a warning to a recurring trigger where a clock change leaves out one of its local times.

    Looks two years ahead of `after` (aware). The job runs at the end of the gap then (spec/cron.md, clock changes).
    """
    if trigger.cron is not None or trigger.tz == "UTC" or not trigger.recurs:
        return trigger
    interval = trigger.interval
    read = (plain(rule) if interval else parse_cron(rule, stored=True, rule=True) for rule in trigger.rules)
    crons = [cron for cron in read if not names_every_hour(cron)]
    since, until = ((moment - _EPOCH).total_seconds() for moment in (after, after + AHEAD))
    for (_, _, before), (change, _, offset) in pairwise(segments(trigger.tz, after.year)):
        wall = _within(crons, change + before, change + offset) if since < change <= until else None
        if wall is not None and (interval is None or interval.wall_number(wall) % interval.n == interval.phase):
            return replace(trigger, warnings=(*trigger.warnings, _sentence(trigger.tz, wall, change, before, offset)))
    return trigger


def _within(crons: list[Cron], start: int, end: int) -> int | None:
    """The first local time that one of them names in a gap, if this is one (`start` before `end`)."""
    found = [wall for cron in crons if (wall := cron.next(start - 1)) is not None and wall < end]
    return min(found, default=None)


def _sentence(tz: str, wall: int, change: int, before: int, offset: int) -> str:
    named, start, end = (_EPOCH + timedelta(seconds=at) for at in (wall, change + before, change + offset))
    return (
        f"{time_text(named)} on {full_date_text(named)} does not exist in {tz}: "
        f"clocks go from {time_text(start)} to {time_text(end)} then. It runs at {time_text(end)} that day."
    )
