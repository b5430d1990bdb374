"""`start=` and `end=`: bounds that are said beside the time. Pure: the present is passed in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from workkit.errors import InvalidOptions, PhraseError, TriggerError
from workkit.triggers.trigger import Trigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_AGO = (datetime(1970, 1, 5, tzinfo=UTC), datetime(1971, 4, 8, tzinfo=UTC))


def between(trigger: Trigger, *, start: Any, end: Any, now: datetime, tz: str) -> Trigger:
    """The trigger from `start` on and before `end`, words in zone `tz` or aware datetimes; None is open. What is past
    may be said, so that the same addition can be repeated. Raises TriggerError, PhraseError; InvalidOptions where the
    time itself has such a bound.
    """
    bounds = {"start": (start, trigger.start), "end": (end, trigger.end)}
    for name, (said, known) in bounds.items():
        if said is not None and known is not None:
            raise InvalidOptions(
                f"{name}={_shown(said)}: the time itself says one already ({_utc(known)}). Keep one of them.",
                given=said,
            )
    read = {name: instant(name, said, now, tz) for name, (said, _) in bounds.items() if said is not None}
    bounded = replace(trigger, start=read.get("start", trigger.start), end=read.get("end", trigger.end))
    if bounded.next_after(now - timedelta(seconds=1)) is None:
        said = " and ".join(f"{name}={_shown(said)}" for name, (said, _) in bounds.items() if said is not None)
        raise TriggerError(f"{said} leave{'' if len(read) > 1 else 's'} no run. Give other bounds.", given=said)
    return bounded


def instant(name: str, said: Any, now: datetime, tz: str) -> datetime:
    """The instant that was said as `name`, a whole second. Raises TriggerError, PhraseError."""
    if isinstance(said, str):
        found = _words(name, said, now, tz)
    elif isinstance(said, datetime):
        if said.utcoffset() is None:
            raise TriggerError(
                f'{name}={said!r} has no zone. Use datetime(..., tzinfo=ZoneInfo("Europe/Paris")), or words with tz=.',
                given=said,
            )
        found = said.astimezone(UTC)
    elif isinstance(said, date):
        raise TriggerError(
            f'{name}={said!r} is a date: in which zone? Write {name}="{said.isoformat()}", or a datetime.', given=said
        )
    else:
        raise TriggerError(f'{name}={said!r} is neither words nor a datetime. Write {name}="2030-01-01".', given=said)
    if found < _EPOCH:
        raise TriggerError(f"{name}={_shown(said)} lies before 1970.", given=said)
    return found.replace(microsecond=0) + timedelta(seconds=found.microsecond > 0)


def _words(name: str, said: str, now: datetime, tz: str) -> datetime:
    from workkit.triggers.english import phrase  # takes a while to import
    from workkit.triggers.english.grammar.reader import named

    try:
        trigger = phrase.parse(said, now=now, tz=tz, keyword=name)
    except PhraseError as error:
        if (past := _absolute(said, tz)) is not None:
            return past
        raise named(error, name) from None
    only = trigger.next_after(_EPOCH - timedelta(seconds=1))
    if trigger.recurs or only is None:
        raise PhraseError(f'{name}="{said}" recurs; it must be one instant. Write {name}="2030-01-01".', given=said)
    return only


def _absolute(said: str, tz: str) -> datetime | None:
    """The instant of words that mean the same whenever they are read, though it has passed."""
    from workkit.triggers.english import phrase

    try:
        first, second = (phrase.parse(said, now=then, tz=tz) for then in _LONG_AGO)
    except PhraseError:
        return None
    return None if first.recurs or first.rules != second.rules else first.next_after(_EPOCH)


def _shown(said: Any) -> str:
    return f'"{said}"' if isinstance(said, str) else _utc(said) if isinstance(said, datetime) else repr(said)


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
