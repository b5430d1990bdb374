"""The times that a plan gives, beside those of the other scheduler's own engine: what differs is refused. Runs after a
change of the clock may differ, and a comment names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from workkit.moving.plan_time import rules_trigger
from workkit.moving.refusal import NotCarried
from workkit.moving.schedulers.timing import UNBOUNDED, Bounds, Timing, by_rules, iso
from workkit.triggers.clock.zone import ClockChange, clock_changes
from workkit.triggers.trigger import Trigger

Engine = Callable[[datetime], datetime | None]
"""Gives the first time strictly after an instant at which the other scheduler runs the job, or None."""

COMPARED: Final = 100  # the next times
MOST_AROUND: Final = 4_000  # times around changes of the clock
_AHEAD: Final = timedelta(days=366 * 30)
_NEAR: Final = timedelta(hours=4)
_BEFORE: Final = (timedelta(hours=5), timedelta(hours=30), timedelta(days=8), timedelta(days=32), timedelta(days=367))
_SHOWN: Final = 3
_LATEST: Final = datetime(2099, 1, 1, tzinfo=UTC)  # no schedule is meant for later; the package crontab ends there


class Differing(NamedTuple):
    """Times that only one of both has: the plan (`ours`), or the engine (`theirs`)."""

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
    """Say a rule of another scheduler as a plan does, with remarks about clock changes. `engine_in` gives the engine of
    its job as if it stood in a zone, without bounds: in UTC its next times must be equal to those of the rule. Raises
    NotCarried.
    """
    timing = by_rules([rule], tz=tz, now=now, bounds=bounds)
    check_equal(rules_trigger([rule], tz="UTC"), engine_in("UTC"), now=now)
    engine = _bounded(engine_in(tz), bounds)
    return timing, clock_comments(timing, engine, engine_name=engine_name, tz=tz, now=now)


def _bounded(engine: Engine, bounds: Bounds) -> Engine:
    def following(after: datetime) -> datetime | None:
        if bounds.start is not None:
            after = max(after, bounds.start - timedelta(seconds=1))
        at = engine(after)
        return None if at is None or (bounds.end is not None and at >= bounds.end) else at

    return following


def check_equal(trigger: Trigger, engine: Engine, *, now: datetime) -> None:
    """Check that the next times of a plan's entry and of an engine are equal. Raises NotCarried."""
    ours = times_of(trigger.next_after, now, most=COMPARED, until=_LATEST)
    theirs = times_of(engine, now, most=COMPARED, until=_LATEST)
    if ours != theirs:
        first = min(set(ours) ^ set(theirs))
        who = "workkit" if first in ours else "the other scheduler"
        raise NotCarried(f"The time that a plan can say differs from it: only {who} runs it at {iso(first)}.")


def clock_comments(timing: Timing, engine: Engine, *, engine_name: str, tz: str, now: datetime) -> tuple[str, ...]:
    """Compare a plan's entry with an engine after the changes of the clock of `tz` in the next thirty years. Says what
    differs after the first change forward where anything does, and after the first one back.
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


def _around(trigger: Trigger, engine: Engine, change: ClockChange, *, most: int) -> tuple[Differing, int]:
    """Compare times from the run before a change of the clock to some hours after the next one. Says what differs, and
    how many were compared.
    """
    start = _run_before(trigger, change.at - _NEAR)
    following = trigger.next_after(change.at) or change.at
    end = following + _NEAR
    theirs = times_of(engine, start, most=most, until=end)
    ours = times_of(trigger.next_after, start, most=most, until=end)
    only = Differing([at for at in ours if at not in theirs], [at for at in theirs if at not in ours])
    return only, len(ours) + len(theirs)


def _run_before(trigger: Trigger, end: datetime) -> datetime:
    """Find the last run up to an instant, as an engine counts from the run before."""
    for span in _BEFORE:
        last, high = trigger.next_after(end - span), end
        if last is None or last > end:
            continue
        while high - last >= timedelta(seconds=1):  # halve the time in which a later one may be
            middle = last + (high - last) / 2
            later = trigger.next_after(middle)
            if later is None or later > end:
                high = middle
            else:
                last = later
        return last
    return end - _BEFORE[1]


def times_of(engine: Engine, after: datetime, *, most: int, until: datetime) -> list[datetime]:
    """List the next times of an engine in UTC. Raises NotCarried for an engine that does not move on."""
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


def _sentence(change: ClockChange, differing: Differing, engine_name: str) -> str:
    sides = {engine_name: differing.theirs, "workkit": differing.ours}
    said = [f"only {who} runs it at {_listed(times, change.tz)}" for who, times in sides.items() if times]
    return f"Where clocks go {'forward' if change.skips else 'back'}, times differ: {', and '.join(said)}."


def _listed(times: Sequence[datetime], tz: str) -> str:
    shown = [at.astimezone(ZoneInfo(tz)).isoformat(sep=" ") for at in times[:_SHOWN]]
    more = len(times) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
