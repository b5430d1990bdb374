"""The dialect of the Clojure code: second first, month before day, year last.

This module reads every text as that code does, oddities included, since peers run the same jobs. It refuses texts that
make that code fail or search without end. Normative: spec/cron.md, dialects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workkit.errors import CronError
from workkit.text.wording import plural
from workkit.triggers.crons.cron import MAX_LENGTH, both_days, parse_cron, too_long
from workkit.triggers.crons.field import (
    DAY,
    MAX_STEP,
    MONTH,
    MONTHS,
    SECOND,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    Field,
    FieldItem,
    FieldPlace,
    Spec,
    field_error,
    shown_text,
)
from workkit.triggers.crons.grammars import CLOJURE
from workkit.triggers.trigger import Trigger, is_fixed

ORDER = "second minute hour month day-of-month day-of-week year"
LAST_STARRED_YEAR = 2099
_MAX_INTEGER = 2**31 - 1
_SUFFIX = re.compile(r"(.*?)(?:L|#([1-5]))?")


def _any_case(names: list[str]) -> list[re.Pattern[str]]:
    return [re.compile(f"{name[:3]}(?:{name[3:]})?", re.IGNORECASE) for name in names]


_NAMES = {MONTH.name: _any_case(MONTHS), WEEKDAY.name: _any_case(WEEKDAYS)}


def cuckoo(text: str) -> Trigger:
    """Read a cron string of the Clojure code, in UTC: 7 fields, 6 without the year, or 5 without the second too.

    The trigger stores the text unchanged. Raises CronError with the place and the accepted values, also for a text that
    makes that code search without end.
    """
    parts = _split(text)
    without_second = len(parts) == 5
    parts = [(0, "0")] * without_second + parts
    parts += [(len(text), "*")] * (7 - len(parts))
    fields = [
        _Field(text=part, spec=replace(spec, number=number - without_second), place=FieldPlace(given=text, offset=at))
        for number, (spec, (at, part)) in enumerate(zip(CLOJURE.specs, parts, strict=True), 1)
    ]
    second, minute, hour, month = (part.needed() for part in fields[:4])
    day, weekday = _days(fields[4], fields[5])
    rule = f"{fields[6].needed()} {month} {day} {weekday} {hour} {minute} {second}"
    cron = parse_cron(rule, stored=True, rule=True)
    return Trigger(
        cron=None if "=" in rule else cron.text,
        recurs=not is_fixed(cron),
        rules=(cron.text,),
        warnings=(*(warning for part in fields for warning in part.warnings()), *both_days(cron, given=text)),
        stored=text,
    )


def _split(text: str) -> list[tuple[int, str]]:
    """Split the fields, each with its offset."""
    if not isinstance(text, str):
        raise CronError(f"cron={shown_text(repr(text))} is not text. Accepted: {ORDER}.", given=text)
    odd = re.search(r"[^\t -~]", text)
    parts = [(found.start(), found[0]) for found in re.finditer(r"[^ \t]+", text)]
    if len(text) > MAX_LENGTH:
        raise too_long(text)
    if odd:
        raise field_error(
            text, f"has an odd character at column {odd.start() + 1}", accepted="ASCII", position=odd.start()
        )
    if text[:1] in (" ", "\t"):
        raise field_error(
            text, "begins with a blank, before which the Clojure code sees a field", accepted="no blank there"
        )
    if len(parts) not in (5, 6, 7):
        count = plural(len(parts), "field")
        raise field_error(text, f"has {count}", accepted=f"{ORDER}, of which second and year may be left out")
    return parts


def _days(day: _Field, weekday: _Field) -> tuple[str, str]:
    """Read the two day fields: a bare star or question mark is unset, and a field without a value adds none."""
    numbers = "" if day.is_unset else day.named()
    week = "" if weekday.is_unset else weekday.of_week()
    if numbers is None:
        raise day.error("cannot be read by the Clojure code")
    if not numbers and not week and not (day.is_unset and weekday.is_unset):
        raise (weekday if day.is_unset else day).error("names no day, and the Clojure code would search without end")
    return numbers or "*", week or "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One field as the user wrote it; `spec` has its number in this order."""

    text: str
    spec: Spec
    place: FieldPlace

    def error(self, trouble: str, *, accepted: str = "") -> CronError:
        hint = ""
        if re.fullmatch(r"[0-9]{4}", self.text) and self.spec.name == SECOND.name:
            hint = f"The order of the Clojure code is {ORDER}."
        return self.place.error(self.spec, self.text, trouble, accepted=accepted, hint=hint)

    @property
    def is_unset(self) -> bool:
        return CLOJURE.unset.fullmatch(self.text) is not None

    @property
    def _parts(self) -> list[str]:
        """The items of the list; empty ones at its end do not count."""
        return self.text.rstrip(",").split(",") if "," in self.text else [self.text]

    def needed(self) -> str:
        """Read a field that must name a value."""
        if self.text == "*":
            return f"{self.spec.low}-{LAST_STARRED_YEAR}" if self.spec.name == YEAR.name else "*"
        found = self.named()
        if not found:
            raise self.error("names nothing that the Clojure code can find")
        return found

    def named(self, text: str | None = None) -> str | None:
        """Write the values of the field as a published list; empty without values, None if all of it is unreadable."""
        part = self if text is None else replace(self, text=text)
        if not part.text.strip(","):
            return None
        read = [part._item(item) for item in part._parts]
        if read == [None]:
            return None
        return ",".join(dict.fromkeys(item for items in read for item in items or ()))

    def of_week(self) -> str:
        """Read the day of the week; its suffix belongs to the whole list."""
        body = _SUFFIX.fullmatch(self.text)
        assert body is not None
        found = self.named(body[1]) or ""
        if body.end(1) == len(self.text):
            return found
        if not found:
            raise self.error("names no weekday")
        suffix = self.text[body.end(1) :]
        return f"{found}{suffix}" if found.isdigit() else f"={found}{suffix}"

    def _item(self, text: str) -> list[str] | None:
        """Read one item as published items: an empty list if no value is in range, None if it is unreadable."""
        spec, is_day = self.spec, self.spec.name == DAY.name
        if text == "?" or (is_day and text == "L"):
            return ["L"] if is_day and text == "L" else []
        for number, name in enumerate(_NAMES.get(spec.name, ()), spec.low):
            text = name.sub(str(number), text)
        found = CLOJURE.shape.fullmatch(text)
        star, first, last, n = found.groups() if found else (None,) * 4
        if "*" in text and not star:
            raise self.error("has a star beside something else", accepted="* or */n")
        if is_day and "L" in text and last != "L":
            raise self.error("has an L where it has no meaning", accepted="L, a-L or a-L/n")
        if star:
            return self._range(spec.low, LAST_STARRED_YEAR if spec.name == YEAR.name else spec.high, n)
        if last and first and (is_day or last != "L"):
            return self._range(int(first), spec.high if last == "L" else int(last), n)
        if last or not first or not -_MAX_INTEGER - 1 <= int(first) <= _MAX_INTEGER:
            return None
        value = int(first) % 7 if spec.name == WEEKDAY.name else int(first)
        return [str(value)] if spec.low <= value <= spec.high else []

    def _range(self, low: int, high: int, step_text: str | None) -> list[str]:
        step = 1 if step_text is None else int(step_text)
        if not step or max(low, high, step) > _MAX_INTEGER:
            raise self.error(
                "has a step of zero" if not step else "has a number out of range", accepted=self.spec.accepted
            )
        numbers = range(low, high + 1, step)
        if self.spec.name == WEEKDAY.name and numbers[-1:] and numbers[-1] > 6:
            return [str(value) for value in sorted({number % 7 for number in numbers[:7]})]
        numbers = numbers[max(0, -((low - self.spec.low) // step)) :]
        numbers = range(numbers.start, min(numbers.stop, self.spec.high + 1), step)
        if len(numbers) < 2 or step > MAX_STEP:
            return [str(number) for number in numbers[:1]]
        if numbers.start == self.spec.low and numbers.stop > self.spec.high and step > 1:
            return [f"*/{step}"]
        return [f"{numbers[0]}-{numbers[-1]}" + (f"/{step}" if step > 1 else "")]

    def warnings(self) -> Iterator[str]:
        """Yield warnings about items that the Clojure code ignores silently, or fails at in some months."""
        body = _SUFFIX.fullmatch(self.text) if self.spec.name == WEEKDAY.name else None
        part = self if body is None else replace(self, text=body[1])
        for item in part._parts:
            if "," in part.text and item != "?" and not part._item(item):
                yield self._warning(f'"{shown_text(item)}" in {self.spec.name} names nothing and is passed over')
        if body is not None and body[2] == "5" and (self.named(body[1]) or "").isdigit():
            yield self._warning("a Clojure listener fails in a month that has only four such days")

    def _warning(self, what: str) -> str:
        return f'cron="{shown_text(self.place.given)}": {what}.'


def clojure_order(trigger: Trigger) -> Trigger:
    """Return the same trigger in the form that a schedule of the Clojure dialect stores.

    Raises CronError if that dialect cannot express it. After 2099 the Clojure code fires only in years that the text
    names.
    """
    if trigger.stored is not None:
        return trigger
    in_utc = trigger.tz == "UTC" and len(trigger.rules) == 1
    rule = trigger.cron or (trigger.rules[0] if in_utc else None)
    if rule is None or trigger.start is not None or trigger.end is not None or trigger.interval is not None:
        text = trigger.rules[0] + (f" {trigger.tz}" if not in_utc else "")
        raise CronError(
            f'"{text}" is a time that one UTC string of the Clojure code cannot say. Accepted with dialect="cuckoo": '
            f"no zone with clock changes, no bounds, one time of day, an interval that divides its unit.",
            given=text,
        )
    cron = parse_cron(rule, stored=True, rule=True)
    year, month, day, weekday, *clock = (_foreign(part, given=rule) for part in cron.fields)
    if cron.day.restricted and cron.weekday.restricted and cron.day.joined:
        raise _not_expressible(cron.day, given=rule)
    day = "?" if cron.weekday.restricted and not cron.day.restricted else day
    weekday = "?" if not cron.weekday.restricted else weekday
    hour, minute, second = clock
    return replace(trigger, stored=f"{second} {minute} {hour} {month} {day} {weekday} {year}")


def _foreign(part: Field, *, given: str) -> str:
    """Write one field as the Clojure code reads it; its suffixes belong to the whole list."""
    if not part.restricted:
        return "*"
    fifth = any(k > 5 or (k == 5 and not days & (days - 1)) for days, k in part.ordinals)
    if part.occurrences or fifth or (part.ordinals and len(part.items) > 1 and part.text[0] != "="):
        raise _not_expressible(part, given=given)
    return part.text[1:].upper() if part.text[0] == "=" else ",".join(map(_foreign_item, part.items))


def _foreign_item(item: FieldItem) -> str:
    if item.kind == "last":
        return "L"
    if item.kind == "weekday":
        return f"{item.low}{'L' if item.step < 0 else f'#{item.step}'}"
    between = "*" if item.star else f"{item.low}-{item.high}"
    step = f"/{item.step}" if item.step > 1 else ""
    return str(item.low) if item.low == item.high else f"{between}{step}"


def _not_expressible(part: Field, *, given: str) -> CronError:
    return FieldPlace(given=given, offset=0).error(
        part.spec,
        part.text,
        "is not known to the Clojure code, which shares this schedule",
        accepted="values, ranges, steps, L, nL and n#1 to n#4",
    )
