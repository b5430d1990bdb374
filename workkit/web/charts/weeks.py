"""Five weeks ahead, a column a day: which runs stay as before, and which are new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from workkit.text.glance import brief_day
from workkit.text.listing import plural
from workkit.triggers import Trigger
from workkit.web.charts.shape import Drawing, Paths

DAYS: Final = 35
COLUMN: Final = 24
HEIGHT: Final = 56
ROWS: Final = (20, 32, 44)  # of a day's runs; more than three are drawn as three
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Weeks(Drawing):
    """The drawing, and the dates below it."""

    ticks: tuple[str, ...]


def weeks(trigger: Trigger, before: Trigger | None, *, now: datetime, zone: tzinfo) -> Weeks:
    """Draw on which of the next 35 days it runs: at a time of `before` as it was, at another one as new."""
    paths, today, busy, fresh = Paths(), now.astimezone(zone).date(), 0, 0
    for day in range(DAYS):
        x, date = day * COLUMN, today + timedelta(days=day)
        if date.weekday() >= _SATURDAY:
            paths.rect("we", x, 0, COLUMN, HEIGHT)
        begin = max(now, datetime(date.year, date.month, date.day, tzinfo=zone) - timedelta(seconds=1))
        following = date + timedelta(days=1)
        end = datetime(following.year, following.month, following.day, tzinfo=zone)
        runs = _first(trigger, begin, end)
        stood = [] if before is None else _first(before, begin, end)
        for row, at in zip(ROWS, runs, strict=False):
            is_new = before is None or at not in stood
            paths.rect("new" if is_new else "ds", x + 4, row, 15, 7)
            fresh += is_new
        busy += bool(runs)
    label = f"It runs on {busy} of the next {plural(DAYS, 'day')}"
    if before is not None:
        label += f", {'at no new time' if not fresh else 'at new times too'}"
    ticks = tuple(brief_day(today + timedelta(days=min(day, DAYS - 1)), today) for day in range(0, DAYS + 1, 7))
    return Weeks(width=DAYS * COLUMN, height=HEIGHT, paths=paths.done(), ticks=ticks, label=f"{label}.")


def _first(trigger: Trigger, begin: datetime, end: datetime) -> Sequence[datetime]:
    found: list[datetime] = []
    at: datetime | None = begin
    while at is not None and len(found) < len(ROWS):
        at = trigger.next_after(at)
        if at is None or at >= end:
            break
        found.append(at)
    return found
