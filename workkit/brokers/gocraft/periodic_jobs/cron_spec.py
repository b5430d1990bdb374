"""The specs of periodic jobs as Go pools read them: five or six fields, descriptors, a zone in front. Text in, bit sets
out; what Go refuses is refused with its place. Normative: spec/layouts/gocraft.md, section 4.

This grammar is not that of workkit's own cron strings: ``7`` is no weekday, ``N/step`` runs to the greatest value, and
a spec may name a zone. When a spec fires is in `cron_walk.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.periodic_jobs import go_duration
from workkit.errors import CronError, TriggerError
from workkit.text.nearest import nearest_word
from workkit.triggers.clock.zone import zone
from workkit.triggers.crons.cron import MAX_LENGTH, too_long
from workkit.triggers.crons.field import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    WEEKDAY,
    FieldPlace,
    Spec,
    field_error,
    shown_text,
)

ACCEPTED: Final = (
    "minute hour day-of-month month day-of-week, with a second before them or not; @hourly and its like; @every 1h30m"
)
DESCRIPTORS: Final = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
EVERY: Final = "@every "
_UTC: Final = ZoneInfo("UTC")
_BLANKS: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_FIELD: Final = re.compile(f"[^{_BLANKS}]+")  # Go parts fields by these
_MOST: Final = 2**63 - 1
_MOST_FAULTS: Final = 10  # that a suggestion repairs
_PLACES: Final = tuple(
    replace(spec, number=number, names={name: value for name, value in spec.names.items() if len(name) == 3})
    for number, spec in enumerate((SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY), 1)
)


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
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        raise field_error(text, f"has {count}", accepted=ACCEPTED, position=start)
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
    if name in DESCRIPTORS:
        fields = [(start, part) for part in DESCRIPTORS[name].split()]
        return _of_fields(text, fields, tz=tz)
    if name.startswith(EVERY):
        return _every(text, start + len(EVERY), end)
    word = name.split()[0].lower()
    near = nearest_word(word, [*DESCRIPTORS, EVERY.strip()])
    known = f"{', '.join(DESCRIPTORS)}, @every 1h30m"
    raise field_error(
        text,
        f": {shown_text(name, limit=24)} is no descriptor",
        accepted=known,
        remedy=f"Accepted: {known}." + (f" Did you mean {near}?" if near else ""),
        position=start,
        suggestion=text[:start] + near if near in DESCRIPTORS else None,
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
    places = _PLACES[6 - len(fields) :]
    read = [
        _Reader(spec=replace(spec, number=number), place=FieldPlace(given=text, offset=at)).bits(part)
        for number, (spec, (at, part)) in enumerate(zip(places, fields, strict=True), 1)
    ]
    if len(read) == 5:
        read.insert(0, (1, False))
    (second, _), (minute, _), (hour, _), (day, any_day), (month, _), (weekday, any_weekday) = read
    return CronSpec(
        text=text,
        zone=tz,
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        either_day=not (any_day or any_weekday),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads the items of one field; carries what every error needs."""

    spec: Spec
    place: FieldPlace

    def error(
        self, item: str, trouble: str, *, at: int, accepted: str = "", hint: str = "", better: str | None = None
    ) -> CronError:
        """Make the error about an `item`, `at` characters into the field; `better` is what Go accepts in its place."""
        error = self.place.error(self.spec, item, trouble, at=at, accepted=accepted, hint=hint)
        if better is not None:
            start = self.place.offset + at
            error.suggestion = self.place.given[:start] + better + self.place.given[start + len(item) :]
        return error

    def bits(self, text: str) -> tuple[int, bool]:
        """Read the list; empty items mean nothing. Also tell whether a star leaves the field unrestricted."""
        mask, unrestricted, at = 0, False, 0
        for item in text.split(","):
            if item:
                values, star = self.item(item, at=at)
                mask |= sum(1 << value for value in values)
                unrestricted |= star
            at += len(item) + 1
        return mask, unrestricted

    def item(self, text: str, *, at: int) -> tuple[range, bool]:
        """Read one item of the list: its values, and whether it is a star without a step."""
        spec = self.spec
        body, *steps = text.split("/")
        first, *others = body.split("-")
        star = first in ("*", "?")
        if len(steps) > 1 or (len(others) > 1 and not star):
            raise self.error(text, "has a / or - too many", at=at)
        if star:  # Go does not look at what follows a hyphen here
            low, high = spec.low, spec.high
        else:
            low = self.value(first, text, at=at)
            high = self.value(others[0], text, at=at) if others else low
        step = self.step(steps[0], text, at=at) if steps else 1
        if steps and not others:
            high = spec.high
        if low < spec.low or high > spec.high:
            raise self.out_of_range(text, high, at=at)
        if low > high:
            better = f"{low}-{spec.high},{spec.low}-{high}" if step == 1 else None
            raise self.error(text, "runs backwards", at=at, accepted="the lower end first", better=better)
        return range(low, high + 1, step), star and step == 1

    def out_of_range(self, text: str, high: int, *, at: int) -> CronError:
        begins_again = high == self.spec.high + 1 and self.spec.low == 0  # weekday 7, hour 24, minute 60
        if not begins_again or text != str(high):
            return self.error(text, "is out of range", at=at)
        hint = "Go counts Sunday as 0." if self.spec.name == WEEKDAY.name else "Write 0."
        return self.error(text, "is out of range", at=at, hint=hint, better="0")

    def value(self, text: str, item: str, *, at: int) -> int:
        """Read a number, or a name of three letters in any case."""
        spec = self.spec
        number = spec.names.get(text.lower())
        if number is None:
            number = _integer(text)
        if number is not None:
            return number
        if text[-1:] in ("L", "l", "W", "w") or "#" in text:
            raise self.error(item, "is not understood: Go pools know no L, W and #", at=at)
        if spec.names and text.isalpha():
            longer = {name: name[:3] for name in (MONTH if spec.name == MONTH.name else WEEKDAY).names}
            near = nearest_word(text.lower(), longer)
            hint = f"Did you mean {longer[near]}?" if near else ""
            better = item.replace(text, longer[near]) if near else None
            raise self.error(item, f"is no {spec.name} name of three letters", at=at, hint=hint, better=better)
        raise self.error(item, "is not understood" if text else "has a part missing", at=at)

    def step(self, text: str, item: str, *, at: int) -> int:
        """Read what follows the slash."""
        step = _integer(text)
        if step is None or step == 0:
            trouble = "has a step of zero" if step == 0 else "has a step that is not a number"
            raise self.error(item, trouble, at=at, accepted="a step of 1 or more")
        return step


def _integer(text: str) -> int | None:
    """Read an integer of 64 bits as Go does, with a plus or not; None for any other text."""
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > len(str(_MOST)):
        return None
    number = int(digits)
    return number if number <= _MOST else None
