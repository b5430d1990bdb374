"""The times of a job of another scheduler, as a plan expresses them: a text, and the options `tz`, `start` and `end`.

The times of the plan are compared with those of the other scheduler's own engine: an entry with a difference is
refused. Runs after a change of the clock may differ; a comment names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from workkit.errors import TriggerError
from workkit.moving.found import NotCarried
from workkit.moving.plan_time import plan_time, rules_trigger
from workkit.text.wording import time_text, weekday_name
from workkit.triggers.between import between
from workkit.triggers.lowering import lower
from workkit.triggers.trigger import Trigger
from workkit.triggers.when import When, read_when
from workkit.triggers.zone import ClockChange, clock_changes, zone

_UNITS = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of runs: no run before `start`, nor at or after `end`; aware, whole seconds."""

    start: datetime | None = None
    end: datetime | None = None


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The time of an entry as a plan expresses it, and its trigger."""

    when: str
    options: dict[str, object]
    trigger: Trigger = field(repr=False)


def _by_rules(rules: Sequence[str], *, tz: str, now: datetime, bounds: Bounds = UNBOUNDED) -> Timing:
    """Express rules in wall-clock time of a zone (spec/cron.md, 3). Raises NotCarried."""
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
    """Express an interval of whole seconds of elapsed time: through the instant `phase`, or aligned with the clock of
    UTC. Raises NotCarried.
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
    """Write the remark that an interval has no phase that a plan could keep; `counted`: from when the other scheduler
    counts it.
    """
    remedy = 'Another hour in its words, or start = "2027-01-31T09:00:00Z", gives another phase.'
    return f"{counted}. workkit counts it on the clock of UTC. {remedy}"


def once_at(instant: datetime, *, now: datetime) -> Timing:
    """Express one instant. Raises NotCarried if it has passed, or is no whole second."""
    if instant <= now:
        raise NotCarried("Its only run is over.")
    if instant.microsecond:
        raise NotCarried("It runs at a fraction of a second, and workkit at whole seconds.")
    return said(iso(instant), tz="UTC", now=now)


def said(text: str, *, tz: str, now: datetime, bounds: Bounds = UNBOUNDED) -> Timing:
    """Read back the text of a plan. Raises NotCarried if the plan cannot read it, or has no run left."""
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
    """Return the zone of another scheduler as a plan names it. Raises NotCarried for a zone that is no place."""
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


Engine = Callable[[datetime], datetime | None]
"""A function that returns the first time strictly after an instant at which the other scheduler runs the job, or
None.
"""

COMPARED: Final = 100  # next times to compare
MOST_AROUND: Final = 4_000  # times around changes of the clock to compare, at most
_AHEAD: Final = timedelta(days=366 * 30)
_NEAR: Final = timedelta(hours=4)
_BEFORE: Final = (timedelta(hours=5), timedelta(hours=30), timedelta(days=8), timedelta(days=32), timedelta(days=367))
_SHOWN: Final = 3
_LATEST: Final = datetime(2099, 1, 1, tzinfo=UTC)  # the end of the package crontab; schedules do not reach later


class _Differing(NamedTuple):
    """Times that only one side has: the plan (`ours`), or the engine (`theirs`)."""

    ours: list[datetime]
    theirs: list[datetime]


def compared(
    rule: str,
    engine_in: Callable[[str], Engine],
    *,
    engine_name: str,
    tz: str,
    now: datetime,
    bounds: Bounds = UNBOUNDED,
) -> tuple[Timing, tuple[str, ...]]:
    """Express a rule of another scheduler as a plan does, with remarks about clock changes. `engine_in`: makes the
    engine of the job in a zone, without bounds. In UTC its next times must equal those of the rule. Raises NotCarried.
    """
    timing = _by_rules([rule], tz=tz, now=now, bounds=bounds)
    check_equal(rules_trigger([rule], tz="UTC"), engine_in("UTC"), now=now)
    engine = _bounded(engine_in(tz), bounds)
    return timing, _clock_comments(timing, engine, engine_name=engine_name, tz=tz, now=now)


