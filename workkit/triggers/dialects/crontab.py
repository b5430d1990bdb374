"""Crontab lines: five fields, minute first, or six with the second first, and @daily and its like.

croniter expands the fields. What it reads otherwise than a crontab is written out for it first, or refused: the list
is in spec/cron.md, dialects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from workkit.errors import CronError
from workkit.text.nearest import nearest_word
from workkit.triggers.clock.zone import zone
from workkit.triggers.crons.cron import MAX_LENGTH, parse_cron, too_long
from workkit.triggers.crons.field import (
    DAY,
    HOUR,
    MAX_STEP,
    MINUTE,
    MONTH,
    SECOND,
    WEEKDAY,
    FieldPlace,
    Spec,
    field_error,
    shown_text,
)
from workkit.triggers.crons.remark import both_days
from workkit.triggers.trigger import Trigger

ORDER = "minute hour day-of-month month day-of-week"
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_SPECS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
_ITEM = re.compile(r"(?:(\*)|([0-9]+|[A-Za-z]+)(?:-([0-9]+|[A-Za-z]+))?)(?:/([0-9]+))?")
_OF_MONTH = re.compile(r"([0-9]+|[A-Za-z]{3,}?)(?:#([1-5])|[Ll])")
SUNDAY_AGAIN = 7


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
    specs = _SPECS if len(fields) == 5 else (SECOND, *_SPECS)
    return _trigger(_rule(text, fields, specs), tz=tz, given=text)


def _trigger(rule: str, *, tz: str, given: str) -> Trigger:
    warnings = both_days(parse_cron(rule), given=given)
    return Trigger(cron=_in_utc(rule, tz), tz=tz, recurs=True, rules=(rule,), warnings=warnings)


def _in_utc(rule: str, tz: str) -> str | None:
    """Write the rule in UTC if that is the same at every time since 1970, as the present is not known here."""
    if tz == "UTC":
        return rule
    from workkit.triggers.clock.lowering import HORIZON_YEARS, lower

    years = range(1970, 2050, HORIZON_YEARS - 2)
    found = {lower(rule, zone=zone(tz), since=datetime(year, 1, 1, tzinfo=UTC)) for year in years}
    return found.pop() if len(found) == 1 else None


def _nickname(text: str, name: str) -> str:
    known = ", ".join(NICKNAMES)
    if name.lower() == "@reboot":
        raise field_error(text, "is no time, but the start of a machine", accepted=known, position=None)
    if name.lower() not in NICKNAMES:
        near = nearest_word(name.lower(), NICKNAMES)
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
    fields = "1 field" if count == 1 else f"{count} fields"
    accepted = f"five fields, {ORDER}" + (", or six with the second before them" if six else "")
    seven = "" if six else "; or seven in published order: year month day-of-month day-of-week hour minute second"
    return field_error(text, f"has {fields}", accepted=accepted, remedy=f"Accepted: {accepted}{seven}.")


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


def _rule(text: str, fields: list[tuple[int, str]], specs: tuple[Spec, ...]) -> str:
    """Write the fields as seven in published order, with the values to which croniter expands them."""
    from croniter import CroniterError, croniter

    written = [
        _Reader(spec=spec, number=number, place=FieldPlace(given=text, offset=at)).field(part)
        for number, (spec, (at, part)) in enumerate(zip(specs, fields, strict=True), 1)
    ]
    try:
        expanded, ordinals = croniter.expand(" ".join(written), second_at_beginning=len(fields) == 6)
    except CroniterError as error:
        trouble = f"is not understood: {shown_text(str(error), limit=200)}"
        raise field_error(text, trouble, accepted=f"five fields, {ORDER}") from error
    both = all(part not in ("*", "?") for _, part in fields[-3::2])
    minute, hour, day, month, weekday = (
        _published(values, spec, ordinals=ordinals if spec is WEEKDAY else {}, both=both)
        for values, spec in zip(expanded, _SPECS, strict=False)
    )
    second = _published(expanded[5], SECOND, ordinals={}, both=False) if len(expanded) == 6 else "0"
    return f"* {month} {day} {weekday} {hour} {minute} {second}"


def _published(values: list[object], spec: Spec, *, ordinals: dict[int, set[int | str]], both: bool) -> str:
    """Write the values of one field. Where both day fields are set a full one stays a range, as it counts as set."""
    from workkit.triggers.clock.lowering import field_text

    if ordinals:
        places = [(day, k) for day in sorted(ordinals) for k in sorted(ordinals[day], key=str)]
        return ",".join(f"{day}L" if k == "l" else f"{day}#{k}" for day, k in places)
    numbers = [value for value in values if isinstance(value, int)]
    full = "*" in values or len(numbers) > spec.high - spec.low
    if full:
        return f"{spec.low}-{spec.high}" if both and spec in (DAY, WEEKDAY) else "*"
    last = ["L"] if "l" in values else []
    return ",".join([field_text(numbers, spec), *last] if numbers else last)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Writes the items of one field so that croniter reads them as a crontab would; refuses the rest with its place."""

    spec: Spec
    number: int
    place: FieldPlace

    @property
    def _numbered(self) -> Spec:
        """The field with its number in this dialect."""
        return replace(self.spec, number=self.number)

    @property
    def _accepted(self) -> str:
        return f"{self.spec.low}-{SUNDAY_AGAIN}" if self.spec is WEEKDAY else self.spec.accepted

    def error(self, item: str, trouble: str, *, accepted: str = "", hint: str = "") -> CronError:
        return self.place.error(self._numbered, item, trouble, accepted=accepted or self._accepted, hint=hint)

    def field(self, text: str) -> str:
        if text == "?" and self.spec in (DAY, WEEKDAY):
            return text
        items = [self.item(item) for item in text.split(",")]
        if self.spec is WEEKDAY and len({_OF_MONTH.fullmatch(item) is None for item in text.split(",")}) > 1:
            raise self.error(text, "mixes weekdays with weekdays of the month", accepted="one kind in a list")
        return ",".join(items)

    def item(self, text: str) -> str:
        if self.spec is DAY and text in ("L", "l"):
            return "l"
        of_month = _OF_MONTH.fullmatch(text) if self.spec is WEEKDAY else None
        if of_month:
            day = self.value(of_month[1], text) % 7
            return f"{day}#{of_month[2]}" if of_month[2] else f"l{day}"
        found = _ITEM.fullmatch(text)
        if not found:
            raise self.error(text, "is not understood" if text else "is an empty item")
        star, first, last, every = found.groups()
        step = 1 if every is None else self.step(every, text)
        if star:
            return "*" if every is None else f"{self.spec.low}-{self.spec.high}/{step}"
        return self.span(text, self.value(first, text), last=last, step=None if every is None else step)

    def span(self, text: str, low: int, *, last: str | None, step: int | None) -> str:
        """Write a value, a range, or the crontab's ``a/n``: from a to the end in steps of n."""
        spec = self.spec
        if last is None and step is None:
            return str(low)
        high = spec.high if last is None else self.value(last, text)
        if last is None and spec is WEEKDAY and (SUNDAY_AGAIN - low) % (step or 1) == 0 and low > 0:
            raise self.error(text, "may leave Sunday out or in", accepted=f"{low}-6/{step} or {low}-7/{step}")
        if spec is WEEKDAY and high == 0 < low and last is not None and last.isalpha():
            high = SUNDAY_AGAIN
        if high < low:
            hint = f"Write {low}-{spec.high},{spec.low}-{high}." if step in (None, 1) else ""
            raise self.error(text, "runs backwards", accepted="the lower end first", hint=hint)
        if high == low:  # croniter takes a range of one for the whole field
            return str(low)
        return f"{low}-{high}" if step is None else f"{low}-{high}/{step}"

    def value(self, text: str, item: str) -> int:
        """Read a number or name within the field's range; 7 is Sunday again."""
        spec = self.spec
        if text.isalpha():
            number = spec.names.get(text.lower())
            if number is None:
                if spec.names:
                    raise self.place.not_a_name(self._numbered, item, text, accepted=self._accepted)
                raise self.error(item, "is not understood")
            return number
        high = SUNDAY_AGAIN if spec is WEEKDAY else spec.high
        if len(text) > 2 or not spec.low <= int(text) <= high:
            raise self.error(item, "is out of range")
        return int(text)

    def step(self, text: str, item: str) -> int:
        digits = text.lstrip("0")
        if not digits or len(digits) > len(str(MAX_STEP)):
            raise self.error(item, "has a step out of range", accepted=f"a step of 1-{MAX_STEP}")
        return int(digits)
