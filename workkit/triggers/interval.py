"""An interval that seven fields cannot count: every 90 seconds, or every 3 days from a chosen one. Pure.

The payload holds it beside its `cron` (spec/cron.md 3.1); an older listener, and a peer, runs that `cron`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

from workkit.errors import TriggerError
from workkit.triggers.clock.zone import next_local, offset_at, to_utc
from workkit.triggers.crons.branch import DAY_SECONDS
from workkit.triggers.crons.cron import LAST_SECOND, Cron, parse_cron
from workkit.triggers.crons.field import MAX_STEP, shown_text

Unit = Literal["seconds", "days", "weeks"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)
MOST_LEAPS: Final = 1_000
"""So many intervals without a run are passed over; then it never fires again."""
_MONDAY: Final = 3
"""Days from the Monday of the week of 1970-01-01, a Thursday, to that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Every `n` units, at the units whose number leaves the remainder `phase`.

    Seconds are counted from 1970 in UTC. Days and weeks (from Monday) are counted from 1970 on the wall clock of the
    trigger's zone, and the rules of the trigger say when in them.
    """

    n: int
    unit: Unit
    phase: int

    @property
    def is_elapsed(self) -> bool:
        """Whether it counts seconds alone, so that no rule and no zone matters."""
        return self.unit == "seconds"

    def member(self) -> dict[str, int]:
        """Give the member `interval` of a payload."""
        return dict(sorted({self.unit: self.n, "phase": self.phase}.items()))

    def second_after(self, after: int) -> int | None:
        """Find its first second strictly after `after` (epoch seconds), if it counts seconds."""
        first = max(after + 1, 0)
        found = first + (self.phase - first) % self.n
        return found if found <= LAST_SECOND else None

    def day_after(self, after: int, *, rules: tuple[str, ...], tz: ZoneInfo) -> int | None:
        """Find the first firing of `rules` strictly after `after` on a day that counts, if it counts days or weeks."""
        crons = [plain(rule) for rule in rules]
        for _ in range(MOST_LEAPS):
            second = _earliest(crons, tz, after)
            if second is None:
                return None
            number = self.number(second, tz)
            if number % self.n == self.phase:
                return second
            day = number + (self.phase - number) % self.n
            day = day if self.unit == "days" else day * 7 - _MONDAY
            try:
                after = to_utc(tz, day * DAY_SECONDS) - 1
            except OverflowError:  # beyond the year 9999
                return None
        return None

    def number(self, second: int, tz: ZoneInfo) -> int:
        """Number the day or week of an instant (epoch seconds), as its zone's calendar shows it."""
        return self.wall_number(second + offset_at(tz, second))

    def wall_number(self, wall: int) -> int:
        """Number the day or week of a wall-clock time (naive seconds)."""
        day = wall // DAY_SECONDS
        return day if self.unit == "days" else (day + _MONDAY) // 7


def plain(rule: str) -> Cron:
    """Read a rule whose `v/n` an interval counts instead: as v."""
    fields = (",".join(map(_value, part.split(","))) for part in rule.split())
    return parse_cron(" ".join(fields), stored=True, rule=True)


def _value(item: str) -> str:
    value, _, _ = item.partition("/")
    return item if "*" in value or "-" in value else value


def _earliest(crons: list[Cron], tz: ZoneInfo, after: int) -> int | None:
    find: Callable[[Cron], int | None] = (
        (lambda cron: cron.next(after)) if tz.key == "UTC" else (lambda cron: next_local(cron, tz=tz, after=after))
    )
    return min((second for cron in crons if (second := find(cron)) is not None), default=None)


def read_interval(member: Any) -> Interval | None:
    """Read the member `interval` of a payload; None where there is none. Raises TriggerError."""
    if member is None:
        return None
    unit = next((unit for unit in UNITS if isinstance(member, Mapping) and unit in member), None)
    if unit is not None and len(set(UNITS) & member.keys()) == 1:
        n, phase = member[unit], member.get("phase", 0)
        if type(n) is int and type(phase) is int and 0 < n <= MAX_STEP and 0 <= phase < n:
            return Interval(n=n, unit=unit, phase=phase)
    accepted = 'one of "seconds", "days" and "weeks", and a "phase" below it'
    raise TriggerError(
        f"interval={shown_text(repr(member))} is no interval. Accepted: {accepted}.",
        given=member,
        where="interval",
        accepted=accepted,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Every `n` of a unit, as words said it and nothing else: the interval whose phase a start may choose."""

    n: int
    unit: Literal["second", "minute", "hour", "day", "week"]

    @property
    def seconds(self) -> int:
        """How long it is."""
        return self.n * SECONDS[self.unit]

    @property
    def divides(self) -> bool:
        """Whether it divides its unit, so that it is aligned to the clock."""
        return self.unit in _WHOLE and _WHOLE[self.unit] % self.n == 0


SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": DAY_SECONDS, "week": 7 * DAY_SECONDS}
_WHOLE: Final = {"second": 60, "minute": 60, "hour": 24}
