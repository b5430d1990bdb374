"""Wall clock and UTC: the firings of a rule in local time, across the changes of a zone's clock.

The rules, each with its reason (spec/cron.md, clock changes):

- A local time that a change skips runs at the end of the gap, once: the job is owed that day, and a run an hour
  early would be before the time that was asked for.
- A local time that happens twice runs the first time only: a daily job runs once a day.
- A rule that names every hour goes by elapsed time: "every 15 minutes" names an interval, so its runs neither bunch up
  after a gap nor pause in an overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from workkit.errors import TriggerError
from workkit.text.nearest import nearest_word
from workkit.triggers.crons.branch import DAY_SECONDS
from workkit.triggers.crons.cron import LAST_SECOND, Cron
from workkit.triggers.crons.field import shown_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HORIZON_YEARS = 100
"""The years ahead in which the offsets of a zone are read. Tables of single changes reach to 2087; rules recur before.
"""
SHORTEST_DAYS = 14
"""The shortest stretch of one offset, in days. Morocco leaves summer time for a month."""
_EVERY_HOUR = (1 << 24) - 1
# Files of the zone database that are not places: they depend on the machine, or count leap seconds.
_NOT_PLACES = ("localtime", "posixrules", "posix/", "right/")


def zone(name: str | ZoneInfo) -> ZoneInfo:
    """Read the IANA name of a zone, or take a zone by its name; letter case counts.

    Python, phrases, payloads and the command line read zones here. Refuses a zone that depends on the machine
    ("localtime"), because a job with its zone runs on other machines. Raises TriggerError, with the nearest name.
    """
    if isinstance(name, ZoneInfo):
        name = name.key
    if not isinstance(name, str):
        raise TriggerError(f'tz={shown_text(repr(name))} is not a zone\'s name. Write "Europe/Paris".', given=name)
    return _zone(name)


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    found = _known(name)
    if found is not None:
        return found
    local = name.startswith(_NOT_PLACES)
    near = None if local else nearest_zone(name)
    trouble = "names no place: its meaning depends on the machine" if local else "is not a zone"
    remedy = f'Did you mean "{near}"?' if near else 'Write an IANA name such as "Europe/Paris".'
    raise TriggerError(
        f'tz="{shown_text(name)}" {trouble}. {remedy}',
        given=name,
        where="tz",
        trouble=trouble,
        remedy=remedy,
        accepted="an IANA name such as Europe/Paris, or UTC",
        suggestion=near,
    )


def _known(name: str) -> ZoneInfo | None:
    if not name or name.startswith(_NOT_PLACES):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # as it may be a folder, or no path at all
        return None


def known_zone(written: str) -> str | None:
    """Return the name of a zone that a phrase has in any letter case; None if there is none."""
    return written if _known(written) is not None else zone_names().get(written.lower())


@lru_cache(maxsize=256)
def nearest_zone(name: str) -> str | None:
    """Find the same name in another letter case, the zone of a city, or the nearest name; None if none is near."""
    text, names = name.lower().replace(" ", "_"), zone_names()
    city = next((low for low in names if low.endswith(f"/{text}")), None)
    near = text if text in names else city or nearest_word(text, names, alike=0.7)
    return names[near] if near else None


@lru_cache(maxsize=1)
def zone_names() -> Mapping[str, str]:
    """List the zones that are places, in order, by their names in lower case."""
    return {name.lower(): name for name in sorted(available_timezones()) if not name.startswith(_NOT_PLACES)}


def next_local(cron: Cron, *, tz: ZoneInfo, after: int) -> int | None:
    """Find the first firing of local-time fields strictly after `after` (epoch seconds); None if none is by 9999."""
    after = max(after, -1)
    try:
        found = _by_elapsed_time(cron, tz, after) if names_every_hour(cron) else _by_wall_clock(cron, tz, after)
    except OverflowError:  # the local time, or the instant, lies beyond the year 9999
        return None
    return None if found is None or found > LAST_SECOND else found


def names_every_hour(cron: Cron) -> bool:
    """Return whether the rule names every hour, so that it goes by elapsed time across a change of the clock."""
    return cron.hour.mask == _EVERY_HOUR and not cron.hour.occurrences


def standard_offset(tz: ZoneInfo) -> int:
    """Return the zone's standard time in seconds east of UTC, in a fixed year, so that texts made of it stay the same.

    The lesser of winter and summer: some builds of the zone database call Dublin's winter the exception.
    """
    return min(_seconds(datetime(2024, month, 1, tzinfo=tz).utcoffset()) for month in (1, 7))


def offset_at(tz: ZoneInfo, second: int) -> int:
    """Return the offset at an instant (epoch seconds), in seconds east of UTC."""
    return _seconds(_local(tz, second).utcoffset())


def to_utc(tz: ZoneInfo, wall: int) -> int:
    """Return the instant of a local time: the first of two, and the end of the gap for one that is skipped."""
    early, late = _instants(tz, wall)
    return early if early <= late else _change(tz, late, early)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """One change of the clock of the zone `tz`: at `second` (since 1970) its offset from UTC, in seconds, becomes
    another.
    """

    tz: str
    second: int
    before: int
    after: int

    @property
    def at(self) -> datetime:
        """The instant (aware UTC)."""
        return _EPOCH + timedelta(seconds=self.second)

    @property
    def skips(self) -> bool:
        """Whether it leaves local times out. If not, it shows them twice."""
        return self.after > self.before

    @property
    def wall_from(self) -> datetime:
        """The wall clock at the change by the offset before it (as if it were UTC)."""
        return _EPOCH + timedelta(seconds=self.second + self.before)

    @property
    def wall_to(self) -> datetime:
        """The wall clock at the change by the offset after it (as if it were UTC)."""
        return _EPOCH + timedelta(seconds=self.second + self.after)


def clock_changes(tz: str, since: datetime, until: datetime) -> list[ClockChange]:
    """List the changes of a zone's clock after `since`, up to `until` (both aware), the first one first."""
    first, last = ((at - _EPOCH).total_seconds() for at in (since, until))
    return [
        ClockChange(tz=tz, second=change, before=before, after=after)
        for (_, _, before), (change, _, after) in pairwise(segments(tz, since.astimezone(UTC).year))
        if first < change <= last
    ]


