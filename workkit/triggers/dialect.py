"""Triggers from cron strings: those of programs, by the name of their dialect, and those that a payload stores.

A crontab line has five fields, minute first, or six with the second first, or is @daily or its like (spec/cron.md, 5).
The stored form is in spec/job.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from workkit.errors import CronError, TriggerError
from workkit.text.nearest import nearest_word
from workkit.text.wording import plural
from workkit.triggers.crons.cron import LAST_SECOND, MAX_LENGTH, both_days, parse_cron, too_long
from workkit.triggers.crons.field import FieldPlace, field_error, shown_text
from workkit.triggers.crons.grammars import CRONTAB, NICKNAMES
from workkit.triggers.crons.reader import read_field, rule_of
from workkit.triggers.trigger import Interval, Trigger, is_one_second, plain, published, read_interval
from workkit.triggers.zone import HORIZON_YEARS, zone

Dialect = Literal["published", "standard", "cuckoo", "auto"]
ORDER = "minute hour day-of-month month day-of-week"
_NICKNAMES = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


def cron(text: str, dialect: Dialect = "published", *, tz: str = "UTC") -> Trigger:
    """Read a cron string.

    `published`: seven fields, year first, in UTC. `standard`: five fields or ``@daily`` and its like, or six with the
    second first, in `tz`. `cuckoo`: the Clojure code's order, second first and year last, in UTC. `auto`: seven
    fields published, five standard, six refused. Raises CronError with the place and the accepted values.
    """
    match dialect:
        case "published":
            return published(text)
        case "cuckoo":
            from workkit.triggers.cuckoo import cuckoo  # most programs never need it

            return cuckoo(text)
        case "standard" | "auto":
            if dialect == "auto" and len(str(text).split()) == 7:
                return published(text)
            return standard(text, tz=tz, six=dialect == "standard")
    raise CronError(f"dialect={dialect!r} is not known. Accepted: published, standard, cuckoo, auto.", given=dialect)


def standard(text: str, *, tz: str = "UTC", six: bool = False) -> Trigger:
    """Read a crontab line in the zone `tz`: five fields, a nickname, or, if `six`, six fields with the second first.

    Raises CronError with the place and the accepted values; without `six`, it refuses six fields and shows both
    readings. Raises TriggerError if `tz` is no zone.
    """
    if not isinstance(text, str):
        raise CronError(f"cron={shown_text(repr(text))} is not text. Accepted: five fields, {ORDER}.", given=text)
    zone(tz)
    return _standard(text, tz, six)


@lru_cache(maxsize=512)
def _standard(text: str, tz: str, six: bool) -> Trigger:
    if len(text) > MAX_LENGTH:
        raise too_long(text)
    fields = [(found.start(), found[0]) for found in re.finditer(r"[^ \t]+", text)]
    if len(fields) == 1 and fields[0][1].startswith("@"):
        fields = [(0, part) for part in _nickname(text, fields[0][1]).split()]
    if len(fields) == 6 and not six:
        raise _ambiguous(text, tz, [part for _, part in fields])
    if len(fields) not in ((5, 6) if six else (5,)):
        raise _wrong_count(text, len(fields), six=six)
    read = [
        read_field(part, spec, CRONTAB, refuse=FieldPlace(given=text, offset=at, by_field=True).error)
        for spec, (at, part) in zip(CRONTAB.fields(len(fields)), fields, strict=True)
    ]
    rule = rule_of(read)
    warnings = both_days(parse_cron(rule), given=text)
    return Trigger(cron=_in_utc(rule, tz), tz=tz, recurs=True, rules=(rule,), warnings=warnings)


def _in_utc(rule: str, tz: str) -> str | None:
    """Write the rule in UTC if the result is the same at every time since 1970, as the present is not known here."""
    if tz == "UTC":
        return rule
    from workkit.triggers.lowering import lower

    years = range(1970, 2050, HORIZON_YEARS - 2)
    found = {lower(rule, zone=zone(tz), since=datetime(year, 1, 1, tzinfo=UTC)) for year in years}
    return found.pop() if len(found) == 1 else None


def _nickname(text: str, name: str) -> str:
    known = ", ".join(_NICKNAMES)
    if name.lower() == "@reboot":
        raise field_error(text, "is no time, but the start of a machine", accepted=known, position=None)
    if name.lower() not in NICKNAMES:
        near = nearest_word(name.lower(), _NICKNAMES)
        raise field_error(
            text,
            "is not a known nickname",
            accepted=known,
            remedy=f"Accepted: {known}." + (f' Did you mean "{near}"?' if near else ""),
            position=text.index("@"),
            suggestion=near,
        )
    return NICKNAMES[name.lower()]


def _wrong_count(text: str, count: int, *, six: bool) -> CronError:
    accepted = f"five fields, {ORDER}" + (", or six with the second before them" if six else "")
    seven = "" if six else "; or seven in published order: year month day-of-month day-of-week hour minute second"
    return field_error(text, f"has {plural(count, 'field')}", accepted=accepted, remedy=f"Accepted: {accepted}{seven}.")


def _ambiguous(text: str, tz: str, parts: list[str]) -> CronError:
    """Make the error about six fields, with both readings: second first, as in most programs, and second last, as in
    croniter.
    """
    readings = []
    for place, order in (("second first", parts), ("second last", [parts[5], *parts[:5]])):
        try:
            readings.append((place, _in_words(_standard(" ".join(order), tz, True))))
        except CronError:
            continue
    copied = all("=" in words for _, words in readings)
    match readings:
        case [(one, words), (other, also)]:
            advice = "Copy the one you mean" if copied else "Say the one you mean in words"
            trouble, remedy = f"which has two readings: {one}, {words}; {other}, {also}", f"{advice}."
        case [(one, words)]:
            advice = "copy it" if copied else "say it in words"
            trouble, remedy = "whose order is not said", f"With the {one} it is {words}; if that is meant, {advice}."
        case _:
            trouble, remedy = "which make no sense second first or second last", f"Accepted: five fields, {ORDER}."
    return field_error(text, f"has six fields, {trouble}", accepted=ORDER, remedy=remedy)


def _in_words(trigger: Trigger) -> str:
    from workkit.triggers.english.sentence import explain

    words = explain(trigger, zone=False).removeprefix("on ").replace(" of every month", " of the month")
    return words if trigger.cron is None else f'{words} = "{trigger.cron}"'


MOST_RULES = 64  # of one trigger: each costs a search at every run
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_fields(fields: Mapping[str, Any], *, dialect: str = "published") -> Trigger:
    """Read the trigger that a payload of any writer stores. Raises CronError or TriggerError.

    Refuses `local` without `zone`, and fields of another type, because the time would be incomplete.
    """
    start = _bound(fields, "from") if "from" in fields else None
    end = _bound(fields, "until") if "until" in fields else None
    if fields.get("interval") is not None and (interval := read_interval(fields["interval"])) is not None:
        return _counted(fields, interval, start, end, dialect)
    local = fields.get("local")
    if local is not None:
        return _local(local, fields.get("zone"), start, end)
    cron = fields.get("cron")
    if not isinstance(cron, str):
        raise CronError(f"cron={shown_text(repr(cron))} is not text.", given=cron)
    return from_cron(cron, dialect=dialect) if start is None and end is None else _stored(cron, dialect, start, end)


def from_cron(cron: str, *, dialect: str = "published") -> Trigger:
    """Read the trigger of a payload that has only `cron`. Raises CronError."""
    if dialect == "published" and is_one_second(cron):
        return Trigger(cron=cron, recurs=False, rules=(cron,))
    return _stored(cron, dialect, None, None)


def zone_of_stored(trigger: Trigger | None, *, default: str, now: datetime) -> str:
    """Return the zone in which a user wrote a stored trigger. A payload names none if seven UTC fields express the
    time; then it is the zone `default`, or UTC if words in that zone cannot have become this time.
    """
    if trigger is None or not trigger.recurs or default == "UTC":
        return default if trigger is None or trigger.tz == "UTC" else trigger.tz
    if trigger.tz != "UTC":
        return trigger.tz
    from workkit.triggers.lowering import is_lowered

    if not follows_clock(trigger):
        return default

    return default if is_lowered(trigger.rules[0], zone=zone(default), since=now) else "UTC"


def follows_clock(trigger: Trigger) -> bool:
    """Return whether a recurring trigger depends on its zone. Intervals of minutes are the same in every zone."""
    from workkit.triggers.lowering import is_elapsed

    if trigger.interval is not None and trigger.interval.is_elapsed:
        return False
    return not all(is_elapsed(parse_cron(rule, stored=True, rule=True)) for rule in trigger.rules)


def _counted(
    fields: Mapping[str, Any], interval: Interval, start: int | None, end: int | None, dialect: str
) -> Trigger:
    """Read a trigger with an interval that counts its instants or its days."""
    cron = fields.get("cron")
    if interval.is_elapsed and isinstance(cron, str):  # not read: only programs without intervals use it
        return _bounded(Trigger(cron=None, recurs=True, rules=(cron,), interval=interval), start, end)
    rules = from_fields({name: value for name, value in fields.items() if name != "interval"}, dialect=dialect)
    for rule in rules.rules:
        plain(rule)
    return replace(rules, cron=None, recurs=True, interval=interval)


def _local(local: Any, tz: Any, start: int | None, end: int | None) -> Trigger:
    if not isinstance(local, list) or not local or not all(isinstance(rule, str) for rule in local):
        raise CronError(f"local={shown_text(repr(local))} is not a list of cron strings.", given=local)
    if not isinstance(tz, str):
        raise TriggerError(f"zone={shown_text(repr(tz))} is not a zone.", given=tz)
    if len(local) > MOST_RULES:
        raise CronError(f"local has {len(local):,} rules. Accepted: up to {MOST_RULES}.", given=len(local))
    return _zoned(tuple(local), tz, start, end)


def _bound(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not 0 <= value <= LAST_SECOND * 1000):
        raise TriggerError(f"{name}={shown_text(repr(value))} is not a time in milliseconds.", given=value)
    return value


@lru_cache(maxsize=4096)
def _stored(cron: str, dialect: str, start: int | None, end: int | None) -> Trigger:
    if start is not None or end is not None:
        return _bounded(_stored(cron, dialect, None, None), start, end)
    if dialect == "cuckoo":
        from workkit.triggers.cuckoo import cuckoo

        return cuckoo(cron)
    return published(cron, stored=True)


@lru_cache(maxsize=4096)
def _zoned(rules: tuple[str, ...], tz: str, start: int | None, end: int | None) -> Trigger:
    zone(tz)
    for rule in rules:
        parse_cron(rule, stored=True, rule=True)
    return _bounded(Trigger(cron=None, tz=tz, recurs=True, rules=rules), start, end)


def _bounded(trigger: Trigger, start: int | None, end: int | None) -> Trigger:
    bounds = [None if ms is None else _EPOCH + timedelta(milliseconds=ms) for ms in (start, end)]
    return replace(trigger, start=bounds[0], end=bounds[1])
