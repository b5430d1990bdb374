"""What a one-time phrase means: the one instant it names, on the wall clock of its zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from workkit.errors import PhraseError
from workkit.text.calendar import WEEKDAY_NAMES, date_text, time_text, weekday_name
from workkit.text.duration import MILLISECOND, age_text
from workkit.triggers.crons.branch import month_length
from workkit.triggers.english.grammar.parts import LAST, Parts
from workkit.triggers.english.grammar.words import quote

_SECOND: Final = timedelta(seconds=1)
_SPANS: Final = 'Say a day and an hour, for example "1 March 2027 at 9am"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What a phrase is read against: its own text, the time and the zone."""

    text: str
    now: datetime
    zone: ZoneInfo

    @property
    def local(self) -> datetime:
        """The naive wall clock in the zone."""
        return self.wall(self.now)

    def wall(self, moment: datetime) -> datetime:
        """Give the wall clock at an instant, naive; its `fold` tells the second of two equal times."""
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def refusal(self, trouble: str, remedy: str | None = None) -> PhraseError:
        """Make the error about the phrase as a whole."""
        message = f"{quote(self.text)}{'' if trouble.startswith(':') else ' '}{trouble}."
        return PhraseError(
            f"{message} {remedy}." if remedy else message,
            given=self.text,
            position=0,
            trouble=trouble,
            remedy=f"{remedy}." if remedy else None,
            accepted=remedy,
        )


def instant_meant(here: Here, parts: Parts) -> datetime:
    """Give the UTC instant that the words name: a whole second, but for a length from now. Raise PhraseError where it
    is past, skipped, or no instant.
    """
    try:
        found = _found(here, parts)
    except PhraseError:
        raise
    except (OverflowError, ValueError) as cause:
        raise here.refusal("is out of range", "Dates go up to the year 9999") from cause
    if found < here.now:
        gone = f"{found:%Y-%m-%d %H:%M} UTC passed {age_text((here.now - found) / MILLISECOND)} ago"
        raise here.refusal(f": {gone}", "Give a later time, or use schedule.add_now")
    if found == here.now and not parts.now:
        raise here.refusal(": that is this very moment", 'Give a later time, or say "now"')
    return found


def _found(here: Here, parts: Parts) -> datetime:
    _check(here, parts)
    if parts.now:
        return ceiling(here.now)
    if parts.instant is not None:
        return ceiling(parts.instant)
    if parts.amount is not None:
        return _later(here, parts)
    if len(parts.times) > 1 or len(parts.days) + len(parts.places) > 1 or len(parts.months) > 1:
        raise here.refusal("names several times but not that they recur", 'Say "every" in front, or one of them')
    time = timedelta(seconds=parts.times[0] if parts.times else 0)
    for day in _days(here, parts):
        found = at_instant(here, datetime.combine(day, datetime.min.time()) + time)
        if found > here.now or parts.day is not None or parts.years:
            _contradiction(here, parts, day=day)
            return found
    raise here.refusal("never comes", "Name a date that there is")


def _check(here: Here, parts: Parts) -> None:
    """Refuse what is no instant, or mixes ways to say one."""
    ways = [parts.now, parts.instant is not None, parts.amount is not None, parts.day is not None, bool(parts.weekdays)]
    alone = parts.now or parts.instant is not None or parts.amount is not None
    dated = bool(parts.days or parts.months or parts.years)
    if not any((*ways, dated, parts.places, parts.times, parts.day_part)):
        raise here.refusal("names no time", 'Say for example "tomorrow at 9am"')
    if (alone and (sum(ways) > 1 or dated)) or (parts.day is not None and (dated or parts.weekdays)):
        raise here.refusal("names two times", "Say one")
    if (parts.now or parts.instant is not None) and (parts.times or parts.day_part):
        raise here.refusal("names two times", "Say one")
    if parts.start or parts.end or parts.from_time or parts.window or parts.marks or parts.without or parts.either:
        raise here.refusal("bounds what does not recur", 'Say what recurs, for example "every day at 9am until ..."')
    if dated and not parts.days and not parts.places:
        raise here.refusal("is a span, not an instant", _SPANS)
    if dated and not parts.months and (parts.places or parts.years):
        raise here.refusal("does not say which month", _SPANS)
    if parts.day_part and not parts.times and parts.amount is None:
        raise here.refusal("does not say which hour", f'Say for example "tomorrow at {_HOURS[parts.day_part]}"')
    if parts.day == 0 and not parts.times:
        raise here.refusal("is a whole day", 'Say the hour: "today at 5pm"')


_HOURS: Final = {"morning": "9am", "afternoon": "3pm", "evening": "7pm", "night": "10pm"}


