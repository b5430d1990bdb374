"""The days that a one-time phrase may name, and the one instant that it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from workkit.errors import PhraseError
from workkit.text.wording import (
    MILLISECOND,
    WEEKDAY_NAMES,
    age_text,
    clock_text,
    date_text,
    ordinal,
    time_text,
    weekday_name,
)
from workkit.triggers.crons.branch import month_length
from workkit.triggers.english.here import Here, at_instant
from workkit.triggers.english.reader import LAST, Parts


def days(here: Here, parts: Parts) -> Iterator[date]:
    """Yield the days that the words may name, soonest first."""
    if not parts.moved:
        yield from _days_named(here, parts)
        return
    today = here.local.date()
    for day in _days_named(here, parts):
        if parts.weekdays and parts.moved > 0 and today.isoweekday() == day.isoweekday():
            remedy = _either(parts, *(at + timedelta(days=parts.moved) for at in (today, day)))
            raise here.refusal("may count from today or from the next such day", remedy)
        if day >= today or parts.years:
            yield day + timedelta(days=parts.moved)


def _days_named(here: Here, parts: Parts) -> Iterator[date]:
    """Yield the named days; other days are counted from them."""
    today = here.local.date()
    if parts.day is not None:
        yield today + timedelta(days=parts.day)
    elif parts.days or parts.places:
        yield from _dates(parts, today=today)
    elif parts.weekdays:
        weekday = parts.weekdays[0][0]
        if parts.week:
            yield _next_week(here, parts)
        elif parts.this and today.isoweekday() % 7 == weekday:
            yield today
        else:
            yield today + timedelta(days=(weekday - today.isoweekday() - 1) % 7 + 1)
    else:
        yield today
        yield today + timedelta(days=1)


def _either(parts: Parts, *days: date) -> str:
    """Return the advice to write one of the dates, with the hour if the phrase has one."""
    hour = f" {clock_text(parts.times[0])}" if parts.times else ""
    choices = " or ".join(f'"{day}{hour}"' for day in days)
    return f"Say {choices}" if hour else f"Say {choices}, and the hour"


def _next_week(here: Here, parts: Parts) -> date:
    """Return that day of next week, if weeks from Monday and weeks from Sunday agree about it."""
    today, weekday = here.local.date(), parts.weekdays[0][0]
    by_monday = today + timedelta(days=7 - (today.isoweekday() - 1) + (weekday - 1) % 7)
    by_sunday = today + timedelta(days=7 - today.isoweekday() % 7 + weekday)
    if by_monday != by_sunday:
        raise here.refusal("depends on the day that begins a week", _either(parts, *sorted((by_monday, by_sunday))))
    return by_monday


def first_day(here: Here, parts: Parts) -> date:
    """Return the first day from today on that the words may name, as a bound; a past day only if named in full."""
    today = here.local.date()
    for day in days(here, parts):
        if day >= today or parts.years or parts.day is not None:
            _contradiction(here, parts, day=day)
            return day
    raise here.refusal("never comes", "Name a date that there is")


def _dates(parts: Parts, *, today: date) -> Iterator[date]:
    """Yield each date of the named year, month and day of month, from today's month on; past years yield all."""
    year, month = (parts.years[0], 1) if parts.years else (today.year, today.month)
    months = {month for month, _ in parts.months}
    if parts.month_ahead is not None:
        year, month = year + (month + parts.month_ahead > 12), (month + parts.month_ahead - 1) % 12 + 1
        months.add(month)
    for _ in range(12 if parts.years or parts.month_ahead is not None else 12 * 9):
        if not months or month in months:
            found = day_of_month(year, month, parts)
            if found is not None:
                yield found
        year, month = year + month // 12, month % 12 + 1


def day_of_month(year: int, month: int, parts: Parts) -> date | None:
    """Return the one day of that month that `days` or `places` name; None if the month lacks it."""
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
    """Refuse a weekday that is not the one of the date."""
    if parts.weekdays and (parts.days or parts.places) and day.isoweekday() % 7 != parts.weekdays[0][0]:
        is_, not_ = weekday_name(day), WEEKDAY_NAMES[parts.weekdays[0][0]]
        remedy = "Correct the day or the date"
        if len(parts.days) == 1 and parts.days[0] > 0 and not parts.months:
            remedy += f', or say "every {not_.lower()} the {ordinal(parts.days[0])}"'
        raise here.refusal(f"contradicts itself: {date_text(day)} is a {is_}, not a {not_}", remedy)


_SECOND: Final = timedelta(seconds=1)
_MORNING: Final = 6 * 3600  # a night ends here
_LATEST: Final = timedelta(hours=5)  # "5 tonight" may also be 17:00
_SPANS: Final = 'Say a day and an hour, for example "1 March 2027 at 9am"'


