"""When a phrase runs, by dates and hours alone: it walks the calendar day by day.

This module shares no line with `workkit`. It has only the standard library, so that an error of the grammar or of
the cron engine is not also an error of the answer.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY = 60, 3_600, 86_400
RUNS = 3  # instants that are compared of a phrase that recurs
MOST_DAYS = 366 * 14  # three times 29 February
EPOCH = date(1970, 1, 1)


class Unclear(Exception):
    """The clock of the zone shows this time twice or not at all, or the specification does not name one instant."""


Days = Callable[[date, date], bool]
"""Tell whether the first date is a day of the phrase; the second date is today."""


@dataclass(frozen=True)
class Calendar:
    """The days of a phrase, and the seconds of the day at which it runs on each, in ascending order."""

    days: Days
    seconds: tuple[int, ...] | range
    once: bool = False
    zone: str = ""  # the zone that the phrase names
    first: date = date.min
    last: date = date.max

    def instants(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        """Find the next three instants after `now`, or the next one of a phrase that does not recur."""
        found: list[datetime] = []
        for at in self._later(now, ZoneInfo(self.zone) if self.zone else zone):
            found.append(at)
            if self.once or len(found) == RUNS:
                break
        return found

    def _later(self, now: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        here = now.astimezone(zone)
        passed = (here.hour * 60 + here.minute) * 60 + here.second
        begin = max(here.date(), self.first)
        for day in (begin + timedelta(days=ahead) for ahead in range(MOST_DAYS)):
            if day > self.last:
                break
            if self.days(day, here.date()):
                skipped = bisect_left(self.seconds, passed) if day == here.date() else 0
                for second in self.seconds[skipped:]:
                    if (at := wall(day, second, zone)) > now:
                        yield at


@dataclass(frozen=True)
class Elapsed:
    """Every `step` seconds as they elapse; the seconds since 1970 leave `phase`."""

    step: int
    phase: int = 0

    def instants(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        """Find the next three instants; the zone does not matter.

        Raises `Unclear` for hours where the clock of the zone is not whole hours from UTC: which minute is meant?
        """
        offset = now.astimezone(zone).utcoffset() or timedelta()
        if self.step % HOUR == 0 and offset.seconds % HOUR:
            raise Unclear
        passed = int(now.timestamp())
        first = passed + self.step - (passed - self.phase) % self.step
        return [datetime.fromtimestamp(first + self.step * run, UTC) for run in range(RUNS)]


@dataclass(frozen=True)
class Starting:
    """Every `step` seconds from a second of a first day on: as they elapse, or on the `wall` clock of later days."""

    first: date
    second: int
    step: int
    wall: bool = False

    def instants(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        """Find the next three instants from the first one on."""
        start = wall(self.first, self.second, zone)
        if not self.wall:
            passed = max(0, -(-(now - start) // timedelta(seconds=self.step)))
            return [start + timedelta(seconds=self.step * (passed + run)) for run in range(RUNS)]
        clock = Calendar(any_day, range(self.second % self.step, DAY, self.step))
        return clock.instants(max(now, start - timedelta(seconds=1)), zone)


@dataclass(frozen=True)
class Length:
    """One run after a length of time: months, then days move the calendar and keep the wall clock, seconds elapse."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    at: int | None = None  # the second of that day, where the phrase names an hour

    def instants(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        """Find the one instant; a fraction of a second rounds up."""
        now = now.replace(microsecond=0) + timedelta(seconds=bool(now.microsecond))
        here = now.astimezone(zone)
        moved = here.replace(tzinfo=None)
        if self.months:
            months = moved.year * 12 + moved.month - 1 + self.months
            year, month = divmod(months, 12)
            moved = moved.replace(year=year, month=month + 1, day=min(moved.day, monthrange(year, month + 1)[1]))
        moved += timedelta(days=self.days)
        if self.at is not None:
            return [wall(moved.date(), self.at, zone)]
        if not (self.months or self.days):
            return [now + timedelta(seconds=self.seconds)]
        return [moved.replace(tzinfo=zone).astimezone(UTC) + timedelta(seconds=self.seconds)]


@dataclass(frozen=True)
class Union:
    """Several calendars: it runs when one of them does."""

    calendars: tuple[Calendar, ...]

    def instants(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        """Find the next three instants of all."""
        return sorted({at for calendar in self.calendars for at in calendar.instants(now, zone)})[:RUNS]


Reading = Calendar | Elapsed | Length | Starting | Union


def wall(day: date, second: int, zone: ZoneInfo) -> datetime:
    """Give the instant at which the clock of the zone shows this second of the day."""
    shown = datetime.combine(day, time(second // HOUR, second // 60 % 60, second % 60), zone)
    if shown.utcoffset() != shown.replace(fold=1).utcoffset():
        raise Unclear
    return shown.astimezone(UTC)


def any_day(day: date, today: date) -> bool:
    """Take every day."""
    del day, today
    return True


def weekdays(*numbers: int) -> Days:
    """Take the days of the week by their numbers; Monday is 0."""
    return lambda day, _: day.weekday() in numbers


def on_date(month: int | Sequence[int], number: int | Sequence[int], year: int | None = None) -> Days:
    """Take the days with these numbers in these months."""
    months = [month] if isinstance(month, int) else month
    numbers = [number] if isinstance(number, int) else number
    return lambda day, _: day.month in months and day.day in numbers and year in (None, day.year)


def of_month(*numbers: int) -> Days:
    """Take the days of every month with these numbers; -1 is the last day."""
    return lambda day, _: day.day in numbers or (-1 in numbers and (day + timedelta(days=1)).day == 1)


def nth_of_month(ordinals: Sequence[int], weekday: int, months: Sequence[int] = range(1, 13)) -> Days:
    """Take the first, second .. such weekday of these months; -1 is the last."""

    def among(day: date, _: date) -> bool:
        if day.weekday() != weekday or day.month not in months:
            return False
        last = (day + timedelta(days=7)).month != day.month
        return (day.day + 6) // 7 in ordinals or (last and -1 in ordinals)

    return among


def every_nth(n: int, *numbers: int) -> Days:
    """Take every nth occurrence of each of these weekdays, the first of 1970 being number 1."""

    def counted(day: date, _: date) -> bool:
        if day.weekday() not in numbers:
            return False
        return ((day - EPOCH).days // 7 + 1) % n == 0

    return counted


def every_nth_day(n: int) -> Days:
    """Take every nth day, 1970-01-01 being number 1."""
    return lambda day, _: ((day - EPOCH).days + 1) % n == 0


def stepped(n: int, first: date) -> Days:
    """Take every nth day, counted from a first one."""
    return lambda day, _: day >= first and (day - first).days % n == 0


def ahead(days: int) -> Days:
    """Take the day that is so many days after today."""
    return lambda day, today: day == today + timedelta(days=days)


def next_weekday(number: int) -> Days:
    """Take the first such weekday after today."""
    return lambda day, today: day > today and day.weekday() == number


def both(*conditions: Days) -> Days:
    """Take the days that every condition takes."""
    return lambda day, today: all(condition(day, today) for condition in conditions)


def but(days: Days, excepted: Days) -> Days:
    """Take the days without the excepted ones."""
    return lambda day, today: days(day, today) and not excepted(day, today)


def within(first: date = date.min, last: date = date.max) -> Days:
    """Take the days from the first to the last, both included."""
    return lambda day, _: first <= day <= last
