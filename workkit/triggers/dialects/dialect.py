"""Cron strings by the name of their dialect; and crontab lines: five fields, minute first, or six with the second
first, and @daily and its like (spec/cron.md, 5).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from workkit.errors import CronError
from workkit.text.listing import plural
from workkit.text.nearest import nearest_word
from workkit.triggers.clock.zone import HORIZON_YEARS, zone
from workkit.triggers.crons.cron import MAX_LENGTH, both_days, parse_cron, too_long
from workkit.triggers.crons.field import FieldPlace, field_error, shown_text
from workkit.triggers.crons.grammars import CRONTAB, NICKNAMES
from workkit.triggers.crons.reader import read_field, rule_of
from workkit.triggers.trigger import Trigger, published

Dialect = Literal["published", "standard", "cuckoo", "auto"]
ORDER = "minute hour day-of-month month day-of-week"
_NICKNAMES = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


def cron(text: str, dialect: Dialect = "published", *, tz: str = "UTC") -> Trigger:
    """Read a cron string.

    `published`: seven fields, year first, in UTC. `standard`: five fields or ``@daily`` and its like, or six with the
    second first, in `tz`. `cuckoo`: the Clojure code's order, second first and year last, in UTC. `auto`: seven
    fields published, five standard, six refused. Raises CronError with the place and what is accepted.
    """
    match dialect:
        case "published":
            return published(text)
        case "cuckoo":
            from workkit.triggers.dialects.cuckoo import cuckoo  # most programs never need it

            return cuckoo(text)
        case "standard" | "auto":
            if dialect == "auto" and len(str(text).split()) == 7:
                return published(text)
            return standard(text, tz=tz, six=dialect == "standard")
    raise CronError(f"dialect={dialect!r} is not known. Accepted: published, standard, cuckoo, auto.", given=dialect)


def standard(text: str, *, tz: str = "UTC", six: bool = False) -> Trigger:
    """Read a crontab line in the zone `tz`: five fields, a nickname, or, if `six`, six fields with the second first.

    Raises CronError with the place and what is accepted; without `six`, six fields are refused with both readings.
    TriggerError where `tz` is no zone.
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
    """Write the rule in UTC if that is the same at every time since 1970, as the present is not known here."""
    if tz == "UTC":
        return rule
    from workkit.triggers.clock.lowering import lower

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
    """Show the readings of six fields: second first, as most programs have it, and second last, as croniter does."""
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
