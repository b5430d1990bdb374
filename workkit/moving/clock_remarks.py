"""What differs from another scheduler where the clock of a zone changes, as comments of an entry.

workkit's own rules are those of spec/cron.md, 4: a time that a gap skips runs at its end, one that comes twice runs the
first time, and a rule that names every hour goes by elapsed time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from workkit.text.wording import full_date_text
from workkit.triggers.crons.cron import Cron
from workkit.triggers.zone import ClockChange, clock_changes, names_every_hour

LOOKED_AHEAD = timedelta(days=30 * 366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """One rule at one change of the clock: how many of its local times are skipped, or come twice; whether it also
    fires at the end of a gap; whether workkit takes it by elapsed time.
    """

    change: ClockChange
    times: int
    at_end: bool
    is_elapsed: bool


def touched_by_changes(cron: Cron, *, tz: str, now: datetime) -> list[Touched]:
    """List the changes of the zone's clock, over thirty years, that touch a time of the rule."""
    if tz == "UTC":
        return []
    found = []
    for change in clock_changes(tz, now, now + LOOKED_AHEAD):
        start, end = sorted((change.second + change.before, change.second + change.after))
        times = _count(cron, start, end)
        if times:
            at_end = cron.next(end - 1) == end
            found.append(Touched(change=change, times=times, at_end=at_end, is_elapsed=names_every_hour(cron)))
    return found


def remark(touched: Touched, trouble: str) -> str:
    """Say since when something differs: "From Sunday 28 March 2027 on, where clocks of Europe/Paris change: ..."."""
    date = full_date_text(touched.change.wall_from)
    return f"From {date} on, where clocks of {touched.change.tz} change: {trouble}."


def _count(cron: Cron, start: int, end: int) -> int:
    times, second = 0, cron.next(start - 1)
    while second is not None and second < end:
        times, second = times + 1, cron.next(second)
    return times
