"""The context of a phrase: its text, the present and the zone. Also remarks on the chosen one of two readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from workkit.errors import PhraseError
from workkit.text.wording import WEEKDAY_NAMES, clock_text, full_date_text, ordinal, time_text
from workkit.triggers.english.reader import Parts
from workkit.triggers.english.words import SECONDS, quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The context of a phrase: its own text, the present and the zone."""

    text: str
    now: datetime
    zone: ZoneInfo
    offset: timedelta | None = None
    """The offset east of UTC; its wall clock replaces the zone's."""

    @property
    def clock(self) -> tzinfo:
        """The zone or offset that has the wall clock of the phrase."""
        return self.zone if self.offset is None else timezone(self.offset)

    @property
    def local(self) -> datetime:
        """The naive wall clock of the present."""
        return self.wall(self.now)

    def wall(self, moment: datetime) -> datetime:
        """Return the naive wall clock at an instant; `fold` marks the second of two equal times."""
        return moment.astimezone(self.clock).replace(tzinfo=None)

    def refusal(self, trouble: str, remedy: str | None = None, *, offered: str | None = None) -> PhraseError:
        """Make the error about the phrase as a whole; `offered` is a whole text that the remedy quotes."""
        message = f"{quote(self.text)}{'' if trouble.startswith(':') else ' '}{trouble}."
        error = PhraseError(
            f"{message} {remedy}." if remedy else message,
            given=self.text,
            position=0,
            trouble=trouble,
            remedy=f"{remedy}." if remedy else None,
            accepted=remedy,
        )
        error.offered = () if offered is None else (offered,)
        return error


def at_instant(here: Here, wall: datetime) -> datetime:
    """Return the UTC instant of a wall-clock time, the first if there are two. Raise PhraseError for a skipped time."""
    found = wall.replace(tzinfo=here.clock).astimezone(UTC)
    if found.astimezone(here.clock).replace(tzinfo=None) == wall:
        return found
    shown = [time_text(t) for t in gap(wall, here.zone)]
    later = time_text(found.astimezone(here.zone))
    raise here.refusal(
        f"does not exist in {here.zone.key}: clocks go from {shown[0]} to {shown[1]} then",
        f"Say {_half_day(later)}, or give UTC",
    )


