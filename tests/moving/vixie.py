"""Two engines beside ours that know when a line of a crontab runs: cronsim, and a walk through the minutes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from croniter import croniter

from tests.optional import needed
from workkit.triggers.crons.grammars import NICKNAMES

TIMES = 100
WALKED = timedelta(days=16)


def by_cronsim(fields: str, base: datetime, tz: str) -> list[int] | None:
    """The next times by cronsim, which follows Debian's cron; None where it refuses the line. It is an hour off where
    clocks change by half an hour.
    """
    cronsim: Any = needed("cronsim")
    try:
        times = cronsim.CronSim(_fields(fields), base.astimezone(ZoneInfo(tz)))
        return [int(at.timestamp()) for _, at in zip(range(TIMES), times, strict=False)]
    except cronsim.CronSimError:
        return None


def by_walking(fields: str, base: datetime, tz: str) -> list[int]:
    """The runs of the next 16 days, as the main loop of cron.c finds them minute by minute (cron(8)): a line whose
    minute or hour begins with a star by the clock as it is shown, any other by a clock that neither skips nor repeats.
    """
    text = _fields(fields).split()
    expanded, _ = croniter.expand(" ".join(text))
    sets = [set(range(60)) if "*" in values else {int(value) for value in values} for values in expanded]
    stars = [part.startswith("*") for part in text]

    def matches(shown: int) -> bool:
        at = datetime(1970, 1, 1) + timedelta(minutes=shown)
        day, weekday = at.day in sets[2], at.isoweekday() % 7 in sets[4]
        days = (day and weekday) if stars[2] or stars[4] else (day or weekday)
        return at.minute in sets[0] and at.hour in sets[1] and at.month in sets[3] and days

    def runs() -> Iterator[int]:
        zone, start = ZoneInfo(tz), int(base.timestamp()) // 60
        virtual = _shown(start, zone)
        for minute in range(start + 1, start + 1 + int(WALKED.total_seconds()) // 60):
            shown = _shown(minute, zone)
            due = matches(shown) if stars[0] or stars[1] else any(map(matches, range(virtual + 1, shown + 1)))
            virtual = max(virtual, shown)
            if due:
                yield minute * 60

    return list(runs())


@cache
def _shown(minute: int, zone: ZoneInfo) -> int:
    offset = datetime.fromtimestamp(minute * 60, UTC).astimezone(zone).utcoffset()
    assert offset is not None
    return minute + int(offset.total_seconds()) // 60


def _fields(fields: str) -> str:
    return NICKNAMES.get(fields.lower(), fields)
