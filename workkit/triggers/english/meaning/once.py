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
from workkit.triggers.english.grammar.said import LAST, Said
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


def instant(here: Here, said: Said) -> datetime:
    """Give the whole UTC second that was said; raise PhraseError where it is past, skipped, or no instant."""
    try:
        found = _found(here, said)
    except PhraseError:
        raise
    except (OverflowError, ValueError) as cause:
        raise here.refusal("is out of range", "Dates go up to the year 9999") from cause
    if found < here.now:
        gone = f"{found:%Y-%m-%d %H:%M} UTC passed {age_text((here.now - found) / MILLISECOND)} ago"
        raise here.refusal(f": {gone}", "Give a later time, or use schedule.add_now")
    if found == here.now and not said.now:
        raise here.refusal(": that is this very moment", 'Give a later time, or say "now"')
    return found


def _found(here: Here, said: Said) -> datetime:
    _check(here, said)
    if said.now:
        return ceiling(here.now)
    if said.instant is not None:
        return ceiling(said.instant)
    if said.amount is not None:
        return _later(here, said)
    if len(said.times) > 1 or len(said.days) + len(said.places) > 1 or len(said.months) > 1:
        raise here.refusal("names several times but not that they recur", 'Say "every" in front, or one of them')
    time = timedelta(seconds=said.times[0] if said.times else 0)
    for day in _days(here, said):
        found = at(here, datetime.combine(day, datetime.min.time()) + time)
        if found > here.now or said.day is not None or said.years:
            _contradiction(here, said, day=day)
            return found
    raise here.refusal("never comes", "Name a date that there is")


def _check(here: Here, said: Said) -> None:
    """Refuse what is no instant, or mixes ways to say one."""
    ways = [said.now, said.instant is not None, said.amount is not None, said.day is not None, bool(said.weekdays)]
    alone = said.now or said.instant is not None or said.amount is not None
    dated = bool(said.days or said.months or said.years)
    if not any((*ways, dated, said.places, said.times, said.part)):
        raise here.refusal("names no time", 'Say for example "tomorrow at 9am"')
    if (alone and (sum(ways) > 1 or dated)) or (said.day is not None and (dated or said.weekdays)):
        raise here.refusal("names two times", "Say one")
    if (said.now or said.instant is not None) and (said.times or said.part):
        raise here.refusal("names two times", "Say one")
    if said.start or said.end or said.window or said.marks or said.without or said.either:
        raise here.refusal("bounds what does not recur", 'Say what recurs, for example "every day at 9am until ..."')
    if dated and not said.days and not said.places:
        raise here.refusal("is a span, not an instant", _SPANS)
    if dated and not said.months and (said.places or said.years):
        raise here.refusal("does not say which month", _SPANS)
    if said.part and not said.times and said.amount is None:
        raise here.refusal("does not say which hour", f'Say for example "tomorrow at {_HOURS[said.part]}"')
    if said.day == 0 and not said.times:
        raise here.refusal("is a whole day", 'Say the hour: "today at 5pm"')


_HOURS: Final = {"morning": "9am", "afternoon": "3pm", "evening": "7pm", "night": "10pm"}


def _later(here: Here, said: Said) -> datetime:
    """Move the calendar by months and days on the wall clock, then let the rest elapse."""
    amount = said.amount
    assert amount is not None
    elapsed = timedelta(microseconds=-(-amount.seconds * 1_000_000 // 1))
    if said.times or said.part:
        if amount.seconds or not said.times or len(said.times) > 1:
            raise here.refusal("names two times", "Say one")
        day = (here.local + relativedelta(months=amount.months) + timedelta(days=amount.days)).date()
        start = datetime.combine(day, datetime.min.time()) + timedelta(seconds=said.times[0])
        return at(here, start)
    if not amount.months and not amount.days:
        return ceiling(here.now + elapsed)
    moved = here.local + relativedelta(months=amount.months) + timedelta(days=amount.days)
    return ceiling(at(here, moved) + elapsed)


def at(here: Here, wall: datetime) -> datetime:
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


def _days(here: Here, said: Said) -> Iterator[date]:
    """Yield the days that could be meant, soonest first."""
    today = here.local.date()
    if said.day is not None:
        yield today + timedelta(days=said.day)
    elif said.days or said.places:
        yield from _dates(said, today=today)
    elif said.weekdays:
        yield today + timedelta(days=(said.weekdays[0][0] - today.isoweekday() - 1) % 7 + 1)
    else:
        yield today
        yield today + timedelta(days=1)


def first_day(here: Here, said: Said) -> date:
    """Give the first day from today on that `said` can mean, as a bound; a past one only if it is said in full."""
    today = here.local.date()
    for day in _days(here, said):
        if day >= today or said.years or said.day is not None:
            _contradiction(here, said, day=day)
            return day
    raise here.refusal("never comes", "Name a date that there is")


def _dates(said: Said, *, today: date) -> Iterator[date]:
    """Yield each date of the said year, month and day of month, from today's month on; years passed give all."""
    year, month = (said.years[0], 1) if said.years else (today.year, today.month)
    for _ in range(12 if said.years else 12 * 9):
        if not said.months or said.months[0][0] == month:
            found = day_of_month(year, month, said)
            if found is not None:
                yield found
        year, month = year + month // 12, month % 12 + 1


def day_of_month(year: int, month: int, said: Said) -> date | None:
    """Give the one day of that month which `days` or `places` name, if it has it."""
    if year > 9999:
        return None
    first = date(year, month, 1)
    length = ((first + timedelta(days=31)).replace(day=1) - first).days if (year, month) != (9999, 12) else 31
    if said.days:
        day = length if said.days[0] == LAST else said.days[0]
        return first.replace(day=day) if day <= length else None
    k, weekday = said.places[0]
    day = (weekday - first.isoweekday()) % 7 + 1
    day += (length - day) // 7 * 7 if k == LAST else (k - 1) * 7
    return first.replace(day=day) if day <= length else None


def _contradiction(here: Here, said: Said, *, day: date) -> None:
    if said.weekdays and (said.days or said.places) and day.isoweekday() % 7 != said.weekdays[0][0]:
        is_, not_ = weekday_name(day), WEEKDAY_NAMES[said.weekdays[0][0]]
        raise here.refusal(
            f"contradicts itself: {date_text(day)} is a {is_}, not a {not_}", "Correct the day or the date"
        )


def ceiling(moment: datetime) -> datetime:
    """Round up to the whole second, in UTC."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0) + (_SECOND if moment.microsecond else timedelta(0))