def _later(here: Here, parts: Parts) -> datetime:
    """Move the calendar by months and days on the wall clock, then let the rest elapse."""
    amount = parts.amount
    assert amount is not None
    elapsed = timedelta(microseconds=-(-amount.seconds * 1_000_000 // 1))
    if parts.times or parts.day_part:
        if amount.seconds or not parts.times or len(parts.times) > 1:
            raise here.refusal("names two times", "Say one")
        day = (here.local + relativedelta(months=amount.months) + timedelta(days=amount.days)).date()
        start = datetime.combine(day, datetime.min.time()) + timedelta(seconds=parts.times[0])
        return at_instant(here, start)
    if not amount.months and not amount.days:
        return here.now + elapsed
    moved = here.local + relativedelta(months=amount.months) + timedelta(days=amount.days)
    return at_instant(here, moved) + elapsed


def at_instant(here: Here, wall: datetime) -> datetime:
    """Give the UTC instant of a wall-clock time, the first if there are two; refuse one that is skipped."""
    found = wall.replace(tzinfo=here.zone).astimezone(UTC)
    if found.astimezone(here.zone).replace(tzinfo=None) == wall:
        return found
    shown = [time_text(t) for t in gap(wall, here.zone)]
    later = time_text(found.astimezone(here.zone))
    raise here.refusal(
        f"does not exist in {here.zone.key}: clocks go from {shown[0]} to {shown[1]} then",
        f"Say {_half_day(later)}, or give UTC",
    )


def gap(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Give the wall clock just before and just after the change that skips `wall`."""
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    low, high = min(low, high) - timedelta(hours=1), max(low, high) + timedelta(hours=1)
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
    change = high.replace(microsecond=0)
    assert before is not None
    return (change + before).replace(tzinfo=None), change.astimezone(zone).replace(tzinfo=None)


def _half_day(time: str) -> str:
    hour, rest = time.split(":", 1)
    return f"{(int(hour) - 1) % 12 + 1}:{rest}{'am' if int(hour) < 12 else 'pm'}"


def _days(here: Here, parts: Parts) -> Iterator[date]:
    """Yield the days that the words may name, soonest first."""
    today = here.local.date()
    if parts.day is not None:
        yield today + timedelta(days=parts.day)
    elif parts.days or parts.places:
        yield from _dates(parts, today=today)
    elif parts.weekdays:
        yield today + timedelta(days=(parts.weekdays[0][0] - today.isoweekday() - 1) % 7 + 1)
    else:
        yield today
        yield today + timedelta(days=1)


def first_day(here: Here, parts: Parts) -> date:
    """Give the first day from today on that the words may name, as a bound; a past one only if it is named in full."""
    today = here.local.date()
    for day in _days(here, parts):
        if day >= today or parts.years or parts.day is not None:
            _contradiction(here, parts, day=day)
            return day
    raise here.refusal("never comes", "Name a date that there is")


def _dates(parts: Parts, *, today: date) -> Iterator[date]:
    """Yield each date of the named year, month and day of month, from today's month on; years passed give all."""
    year, month = (parts.years[0], 1) if parts.years else (today.year, today.month)
    for _ in range(12 if parts.years else 12 * 9):
        if not parts.months or parts.months[0][0] == month:
            found = day_of_month(year, month, parts)
            if found is not None:
                yield found
        year, month = year + month // 12, month % 12 + 1


def day_of_month(year: int, month: int, parts: Parts) -> date | None:
    """Give the one day of that month which `days` or `places` name, if it has it."""
    if year > 9999:
        return None
    first = date(year, month, 1)
    length = month_length(year, month)
    if parts.days:
        day = length if parts.days[0] == LAST else parts.days[0]
        return first.replace(day=day) if day <= length else None
    k, weekday = parts.places[0]
    day = (weekday - first.isoweekday()) % 7 + 1
    day += (length - day) // 7 * 7 if k == LAST else (k - 1) * 7
    return first.replace(day=day) if day <= length else None


def _contradiction(here: Here, parts: Parts, *, day: date) -> None:
    if parts.weekdays and (parts.days or parts.places) and day.isoweekday() % 7 != parts.weekdays[0][0]:
        is_, not_ = weekday_name(day), WEEKDAY_NAMES[parts.weekdays[0][0]]
        raise here.refusal(
            f"contradicts itself: {date_text(day)} is a {is_}, not a {not_}", "Correct the day or the date"
        )


def ceiling(moment: datetime) -> datetime:
    """Round up to the whole second, in UTC."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0) + (_SECOND if moment.microsecond else timedelta(0))
