"""The cron strings of the package `crontab`, by which rq-scheduler reads them: five fields, six with a year, seven with
the second first. Every field must match, so both days must.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from workkit.moving.refusal import NotCarried
from workkit.moving.schedulers.comparison import Engine
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, Spec, field_text

_SPECS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "month": MONTH}


def read_crontab(text: str) -> Any:
    """Read a string as the package does. Raises NotCarried for one that it refuses."""
    from crontab import CronTab

    try:
        return CronTab(text)
    except (ValueError, TypeError) as error:
        raise NotCarried(f'The package crontab does not read "{text}": {error}.') from error


def rule_of(crontab: Any) -> str:
    """Write it as a rule in wall-clock time (spec/cron.md, 3). Raises NotCarried."""
    matchers = crontab.matchers
    second, minute, hour, month = (_field(getattr(matchers, name), spec) for name, spec in _SPECS.items())
    year = "*" if matchers.year.any else ",".join(map(str, sorted(_values(matchers.year, YEAR))))
    day, weekday = _day(matchers.day), _weekday(matchers.weekday)
    both = "&" if "*" not in (day, weekday) else ""
    return f"{year} {month} {both}{day} {weekday} {hour} {minute} {second}"


def _field(matcher: Any, spec: Spec) -> str:
    return "*" if matcher.any else field_text(_values(matcher, spec), spec)


def _values(matcher: Any, spec: Spec) -> list[int]:
    return [value for value in matcher.allowed if spec.low <= value <= spec.high]


def _day(matcher: Any) -> str:
    """Write the days of the month: "l" is the last one."""
    if any(part.startswith("z") for part in matcher.split):
        raise NotCarried(f"It counts days from the end of the month ({matcher.input}).")
    text = _field(matcher, DAY) if matcher.any or matcher.allowed else ""
    return text if matcher.any or "l" not in matcher.split else ",".join(filter(None, [text, "L"]))


def _weekday(matcher: Any) -> str:
    """Write the days of the week: "l5" is the last Friday of the month."""
    last = [part[1:] for part in matcher.split if part.startswith("l")]
    if matcher.any or not last:
        return _field(matcher, WEEKDAY)
    if matcher.allowed or not all(part.isdigit() for part in last):
        raise NotCarried(f"It mixes weekdays with last weekdays of the month ({matcher.input}).")
    return ",".join(sorted({f"{int(part) % 7}L" for part in last}))


def engine_of(crontab: Any, tz: str) -> Engine:
    """Take the reckoning of rq-scheduler on a machine of a zone: naive local times, of which the first is meant where
    the clock shows one twice.
    """
    local = ZoneInfo(tz)

    def following(after: datetime) -> datetime | None:
        wall = after.astimezone(local).replace(tzinfo=None)
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about UTC, which is not asked for
                found = crontab.next(now=wall, return_datetime=True)
            if found is None:
                return None
            at: datetime = found.replace(tzinfo=local).astimezone(UTC)
            if at > after.astimezone(UTC):
                return at
            wall = found

    return following
