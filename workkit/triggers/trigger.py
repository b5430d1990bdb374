"""The Trigger: the times of a job as a value. It is a union of seven-field rules in a zone between bounds, or an
interval.

Seven fields cannot count an interval: every 90 seconds, or every 3 days from a chosen one. The payload holds it beside
its `cron` (spec/cron.md 3.1); older listeners and peers run that `cron`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, get_args
from zoneinfo import ZoneInfo

from workkit.errors import TriggerError
from workkit.text.cells import brief_repr
from workkit.triggers.crons.branch import DAY_SECONDS
from workkit.triggers.crons.cron import LAST_SECOND, Cron, both_days, impossible, parse_cron
from workkit.triggers.crons.field import FIRST_YEAR, MAX_STEP, shown_text
from workkit.triggers.zone import next_local, offset_at, standard_offset, to_utc, zone

Unit = Literal["seconds", "days", "weeks"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)
MOST_LEAPS: Final = 1_000
"""The most intervals without a run that a search skips; after them the trigger never fires again."""
_MONDAY: Final = 3
"""Days from the Monday of the week of 1970-01-01, a Thursday, to that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Every `n` units, at the units with a number that leaves the remainder `phase`.

    Seconds are counted from 1970 in UTC. Days and weeks (from Monday) are counted from 1970 on the wall clock of the
    trigger's zone, and the rules of the trigger give the times in them.
    """

    n: int
    unit: Unit
    phase: int

    @property
    def is_elapsed(self) -> bool:
        """Whether it counts seconds alone, independent of rules and zones."""
        return self.unit == "seconds"

    def member(self) -> dict[str, int]:
        """Return the member `interval` of a payload."""
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
    """Read a rule for an interval, with v in place of each `v/n`: the interval does the counting."""
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
    """Read the member `interval` of a payload; None if there is none. Raises TriggerError."""
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
    """A plain interval, every `n` of a unit, from words that name nothing else. A start may choose its phase."""

    n: int
    unit: Literal["second", "minute", "hour", "day", "week"]

    @property
    def seconds(self) -> int:
        """The length in seconds."""
        return self.n * SECONDS[self.unit]

    @property
    def divides(self) -> bool:
        """Whether it divides its unit, so that it is aligned to the clock."""
        return self.unit in _WHOLE and _WHOLE[self.unit] % self.n == 0


SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": DAY_SECONDS, "week": 7 * DAY_SECONDS}
_WHOLE: Final = {"second": 60, "minute": 60, "hour": 24}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The times of a job.

    `cron` is the published seven-field string in UTC, or None if seven UTC fields cannot express it. `rules` are
    seven-field strings in wall-clock time of `tz`, and the trigger is their union, from `start` on and before `end`
    (aware UTC). `recurs` is False for one instant. `warnings` are sentences for the user who set it. `stored` is the
    text that a payload holds instead of `cron`, if the schedule has another dialect.

    `interval` counts units that seven fields cannot: seconds (then the one rule is only for programs without
    intervals), or the days and weeks in which the rules apply. `pace` is the plain interval of the words, as long as a
    start may choose its phase. `exact` is the end of a length from now, if that is no whole second. `origin` is the
    time of day (in seconds) and the zone from which the words count an interval. No payload holds these three.
    """

    cron: str | None
    tz: str = "UTC"
    recurs: bool
    rules: tuple[str, ...]
    start: datetime | None = None
    end: datetime | None = None
    warnings: tuple[str, ...] = ()
    stored: str | None = None
    interval: Interval | None = None
    pace: Pace | None = field(default=None, compare=False)
    exact: datetime | None = field(default=None, compare=False)
    origin: tuple[int, str] | None = field(default=None, compare=False)

    __repr__ = brief_repr

    def next_after(self, t: datetime) -> datetime | None:
        """Find the first whole second strictly after `t` at which it fires (aware UTC), or None.

        Raises TriggerError for a naive `t`.
        """
        if t.utcoffset() is None:
            raise TriggerError(f"{t!r} has no zone. Use datetime.now(UTC).", given=t)
        since = t - _EPOCH
        found = self._after(since.days * DAY_SECONDS + since.seconds)
        return None if found is None else _EPOCH + timedelta(0, found)

    def next_after_ms(self, ms: int) -> int | None:
        """Find the first whole second strictly after `ms` at which it fires, in epoch milliseconds; None if none."""
        found = self._after(ms // 1000)
        return None if found is None else found * 1000

    def _after(self, second: int) -> int | None:
        if self.start is not None:
            second = max(second, _seconds(self.start) - 1)
        found = self._next(second)
        return None if found is None or (self.end is not None and found >= _seconds(self.end)) else found

    def _next(self, after: int) -> int | None:
        if self.interval is not None:
            if self.interval.is_elapsed:
                return self.interval.second_after(after)
            return self.interval.day_after(after, rules=self.rules, tz=zone(self.tz))
        if not self.recurs and self.cron is not None and (only := _only_second(self.cron)) is not None:
            return only if only > after else None
        if self.cron is not None:
            return parse_cron(self.cron, stored=True).next(after)
        crons = self._crons()
        if self.tz == "UTC":
            found = [cron.next(after) for cron in crons]
        else:
            tz = zone(self.tz)
            found = [next_local(cron, tz=tz, after=after) for cron in crons]
        return min((second for second in found if second is not None), default=None)

    def _crons(self) -> list[Cron]:
        return [parse_cron(rule, stored=True, rule=True) for rule in self.rules]

    def upcoming(self, t: datetime, n: int) -> list[datetime]:
        """List the next `n` instants after `t`; fewer where it ends."""
        found: list[datetime] = []
        while len(found) < n and (after := self.next_after(found[-1] if found else t)) is not None:
            found.append(after)
        return found

    def fields(self) -> dict[str, Any]:
        """Return the stored fields of a payload: `cron`, and more if that is not enough (spec/job.md)."""
        bounds = {"from": self.start, "until": self.end}
        known: dict[str, Any] = {name: _seconds(bound) * 1000 for name, bound in bounds.items() if bound is not None}
        if self.interval is not None:
            known["interval"] = self.interval.member()
        if self.stored is not None:
            return {"cron": self.stored, **known}
        if self.cron is not None:
            return {"cron": self.cron, **known}
        if self.interval is not None and self.tz == "UTC" and len(self.rules) == 1:
            return {"cron": self.rules[0], **known}
        return {"cron": self._approximation(), "local": list(self.rules), "zone": self.tz, **known}

    def _approximation(self) -> str:
        from workkit.triggers.lowering import shifted

        return shifted(self.rules[0], seconds=-standard_offset(zone(self.tz)))

    def why_never(self) -> str:
        """Return why it never fires again, as the end of a sentence."""
        if self.interval is None or not self.interval.is_elapsed:
            crons = self._crons() if self.interval is None else [plain(rule) for rule in self.rules]
            if all(cron.next(-1) is None for cron in crons):
                return impossible(crons[0])
        return "its last time is over" if self.end is None and self.recurs else "that date is over"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _seconds(t: datetime) -> int:
    """Return epoch seconds, rounded up."""
    return -((_EPOCH - t) // timedelta(seconds=1))


def once(instant: datetime, *, tz: str = "UTC") -> Trigger:
    """Make the trigger of one instant, a whole second.

    Raises TriggerError if it has no zone, has a fraction, or is before 1970.
    """
    if instant.utcoffset() is None or instant.microsecond or instant.astimezone(UTC).year < FIRST_YEAR:
        raise TriggerError(f"{instant!r} is not a whole second since 1970 with a zone.", given=instant)
    return Trigger(
        cron=_fixed(instant.astimezone(UTC)), tz=tz, recurs=False, rules=(_fixed(instant.astimezone(zone(tz))),)
    )


def soonest(instant: datetime, *, tz: str = "UTC") -> Trigger:
    """Make the trigger of an instant that may be between two seconds. It fires at the later one, and keeps the instant
    as `exact`.
    """
    second = instant.replace(microsecond=0)
    if second == instant:
        return once(instant, tz=tz)
    return replace(once(second + timedelta(seconds=1), tz=tz), exact=instant)


def _fixed(t: datetime) -> str:
    return f"{t.year} {t.month} {t.day} * {t.hour} {t.minute} {t.second}"


def published(text: str, *, stored: bool = False) -> Trigger:
    """Read seven fields in published order, in UTC. Raises CronError.

    A text that a peer `stored` may have any run of blanks between fields, and gets no warnings.
    """
    cron = parse_cron(text, stored=stored)
    trigger = Trigger(cron=cron.text, recurs=not is_fixed(cron), rules=(cron.text,))
    if stored or not cron.day.restricted or not cron.weekday.restricted:
        return trigger
    return replace(trigger, warnings=both_days(cron, given=text))


def deadline_text(trigger: Trigger) -> str:
    """Write the trigger of a deadline as a payload holds it: its zone, and seven fields in the time of that zone."""
    return f"{trigger.tz} {trigger.rules[0]}"


@lru_cache(maxsize=1024)
def deadline_of(text: str) -> Trigger | None:
    """Read what `deadline_text` writes; None for any other text."""
    tz, _, rule = text.partition(" ")
    try:
        cron = parse_cron(rule, stored=True, rule=True)
        return Trigger(cron=None, tz=zone(tz).key, recurs=not is_fixed(cron), rules=(cron.text,))
    except TriggerError:
        return None


def is_fixed(cron: Cron) -> bool:
    """Return whether a cron names one second only, so that nothing recurs."""
    others = [part for part in cron.fields if part is not cron.weekday]
    return not cron.weekday.restricted and all(
        len(part.items) == 1 and part.items[0].kind == "range" and part.items[0].low == part.items[0].high
        for part in others
    )


def _only_second(cron: str) -> int | None:
    """Read the one second that a cron names, without parsing it as a cron; None if its form does not show one."""
    if not is_one_second(cron):
        return None
    year, month, day, _, hour, minute, second = cron.split(" ")
    try:
        found = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC) - _EPOCH
    except ValueError:  # a day that its month lacks
        return None
    return found.days * DAY_SECONDS + found.seconds


_ONE_SECOND = re.compile(
    r"(?:19[7-9]\d|[2-9]\d{3}) (?:[1-9]|1[0-2]) (?:[1-9]|[12]\d|3[01]) \* (?:1?\d|2[0-3]) [1-5]?\d [1-5]?\d", re.ASCII
)
is_one_second: Final = lru_cache(maxsize=256)(_ONE_SECOND.fullmatch)
"""Match a published cron string that names one second, by its form. Most payloads hold one, so this saves parsing it.
The cache is small: it serves a queue of jobs of the same second. A cron without a match may still name one second.
"""
