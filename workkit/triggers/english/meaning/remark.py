"""Remarks on what was understood: which of two common readings was taken, and how to say the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from workkit.text.calendar import WEEKDAY_NAMES, clock_text, full_date_text, time_text
from workkit.text.listing import ordinal
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.words import SECONDS
from workkit.triggers.english.meaning.here import Here, gap

_HOURS_ALONE: Final = re.compile(r"(1[3-9]|2[0-3])h", re.IGNORECASE)
_LAST_DOUBTFUL: Final = 7  # hours without am or pm up to this one often mean the afternoon
_EVERY_MONTH_HAS: Final = 28


def of_once(here: Here, parts: Parts, found: datetime) -> tuple[str, ...]:
    """Give the remarks on words that name one instant."""
    found_all = (_of_hour(parts), _of_weekday(here, parts, found), _of_midnight(here, parts), _of_ending(parts))
    return (*(sentence for some in found_all for sentence in some), *_twice(here, parts, found))


def of_recurring(here: Here, groups: Sequence[Parts]) -> tuple[str, ...]:
    """Give the remarks on words that recur."""
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
    """Tell that "at 5" is on the 24-hour clock."""
    doubtful = [time for time in parts.times if 3600 <= time < (_LAST_DOUBTFUL + 1) * 3600]
    if parts.bare and not parts.halved and parts.day_part is None and doubtful:
        hour, later = clock_text(doubtful[0]), clock_text(doubtful[0] + 12 * 3600)
        yield f'Without am or pm that is {hour}. Say "{later}" for the afternoon.'


def _of_days(parts: Parts) -> Iterator[str]:
    """Tell that some months have no such day."""
    unit = parts.step.unit if parts.step else None
    rare = [day for day in parts.days if day > _EVERY_MONTH_HAS]
    if rare and not parts.months and not parts.weekdays and (parts.monthly or unit == "month"):
        yield f'A month without a {ordinal(rare[0])} has no such run. Say "the last day of every month" for its end.'


def _of_counted(parts: Parts) -> Iterator[str]:
    """Tell that "every 2nd sunday of may 2027" counts sundays."""
    if parts.counted and parts.weekdays and parts.months:
        weekday, n = parts.weekdays[0]
        name = WEEKDAY_NAMES[weekday]
        yield f'That is each {ordinal(n)} {name}, counted from 1970. Say "the {ordinal(n)} {name.lower()} of" for one.'


def _of_window(parts: Parts) -> Iterator[str]:
    """Name the last run of a window that includes its last hour, where "until" would end sooner."""
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
    """Tell which week a weekday was taken for."""
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
    """Tell that the midnight of a day is taken for its beginning."""
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
    """Tell that the clock shows a time twice, and that the first is taken."""
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
