"""When a job of another scheduler runs, as a plan says it: a text, and the options `tz`, `start` and `end`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from workkit.errors import TriggerError
from workkit.moving.plan_time import plan_time, rules_trigger
from workkit.moving.refusal import NotCarried
from workkit.text.wording import time_text, weekday_name
from workkit.triggers.between import between
from workkit.triggers.lowering import lower
from workkit.triggers.trigger import Trigger
from workkit.triggers.when import When, read_when
from workkit.triggers.zone import zone

_UNITS = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """No run before `start`, nor at or after `end`: aware, whole seconds."""

    start: datetime | None = None
    end: datetime | None = None


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a plan says of a time, and the trigger that it gives."""

    when: str
    options: dict[str, object]
    trigger: Trigger = field(repr=False)


def by_rules(rules: Sequence[str], *, tz: str, now: datetime, bounds: Bounds = UNBOUNDED) -> Timing:
    """Say rules in wall-clock time of a zone (spec/cron.md, 3). Raises NotCarried."""
    try:
        if text := plan_time(rules, tz=tz, now=now):
            return said(text, tz=tz, now=now, bounds=bounds)
        if len(rules) == 1 and (text := lower(rules[0], zone=zone(tz), since=now)):
            return said(text, tz="UTC", now=now, bounds=bounds)
        is_over = rules_trigger(rules, tz=tz).next_after(now) is None
    except TriggerError as error:
        raise NotCarried(str(error)) from error
    if is_over:
        raise NotCarried("It never runs again.")
    raise NotCarried("No cron string of five fields and no words say this time in one text.", "Split the entry.")


def by_interval(period: timedelta, *, phase: datetime | None, now: datetime, bounds: Bounds = UNBOUNDED) -> Timing:
    """Say an interval that elapses, of whole seconds: through the instant `phase`, or aligned with the clock of UTC.
    Raises NotCarried.
    """
    seconds = int(period.total_seconds())
    if seconds < 1 or timedelta(seconds=seconds) != period:
        raise NotCarried(f"It runs every {period.total_seconds():g} s, and workkit counts whole seconds.")
    if phase is not None and phase.microsecond:
        raise NotCarried("It is counted from a fraction of a second, and workkit counts whole seconds.")
    size, unit = next(found for found in _UNITS if seconds % found[0] == 0)
    n = seconds // size
    text = f"every {unit}" if n == 1 else f"every {n} {unit}s"
    at = (phase or datetime(1970, 1, 5, tzinfo=UTC)).astimezone(UTC)
    if unit == "week":
        text = f"{text} on {weekday_name(at)}" if n > 1 else f"every {weekday_name(at)}"
    if unit in ("week", "day"):
        text = f"{text} at {time_text(at)}"
    if phase is not None and bounds.start is None and not (n == 1 and unit in ("week", "day")):
        bounds = Bounds(start=phase, end=bounds.end)
    return said(text, tz="UTC", now=now, bounds=bounds)


def free_phase(counted: str) -> str:
    """Remark that an interval has no phase that a plan could keep; `counted` says from when it is counted so far."""
    remedy = 'Another hour in its words, or start = "2027-01-31T09:00:00Z", gives another phase.'
    return f"{counted}. workkit counts it on the clock of UTC. {remedy}"


def once_at(instant: datetime, *, now: datetime) -> Timing:
    """Say one instant. Raises NotCarried where it is past, or no whole second."""
    if instant <= now:
        raise NotCarried("Its only run is over.")
    if instant.microsecond:
        raise NotCarried("It runs at a fraction of a second, and workkit at whole seconds.")
    return said(iso(instant), tz="UTC", now=now)


def said(text: str, *, tz: str, now: datetime, bounds: Bounds = UNBOUNDED) -> Timing:
    """Read back what a plan says. Raises NotCarried where it is not understood, and where no run is left."""
    options: dict[str, object] = {"tz": tz}
    given = {"start": bounds.start, "end": bounds.end}
    options |= {name: iso(bound) for name, bound in given.items() if bound is not None}
    if bounds.end is not None and bounds.end <= now:
        raise NotCarried("It never runs again: its end is over.")
    try:
        trigger = read_when(When(when=text, tz=tz), now=now)
        if len(options) > 1:
            bound = {name: options.get(name) for name in given}
            trigger = between(trigger, start=bound["start"], end=bound["end"], now=now, tz=tz)
    except TriggerError as error:
        raise NotCarried(str(error)) from error
    return Timing(when=text, options=options, trigger=trigger)


def iso(at: datetime) -> str:
    """Write an instant as words of a plan, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def zone_key(tz: tzinfo, *, remedy: str) -> str:
    """Name the zone of another scheduler as a plan does. Raises NotCarried for one that is no place."""
    if tz == UTC:
        return "UTC"
    offset = None if isinstance(tz, ZoneInfo) else tz.utcoffset(None)
    if offset is not None and not offset % timedelta(hours=1):
        hours = offset // timedelta(hours=1)
        name = f"Etc/GMT{-hours:+d}" if hours else "UTC"
    else:
        name = getattr(tz, "key", None) or getattr(tz, "zone", None) or str(tz)
    try:
        return zone(name).key
    except TriggerError as error:
        raise NotCarried(f"Its zone is {name!r}, which names no place.", remedy) from error
