"""`start=` and `end=`: the bounds of a recurring time; `done_by=`: a deadline. Pure: `now` is passed in."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from workkit.errors import InvalidOptions, PhraseError, TriggerError
from workkit.text.wording import time_text
from workkit.triggers.crons.field import NO_ZONE, refused
from workkit.triggers.phase import counted_from
from workkit.triggers.trigger import Trigger, deadline_of, once
from workkit.triggers.zone import zone

_AT = re.compile(r"^\s*at\s+", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_AGO = (datetime(1970, 1, 5, tzinfo=UTC), datetime(1971, 4, 8, tzinfo=UTC))


def between(trigger: Trigger, *, start: Any, end: Any, now: datetime, tz: str) -> Trigger:
    """Bound a trigger: it fires from `start` on and before `end`. A plain interval is also counted from `start`.

    Bounds are words in the zone `tz` or aware datetimes; None leaves a side open. They may be past, so that the same
    addition can be repeated. Raises TriggerError or PhraseError; InvalidOptions if the time itself has such a bound.
    """
    bounds = {"start": (start, trigger.start), "end": (end, trigger.end)}
    for name, (given, known) in bounds.items():
        if given is not None and known is not None:
            trouble, remedy = f"the time itself has one already ({_utc(known)})", "Keep one of them."
            raise InvalidOptions(
                f"{name}={_shown(given)}: {trouble}. {remedy}", given=given, where=name, trouble=trouble, remedy=remedy
            )
    remarks: list[str] = []
    read = {name: instant(name, given, now, tz, remarks) for name, (given, _) in bounds.items() if given is not None}
    if "start" in read:
        trigger = counted_from(trigger, read["start"])
    bounded = replace(
        trigger,
        start=read.get("start", trigger.start),
        end=read.get("end", trigger.end),
        warnings=(*trigger.warnings, *remarks),
    )
    if bounded.next_after(now - timedelta(seconds=1)) is None:
        both = " and ".join(f"{name}={_shown(given)}" for name, (given, _) in bounds.items() if given is not None)
        trouble, remedy = f"leave{'' if len(read) > 1 else 's'} no run", "Give other bounds."
        raise TriggerError(f"{both} {trouble}. {remedy}", given=both, where=both, trouble=trouble, remedy=remedy)
    return bounded


def days_from(period: timedelta, *, start: Any, now: datetime, tz: str) -> str | None:
    """Write a number of days, with the hour of their start, as words: "3 days at 9:00". None for another period.

    Raises what `between` raises for the start.
    """
    days, rest = divmod(period, timedelta(days=1))
    if days < 1 or rest:
        return None
    hour = time_text(instant("start", start, now, tz).astimezone(zone(tz)))
    return f"{'day' if days == 1 else f'{days} days'} at {hour}"


def instant(name: str, given: Any, now: datetime, tz: str, remarks: list[str] | None = None) -> datetime:
    """Read the instant of the option `name`, as a whole second in UTC. Puts remarks on its words into `remarks`. Raises
    TriggerError, PhraseError.
    """
    if isinstance(given, str):
        found = _words(name, given, now, tz, [] if remarks is None else remarks)
    elif isinstance(given, datetime):
        if given.utcoffset() is None:
            raise refused(TriggerError, name, repr(given), "has no zone", NO_ZONE, given=given)
        found = given.astimezone(UTC)
    elif isinstance(given, date):
        remedy = f'Write {name}="{given.isoformat()}", or a datetime.'
        raise refused(TriggerError, name, repr(given), "is a date: in which zone?", remedy, given=given)
    else:
        trouble, remedy = "is neither words nor a datetime", f'Write {name}="2030-01-01".'
        raise refused(TriggerError, name, repr(given), trouble, remedy, given=given)
    if found < _EPOCH:
        raise refused(TriggerError, name, _shown(given), "lies before 1970", given=given)
    return found.replace(microsecond=0) + timedelta(seconds=found.microsecond > 0)


def read_deadline(given: Any, *, due: datetime, now: datetime, tz: str, recurs: bool) -> Trigger:
    """Read `done_by=`: the first time of the returned trigger after a due time is the deadline of that run.

    Words that name a time of every day, week, month or year do not depend on the present. All others name an instant,
    which must be after `due`, the first due time; a job that `recurs` refuses them. Raises TriggerError, PhraseError.
    """
    known = deadline_of(given) if isinstance(given, str) else None
    found = known or (_repeated(given, now, tz) if isinstance(given, str) else None)
    if found is None:
        found = once(instant("done_by", given, now, tz))
    if recurs and not found.recurs:
        trouble, remedy = "is one instant, and the job recurs", 'Write a time of day: done_by="6am".'
        raise refused(TriggerError, "done_by", _shown(given), trouble, remedy, given=given)
    if found.next_after(due) is None:
        trouble, remedy = f"is not after the time at which the job is due ({_utc(due)})", "Give a later one."
        raise refused(TriggerError, "done_by", _shown(given), trouble, remedy, given=given)
    return found


def _repeated(given: str, now: datetime, tz: str) -> Trigger | None:
    """Read words that name a time of every day or week, such as "6am" or "friday 6pm"; None for other words."""
    from workkit.triggers.english import phrase
    from workkit.triggers.english.reader import named

    try:
        found = phrase.parse(given, now=now, tz=tz)
    except PhraseError as error:
        if _absolute(given, tz) is not None:
            return None  # a date that has passed
        raise named(error, "done_by") from None
    if phrase.names_length(given):
        trouble, remedy = "is a length of time", 'Write it as within="2 hours".'
        raise refused(PhraseError, "done_by", f'"{given}"', trouble, remedy, given=given)
    words = _AT.sub("", given)
    for form in (f"every day at {words}", f"every {words}"):
        if not found.recurs:
            with suppress(PhraseError):
                found = phrase.parse(form, now=now, tz=tz)
    if not found.recurs:
        return None
    if len(found.rules) > 1 or found.interval is not None or found.start is not None or found.end is not None:
        trouble, remedy = "is no time of day", 'Write for example done_by="6am", or done_by="friday 18:00".'
        raise refused(PhraseError, "done_by", f'"{given}"', trouble, remedy, given=given)
    return found


def _words(name: str, given: str, now: datetime, tz: str, remarks: list[str]) -> datetime:
    from workkit.triggers.english import phrase  # takes a while to import
    from workkit.triggers.english.reader import named

    try:
        trigger = phrase.parse(given, now=now, tz=tz)
    except PhraseError as error:
        if (past := _absolute(given, tz)) is not None:
            return past
        raise named(error, name) from None
    only = trigger.next_after(_EPOCH - timedelta(seconds=1))
    if trigger.recurs or only is None:
        trouble, remedy = "recurs; it must be one instant", f'Write {name}="2030-01-01".'
        raise refused(PhraseError, name, f'"{given}"', trouble, remedy, given=given)
    remarks += (f"{name}={_shown(given)}: {remark}" for remark in trigger.warnings)
    return only


def _absolute(given: str, tz: str) -> datetime | None:
    """Read words that name the same instant at any time, also a past one; None for other words."""
    from workkit.triggers.english import phrase

    try:
        first, second = (phrase.parse(given, now=then, tz=tz) for then in _LONG_AGO)
    except PhraseError:
        return None
    return None if first.recurs or first.rules != second.rules else first.next_after(_EPOCH)


def _shown(given: Any) -> str:
    return f'"{given}"' if isinstance(given, str) else _utc(given) if isinstance(given, datetime) else repr(given)


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