@lru_cache(maxsize=64)
def segments(key: str, year: int) -> list[tuple[int, int, int]]:
    """List (first, end, offset) in epoch seconds of the stretches of one offset, from the start of `year` on."""
    tz = zone(key)
    years = max(year, 1970), min(year + HORIZON_YEARS, 9998)
    at, end = ((datetime(first, 1, 1, tzinfo=UTC) - _EPOCH).days * DAY_SECONDS for first in years)
    found = [[at, end, offset_at(tz, at)]]
    while at < end:
        following = min(at + SHORTEST_DAYS * DAY_SECONDS, end)
        if (offset := offset_at(tz, following)) != found[-1][2]:
            found[-1][1] = _change(tz, at, following)
            found.append([found[-1][1], end, offset])
        at = following
    return [(first, end, offset) for first, end, offset in found]


def _by_wall_clock(cron: Cron, tz: ZoneInfo, after: int) -> int | None:
    local = _local(tz, after)
    wall = after + _seconds(local.utcoffset())
    if local.fold:  # the clock shows this time again: all of the overlap has fired already
        wall = _overlap(tz, wall)[1] - 1
    found = cron.next(wall)
    while found is not None:
        second = to_utc(tz, found)
        if second > after:
            return second
        found = cron.next(found)
    return None


def _by_elapsed_time(cron: Cron, tz: ZoneInfo, after: int) -> int | None:
    """Return the first firing of a rule by elapsed time: it fires whenever the clock shows a matching local time."""
    wall = after + offset_at(tz, after)
    second = _next_shown(cron, tz=tz, wall=wall, after=after)
    early, late = _instants(tz, wall)
    if early == after < late:  # the clock will show this time again, before anything that comes after it
        start, end = _overlap(tz, wall)
        again = cron.next(start - 1)
        if again is not None and again < end:
            repeated = _instants(tz, again)[1]
            return repeated if second is None else min(second, repeated)
    return second


def _next_shown(cron: Cron, *, tz: ZoneInfo, wall: int, after: int) -> int | None:
    """Return the first instant after `after` that has a matching local time later than `wall`."""
    found = cron.next(wall)
    while found is not None:
        early, late = _instants(tz, found)
        if early <= late:
            return early if early > after else late
        change = _change(tz, late, early)
        found = cron.next(change + offset_at(tz, change) - 1)
    return None


def _instants(tz: ZoneInfo, wall: int) -> tuple[int, int]:
    """Return the instants of a local time by the offset before a change and by the one after it.

    Equal away from changes; the earlier first if the clock shows it twice, the later first if it is skipped.
    """
    local = (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=tz)
    return wall - _seconds(local.utcoffset()), wall - _seconds(local.replace(fold=1).utcoffset())


def _overlap(tz: ZoneInfo, wall: int) -> tuple[int, int]:
    """Return the bounds of the overlap around `wall`: the first local second that is shown twice, and the first after
    them that is not.
    """
    early, late = _instants(tz, wall)
    change = _change(tz, early, late)
    return change + offset_at(tz, change), change + offset_at(tz, early)


def _change(tz: ZoneInfo, low: int, high: int) -> int:
    """Return the first second in (low, high] that has another offset than `low`."""
    offset = offset_at(tz, low)
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(tz, middle) == offset:
            low = middle
        else:
            high = middle
    return high


def _local(tz: ZoneInfo, second: int) -> datetime:
    return (_EPOCH + timedelta(seconds=second)).astimezone(tz)


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * 86_400 + offset.seconds