def instant_meant(here: Here, parts: Parts) -> datetime:
    """Return the UTC instant that the words name: a whole second, except for a length from now. Raise PhraseError if it
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
        return _ceiling(here.now)
    if parts.instant is not None:
        return _ceiling(parts.instant)
    if parts.amount is not None:
        return _later(here, parts)
    _check_several(here, parts)
    time = timedelta(seconds=parts.times[0] if parts.times else 0)
    if parts.day == 0 and parts.day_part == "night" and not time:
        time = timedelta(days=1)  # midnight tonight
    fixed = parts.day is not None or bool(parts.years) or parts.month_ahead is not None
    for day in days(here, parts):
        found = at_instant(here, datetime.combine(day, datetime.min.time()) + time)
        if found > here.now or fixed or (parts.this and day == here.local.date()):
            _contradiction(here, parts, day=day)
            _check_night(here, parts, day=day, time=time)
            return found
    raise here.refusal("never comes", "Name a date that there is")


def _check_several(here: Here, parts: Parts) -> None:
    """Refuse several times, days or months without a word that makes them recur."""
    trouble = "names several times but not that they recur"
    if len(parts.times) > 1:
        said = f"every day {here.text.strip()}"
        raise here.refusal(trouble, f'Say "{said}", or one of them', offered=said)
    if len(parts.days) > 1 and not (parts.places or parts.months):
        bare = re.sub(r"^(on )?(the )?", "", here.text.strip(), flags=re.IGNORECASE)
        raise here.refusal(trouble, f'Say "every {bare}", or one of them', offered=f"every {bare}")
    if len(parts.days) + len(parts.places) > 1:
        raise here.refusal(trouble, 'Say "every" in front, or one of them')
    if len(parts.months) > 1 and not parts.nearest:
        raise here.refusal(trouble, 'Say "every" in front, or one of them')


def _check_night(here: Here, parts: Parts, *, day: date, time: timedelta) -> None:
    """Refuse the small hours of a named night: they may belong to its beginning or to its end."""
    named = parts.day is not None or parts.weekdays or parts.days or parts.places
    if parts.day_part == "night" and named and parts.times and time < timedelta(seconds=_MORNING):
        midnight = datetime.combine(day, datetime.min.time())
        late = timedelta(hours=12) if time >= _LATEST else timedelta(days=1)
        ways = dict.fromkeys(midnight + time + later for later in (timedelta(), late, timedelta(days=1)))
        choices = " or ".join(f'"{at:%Y-%m-%d} {time_text(at)}"' for at in ways if at > here.local)
        raise here.refusal("may mean that hour before the night, or at its end", f"Say {choices}")


def _check(here: Here, parts: Parts) -> None:
    """Refuse words that name no instant, or that mix ways to name one."""
    ways = [parts.now, parts.instant is not None, parts.amount is not None, parts.day is not None, bool(parts.weekdays)]
    alone = parts.now or parts.instant is not None or parts.amount is not None
    dated = bool(parts.days or parts.months or parts.years)
    if not any((*ways, dated, parts.places, parts.times, parts.day_part)) and parts.marks:
        raise here.refusal("names a minute but no hour", f'Say "every hour at :{parts.marks[0]:02}", or a full time')
    if parts.window:
        said = f"every hour {here.text.strip()}"
        raise here.refusal("does not say how often in that window", f'Say for example "{said}"', offered=said)
    bounded = parts.start or parts.end or parts.from_time
    if not any((*ways, dated, parts.places, parts.times, parts.day_part, bounded)):
        raise here.refusal("names no time", 'Say for example "tomorrow at 9am"')
    if parts.amount is not None and parts.weekdays and parts.amount.days:
        name = WEEKDAY_NAMES[parts.weekdays[0][0]].lower()
        remedy = f'Say "{parts.amount.days} days from {name}", or write the date'
        raise here.refusal("may name that day, or count from it", remedy)
    if (alone and (sum(ways) > 1 or dated)) or (parts.day is not None and (dated or parts.weekdays)):
        raise here.refusal("names two times", _one_of(here))
    if (parts.now or parts.instant is not None) and (parts.times or parts.day_part):
        raise here.refusal("names two times", "Say one")
    if bounded or parts.marks or parts.without or parts.either:
        raise here.refusal("bounds what does not recur", 'Say what recurs, for example "every day at 9am until ..."')
    if dated and not parts.days and not parts.places:
        raise here.refusal("is a span, not an instant", _SPANS)
    if dated and not parts.months and (parts.places or parts.years):
        raise here.refusal("does not say which month", _SPANS)
    if parts.moved and (bool(parts.weekdays) + bool(parts.days) + (parts.day is not None)) > 1:
        raise here.refusal("names two times", "Say one")
    if parts.day_part and not parts.times and parts.amount is None:
        said = f"{here.text.strip()} at {HOURS[parts.day_part]}"
        raise here.refusal("does not say which hour", f'Say for example "{said}"', offered=said)
    check_ending(here, parts)
    if parts.day == 0 and not parts.moved and not parts.times:
        said = f"{here.text.strip()} at 5pm"
        raise here.refusal("began at 0:00, which is past", f'Say the hour, for example "{said}"')


def _one_of(here: Here) -> str:
    """Return the advice about two times; 20h beside a day may be an hour of the day."""
    hour = re.sub(r"\b(\d|1\d|2[0-3])h\b", r"\1:00", here.text.strip(), count=1, flags=re.IGNORECASE)
    return "Say one" if hour == here.text.strip() else f'Say "{hour}" for the hour, or one of them'


def check_ending(here: Here, parts: Parts) -> None:
    """Refuse "end of month" without an hour: its last day begins long before it ends."""
    if parts.ending and not parts.times:
        said = f"{here.text.strip()} at 5pm"
        remedy = f'Say it, for example "{said}", or at 23:59 for its very end'
        raise here.refusal("does not say which hour of the last day", remedy, offered=said)


HOURS: Final = {"morning": "9am", "afternoon": "3pm", "evening": "7pm", "night": "10pm"}
"""An example of an hour for each part of the day."""


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


def _ceiling(moment: datetime) -> datetime:
    """Round up to the whole second, in UTC."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0) + (_SECOND if moment.microsecond else timedelta(0))
