"""What a one-time phrase means: the one instant it names, on the wall clock of its zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from workkit.errors import PhraseError
from workkit.text.calendar import WEEKDAY_NAMES, time_text
from workkit.text.duration import MILLISECOND, age_text
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.meaning.here import Here, at_instant
from workkit.triggers.english.meaning.named_days import contradiction, days

_SECOND: Final = timedelta(seconds=1)
_MORNING: Final = 6 * 3600  # a night ends here
_LATEST: Final = timedelta(hours=5)  # "5 tonight" may also be 17:00
_SPANS: Final = 'Say a day and an hour, for example "1 March 2027 at 9am"'


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
    _check_several(here, parts)
    time = timedelta(seconds=parts.times[0] if parts.times else 0)
    if parts.day == 0 and parts.day_part == "night" and not time:
        time = timedelta(days=1)  # midnight tonight
    fixed = parts.day is not None or bool(parts.years) or parts.month_ahead is not None
    for day in days(here, parts):
        found = at_instant(here, datetime.combine(day, datetime.min.time()) + time)
        if found > here.now or fixed or (parts.this and day == here.local.date()):
            contradiction(here, parts, day=day)
            _check_night(here, parts, day=day, time=time)
            return found
    raise here.refusal("never comes", "Name a date that there is")


def _check_several(here: Here, parts: Parts) -> None:
    """Refuse several times, days or months, which nothing says to recur."""
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
    """Refuse the small hours of a named night: they may be those in which it begins, or ends."""
    named = parts.day is not None or parts.weekdays or parts.days or parts.places
    if parts.day_part == "night" and named and parts.times and time < timedelta(seconds=_MORNING):
        midnight = datetime.combine(day, datetime.min.time())
        late = timedelta(hours=12) if time >= _LATEST else timedelta(days=1)
        ways = dict.fromkeys(midnight + time + later for later in (timedelta(), late, timedelta(days=1)))
        choices = " or ".join(f'"{at:%Y-%m-%d} {time_text(at)}"' for at in ways if at > here.local)
        raise here.refusal("may mean that hour before the night, or at its end", f"Say {choices}")


def _check(here: Here, parts: Parts) -> None:
    """Refuse what is no instant, or mixes ways to say one."""
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
    """Say what to do about two times; 20h beside a day was perhaps an hour."""
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


def ceiling(moment: datetime) -> datetime:
    """Round up to the whole second, in UTC."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0) + (_SECOND if moment.microsecond else timedelta(0))
