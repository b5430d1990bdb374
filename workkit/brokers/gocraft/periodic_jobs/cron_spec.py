"""The specs of periodic jobs as Go pools read them: five or six fields, descriptors, a zone in front. Text in, bit sets
out; what Go refuses is refused with its place. Normative: spec/layouts/gocraft.md, section 4.

This grammar is not that of workkit's own cron strings: ``7`` is no weekday, ``N/step`` runs to the greatest value, and
a spec may name a zone. When a spec fires is in `cron_walk.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.periodic_jobs import go_duration
from workkit.errors import CronError, TriggerError
from workkit.text.nearest import nearest_word
from workkit.text.wording import plural
from workkit.triggers.crons.cron import MAX_LENGTH, too_long
from workkit.triggers.crons.field import FieldPlace, field_error, shown_text
from workkit.triggers.crons.grammars import GO, NICKNAMES
from workkit.triggers.crons.reader import read_field
from workkit.triggers.zone import zone

ACCEPTED: Final = (
    "minute hour day-of-month month day-of-week, with a second before them or not; @hourly and its like; @every 1h30m"
)
EVERY: Final = "@every "
_UTC: Final = ZoneInfo("UTC")
_BLANKS: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_FIELD: Final = re.compile(f"[^{_BLANKS}]+")  # Go parts fields by these
_MOST_FAULTS: Final = 10  # that a suggestion repairs


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSpec:
    """A spec of fields, each as a bit set of the values that match.

    `zone` is None where the spec names none: it goes by the local zone of the process. `either_day`: both day fields
    are restricted, so that one of them has to match and not both.
    """

    text: str
    zone: ZoneInfo | None
    second: int
    minute: int
    hour: int
    day: int
    month: int
    weekday: int
    either_day: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EverySpec:
    """``@every``: so many whole seconds after the time it is asked from, one at least."""

    text: str
    seconds: int


PeriodicSpec = CronSpec | EverySpec


def read_spec(text: str) -> PeriodicSpec:
    """Read the spec of a periodic job as a Go pool does. Raises CronError with the place, what is accepted, and, where
    there is a near one, a spec that Go accepts.
    """
    if not isinstance(text, str):
        raise CronError(f"cron={text!r} is not text. Accepted: {ACCEPTED}.", given=text, where="cron")
    try:
        return _read(text)
    except CronError as error:
        error.suggestion = _repaired(error.suggestion)
        raise


def _repaired(text: str | None) -> str | None:
    """Find what a suggestion comes to once its own faults are repaired too; None where one of them has no remedy."""
    for _ in range(_MOST_FAULTS):
        if text is None:
            return None
        try:
            _read(text)
        except CronError as error:
            text = error.suggestion
        else:
            return text
    return None


@lru_cache(maxsize=512)
def _read(text: str) -> PeriodicSpec:
    if len(text) > MAX_LENGTH:
        raise too_long(text)
    if not text:
        raise field_error(text, "is empty", accepted=ACCEPTED)
    tz, start, end = None, 0, len(text)
    if text.startswith(("TZ=", "CRON_TZ=")):
        tz, start = _zone(text)
        end = len(text.rstrip(_BLANKS))
    if text.startswith("@", start):
        return _descriptor(text, start, end, tz=tz)
    fields = [(found.start(), found[0]) for found in _FIELD.finditer(text, start)]
    if len(fields) not in (5, 6):
        raise field_error(text, f"has {plural(len(fields), 'field')}", accepted=ACCEPTED, position=start)
    return _of_fields(text, fields, tz=tz)


def _zone(text: str) -> tuple[ZoneInfo | None, int]:
    """Read the zone in front, None for ``Local``, and find where the rest begins."""
    start = text.index("=") + 1
    name, blank, rest = text[start:].partition(" ")
    if not blank:
        raise field_error(text, "has a zone and no fields", accepted=ACCEPTED, position=len(text))
    begin = len(text) - len(rest.lstrip(_BLANKS))
    if name == "Local":
        return None, begin
    try:
        return (zone(name) if name else _UTC), begin
    except TriggerError as error:
        near = error.suggestion
        raise field_error(
            text,
            f": {shown_text(name)} {error.trouble}",
            accepted=str(error.accepted),
            remedy=error.remedy,
            position=start,
            suggestion=near and text[:start] + near + text[start + len(name) :],
        ) from None


def _descriptor(text: str, start: int, end: int, *, tz: ZoneInfo | None) -> PeriodicSpec:
    name = text[start:end]
    if name in NICKNAMES:
        fields = [(start, part) for part in NICKNAMES[name].split()]
        return _of_fields(text, fields, tz=tz)
    if name.startswith(EVERY):
        return _every(text, start + len(EVERY), end)
    word = name.split()[0].lower()
    near = nearest_word(word, [*NICKNAMES, EVERY.strip()])
    known = f"{', '.join(NICKNAMES)}, @every 1h30m"
    raise field_error(
        text,
        f": {shown_text(name, limit=24)} is no descriptor",
        accepted=known,
        remedy=f"Accepted: {known}." + (f" Did you mean {near}?" if near else ""),
        position=start,
        suggestion=text[:start] + near if near in NICKNAMES else None,
    )


def _every(text: str, start: int, end: int) -> EverySpec:
    try:
        length = go_duration.nanoseconds(text[start:end])
    except go_duration.Misread as error:
        near = go_duration.in_go_form(text[start:end])
        accepted = "numbers with a unit each, h, m, s or ms: 1h30m"
        raise field_error(
            text,
            f": {shown_text(text[start:end], limit=24) or 'nothing'} {error.trouble}",
            accepted=accepted,
            remedy=f"Accepted: {accepted}." + (f" Did you mean @every {near}?" if near else ""),
            position=start + error.at,
            suggestion=near and text[:start] + near,
        ) from None
    return EverySpec(text=text, seconds=max(1, length // go_duration.SECOND))


def _of_fields(text: str, fields: list[tuple[int, str]], *, tz: ZoneInfo | None) -> CronSpec:
    read = [
        read_field(part, spec, GO, refuse=FieldPlace(given=text, offset=at).error)
        for spec, (at, part) in zip(GO.fields(len(fields)), fields, strict=True)
    ]
    *second, minute, hour, day, month, weekday = (part.mask for part in read)
    return CronSpec(
        text=text,
        zone=tz,
        second=second[0] if second else 1,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        either_day=read[-3].restricted and read[-1].restricted,
    )