def gap(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the wall clock just before and just after the change that skips `wall`, or shows it twice."""
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    low, high = min(low, high) - timedelta(hours=1), max(low, high) + timedelta(hours=1)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
    change = high.replace(microsecond=0)
    assert before is not None
    return (change + before).replace(tzinfo=None), change.astimezone(zone).replace(tzinfo=None)


def _half_day(time: str) -> str:
    hour, rest = time.split(":", 1)
    return f"{(int(hour) - 1) % 12 + 1}:{rest}{'am' if int(hour) < 12 else 'pm'}"


_HOURS_ALONE: Final = re.compile(r"(1[3-9]|2[0-3])h", re.IGNORECASE)
_LAST_DOUBTFUL: Final = 7  # hours without am or pm up to this one often mean the afternoon
_EVERY_MONTH_HAS: Final = 28


def of_once(here: Here, parts: Parts, found: datetime) -> tuple[str, ...]:
    """Return the remarks on words that name one instant."""
    found_all = (_of_hour(parts), _of_weekday(here, parts, found), _of_midnight(here, parts), _of_ending(parts))
    return (*(sentence for some in found_all for sentence in some), *_twice(here, parts, found))


def of_recurring(here: Here, groups: Sequence[Parts]) -> tuple[str, ...]:
    """Return the remarks on words that recur."""
    found = [
        sentence
        for parts in groups
        for some in (_of_hour, _of_window, _of_days, _of_counted)
        for sentence in some(parts)
    ]
    if any(parts.times == (0,) and (parts.weekdays or parts.days or parts.places) for parts in groups):
        found += _of_midnight_text(here)
    if re.search(r"\b(work(ing)?|business) ?days?\b", here.text, re.IGNORECASE):
        found.append("Working days are Monday to Friday; holidays are not left out.")
    return tuple(found)


def _of_hour(parts: Parts) -> Iterator[str]:
    """Remark that "at 5" is on the 24-hour clock."""
    doubtful = [time for time in parts.times if 3600 <= time < (_LAST_DOUBTFUL + 1) * 3600]
    if parts.bare and not parts.halved and parts.day_part is None and doubtful:
        hour, later = clock_text(doubtful[0]), clock_text(doubtful[0] + 12 * 3600)
        yield f'Without am or pm that is {hour}. Say "{later}" for the afternoon.'


def _of_days(parts: Parts) -> Iterator[str]:
    """Remark that some months have no such day."""
    unit = parts.step.unit if parts.step else None
    rare = [day for day in parts.days if day > _EVERY_MONTH_HAS]
    if rare and not parts.months and not parts.weekdays and (parts.monthly or unit == "month"):
        yield f'A month without a {ordinal(rare[0])} has no such run. Say "the last day of every month" for its end.'


def _of_counted(parts: Parts) -> Iterator[str]:
    """Remark that "every 2nd sunday of may 2027" counts sundays."""
    if parts.counted and parts.weekdays and parts.months:
        weekday, n = parts.weekdays[0]
        name = WEEKDAY_NAMES[weekday]
        yield f'That is each {ordinal(n)} {name}, counted from 1970. Say "the {ordinal(n)} {name.lower()} of" for one.'


def _of_window(parts: Parts) -> Iterator[str]:
    """Remark on the last run of a window that includes its last hour, if "until" would end sooner."""
    if parts.window is None or parts.named_end is None or parts.step is None:
        return
    (first, end), step = parts.window, parts.step
    last = end - end % (SECONDS.get(step.unit, 1) * step.n)
    if parts.marks:
        last = end - end % 3600 + max(parts.marks) * 60
    if last > parts.named_end:
        named = clock_text(parts.named_end)
        yield (
            f"The last run of the day is at {clock_text(last)}. "
            f'Say "from {clock_text(first)} until {named}" to end with the run at {named}.'
        )


def _of_weekday(here: Here, parts: Parts, found: datetime) -> Iterator[str]:
    """Remark on the week that a weekday belongs to."""
    if not parts.weekdays or parts.days or parts.places or parts.this or parts.week or parts.moved:
        return
    today, day = here.local.date(), here.wall(found).date()
    name = WEEKDAY_NAMES[parts.weekdays[0][0]].lower()
    if today.isoweekday() == day.isoweekday() and not parts.following:
        yield f'"{name}" is read as {full_date_text(day)}, not today. Say "this {name}" for today.'
    if parts.following and _week(day) == _week(today):
        later = day + timedelta(days=7)
        yield f'"next {name}" is read as {full_date_text(day)}. Say "{name} next week" for {full_date_text(later)}.'


def _week(day: date) -> tuple[int, int]:
    return day.isocalendar()[:2]


def _of_midnight(here: Here, parts: Parts) -> Iterator[str]:
    """Remark that the midnight of a day is its beginning."""
    named = parts.day is not None or parts.weekdays or parts.days
    if named and parts.times == (0,) and parts.day_part != "night":
        yield from _of_midnight_text(here)
    if parts.amount is not None and (match := _HOURS_ALONE.fullmatch(here.text.strip())):
        yield f'"{match[0]}" is read as a length. Say "{match[1]}:00" for the hour.'


def _of_midnight_text(here: Here) -> Iterator[str]:
    if "midnight" in here.text.lower():
        yield '"midnight" is read as 0:00, the beginning of that day. Say "23:59", or the next day, for its end.'


def _of_ending(parts: Parts) -> Iterator[str]:
    if parts.ending == "month" and not parts.months and parts.month_ahead is None:
        yield 'It runs once. Say "the end of every month" for each month.'


def _twice(here: Here, parts: Parts, found: datetime) -> Iterator[str]:
    """Remark that the clock shows a time twice, and that the first one is used."""
    if here.offset is not None or parts.now or parts.instant or (parts.amount and parts.amount.seconds):
        return
    wall = here.wall(found)
    second = wall.replace(tzinfo=here.zone, fold=1).astimezone(UTC)
    if wall.fold or second <= found or second.astimezone(here.zone).replace(tzinfo=None) != wall:
        return
    before, after = (time_text(at) for at in gap(wall.replace(fold=0), here.zone))
    yield (
        f"{time_text(wall)} on {full_date_text(wall)} comes twice in {here.zone.key}: clocks go back from {before} to "
        f'{after} then. It runs at the first. Say "{second:%Y-%m-%dT%H:%M:%SZ}" for the second.'
    )