def _bounded(engine: Engine, bounds: Bounds) -> Engine:
    def following(after: datetime) -> datetime | None:
        if bounds.start is not None:
            after = max(after, bounds.start - timedelta(seconds=1))
        at = engine(after)
        return None if at is None or (bounds.end is not None and at >= bounds.end) else at

    return following


def check_equal(trigger: Trigger, engine: Engine, *, now: datetime) -> None:
    """Check that the next times of a plan's entry and of an engine are equal. Raises NotCarried."""
    ours = _times_of(trigger.next_after, now, most=COMPARED, until=_LATEST)
    theirs = _times_of(engine, now, most=COMPARED, until=_LATEST)
    if ours != theirs:
        first = min(set(ours) ^ set(theirs))
        who = "workkit" if first in ours else "the other scheduler"
        raise NotCarried(f"The time that a plan can say differs from it: only {who} runs it at {iso(first)}.")


def _clock_comments(timing: Timing, engine: Engine, *, engine_name: str, tz: str, now: datetime) -> tuple[str, ...]:
    """Compare a plan's entry with an engine after the changes of the clock of `tz` in the next thirty years. Return the
    differences after the first forward change that has some, and after the first backward change that has some.
    """
    told: dict[bool, str] = {}
    left = MOST_AROUND
    for change in clock_changes(tz, now, now + _AHEAD):
        if left <= 0 or len(told) == 2:
            break
        if change.skips in told:
            continue
        differing, compared = _around(timing.trigger, engine, change, most=left)
        left -= compared
        if any(differing):
            told[change.skips] = _sentence(change, differing, engine_name)
    return tuple(told.values())


def _around(trigger: Trigger, engine: Engine, change: ClockChange, *, most: int) -> tuple[_Differing, int]:
    """Compare times from the run before a change of the clock to some hours after the next one. Return the differences,
    and the number of compared times.
    """
    start = _run_before(trigger, change.at - _NEAR)
    following = trigger.next_after(change.at) or change.at
    end = following + _NEAR
    theirs = _times_of(engine, start, most=most, until=end)
    ours = _times_of(trigger.next_after, start, most=most, until=end)
    both = {*ours} & {*theirs}
    only = _Differing([at for at in ours if at not in both], [at for at in theirs if at not in both])
    return only, len(ours) + len(theirs)


def _run_before(trigger: Trigger, end: datetime) -> datetime:
    """Return the last run up to an instant, because an engine counts from the previous run."""
    for span in _BEFORE:
        last, high = trigger.next_after(end - span), end
        if last is None or last > end:
            continue
        while high - last >= timedelta(seconds=1):  # halve the time span that may contain a later run
            middle = last + (high - last) / 2
            later = trigger.next_after(middle)
            if later is None or later > end:
                high = middle
            else:
                last = later
        return last
    return end - _BEFORE[1]


def _times_of(engine: Engine, after: datetime, *, most: int, until: datetime) -> list[datetime]:
    """List the next times of an engine in UTC. Raises NotCarried for an engine that does not advance."""
    found: list[datetime] = []
    at = after
    while len(found) < most and (following := engine(at)) is not None:
        following = following.astimezone(UTC)
        if following <= at:
            raise NotCarried(f"Its own scheduler finds no time after {iso(at)}.")
        if following > until:
            break
        found.append(following)
        at = following
    return found


def _sentence(change: ClockChange, differing: _Differing, engine_name: str) -> str:
    sides = {engine_name: differing.theirs, "workkit": differing.ours}
    said = [f"only {who} runs it at {_listed(times, change.tz)}" for who, times in sides.items() if times]
    return f"Where clocks go {'forward' if change.skips else 'back'}, times differ: {', and '.join(said)}."


def _listed(times: Sequence[datetime], tz: str) -> str:
    shown = [at.astimezone(ZoneInfo(tz)).isoformat(sep=" ") for at in times[:_SHOWN]]
    more = len(times) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
