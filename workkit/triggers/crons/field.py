"""The fields of a cron string as values: their allowed content, their read content, and errors about a part of one.

`reader.py` reads them. Errors about a time option have one form, `refused`. This module uses no calendar and no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from workkit.errors import CronError, TriggerError
from workkit.text.wording import MONTH_NAMES, WEEKDAY_NAMES

FIRST_YEAR, LAST_YEAR = 1970, 9999
MAX_STEP = 999_999_999

MONTHS = [name.lower() for name in MONTH_NAMES]
WEEKDAYS = [name.lower() for name in WEEKDAY_NAMES]


def _names(words: list[str], first: int) -> dict[str, int]:
    return {key: n for n, word in enumerate(words, first) for key in (word, word[:3])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One of the seven places: `number` counts from 1, `low` to `high` is the range. `has_seven`: the dialect accepts
    7 as Sunday, as well as 0.
    """

    number: int
    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict, hash=False, compare=False)
    has_seven: bool = False

    @property
    def top(self) -> int:
        """The greatest accepted value."""
        return self.high + self.has_seven

    @property
    def accepted(self) -> str:
        """The accepted range as messages print it."""
        return f"{self.low}-{self.top}"


YEAR = Spec(number=1, name="year", low=FIRST_YEAR, high=LAST_YEAR)
MONTH = Spec(number=2, name="month", low=1, high=12, names=_names(MONTHS, 1))
DAY = Spec(number=3, name="day-of-month", low=1, high=31)
WEEKDAY = Spec(number=4, name="day-of-week", low=0, high=6, names=_names(WEEKDAYS, 0))
HOUR = Spec(number=5, name="hour", low=0, high=23)
MINUTE = Spec(number=6, name="minute", low=0, high=59)
SECOND = Spec(number=7, name="second", low=0, high=59)
SPECS = (YEAR, MONTH, DAY, WEEKDAY, HOUR, MINUTE, SECOND)

Kind = Literal["range", "occurrence", "last", "weekday"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldItem:
    """One item of a list.

    `range`: every `step`-th value from `low` to `high` (a single value has low == high). `occurrence`: every
    `step`-th time that `low` comes round, counted from 1970. `last`: the last day of the month. `weekday`: the
    `step`-th weekday `low` of the month, the last one if `step` is -1.
    """

    kind: Kind
    low: int
    high: int
    step: int = 1
    star: bool = False

    @property
    def values(self) -> range:
        """The values of a `range` item; empty for other kinds."""
        return range(self.low, self.high + 1, self.step) if self.kind == "range" else range(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field as read: its text and its items, and the values of its ranges as a bit set (not for the year).

    `restricted` is false for a bare ``*`` or ``?``. `joined` is the rules-only ``&`` (day-of-month *and*
    day-of-week). `ordinals` holds (bit set of weekdays, k): the k-th such day of the month, -1 the last.
    """

    spec: Spec
    text: str
    items: tuple[FieldItem, ...]
    mask: int
    restricted: bool
    joined: bool = False
    occurrences: tuple[tuple[int, int], ...] = ()
    ordinals: tuple[tuple[int, int], ...] = ()
    last: bool = False

    @property
    def values(self) -> list[int]:
        """The values of the ranges, in order; empty for the year (see `years`)."""
        return bits(self.mask)

    @property
    def years(self) -> range | tuple[int, ...]:
        """The years of a year field, in order."""
        if len(self.items) == 1:
            return self.items[0].values
        return tuple(sorted({year for item in self.items for year in item.values}))


def bits(mask: int) -> list[int]:
    """List the numbers of the set bits, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def field_text(values: Iterable[int], spec: Spec, *, nth: Iterable[tuple[int, int]] = ()) -> str:
    """Write values, and each v/n of `nth`, as one field: as a star, a step, or ranges."""
    numbers = sorted(set(values))
    items: list[str] = []
    whole = range(spec.low, spec.high + 1)
    if len(numbers) == len(whole):
        return "*"
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    if step > 1 and len(numbers) > 2 and numbers == list(whole[::step]):
        items.append(f"*/{step}")
    elif step > 1 and len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1, step)):
        items.append(f"{numbers[0]}-{numbers[-1]}/{step}")
    else:
        for number in numbers:
            first, _, last = items[-1].partition("-") if items else ("", "", "")
            if items and int(last or first) == number - 1:
                items[-1] = f"{first}-{number}"
            else:
                items.append(str(number))
    items += [f"{value}/{n}" for value, n in nth]
    return ",".join(sorted(items, key=_first))


def _first(item: str) -> int:
    return int(re.split("[-/]", item)[0]) if item[0] != "*" else -1


def shown_text(text: str, *, limit: int = 60) -> str:
    """Clip `text` and make it one printable line, for a message."""
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def field_error(
    given: str,
    trouble: str,
    *,
    accepted: str,
    remedy: str | None = None,
    position: int | None = 0,
    suggestion: str | None = None,
) -> CronError:
    """Make the error ``cron="given" trouble. Remedy``, with its parts as fields; any dialect.

    A `trouble` about one part of the text begins with a colon and that part. Without a `remedy` the message lists the
    accepted values.
    """
    shown, remedy = f'"{shown_text(given)}"', remedy or f"Accepted: {accepted}."
    error = refused(CronError, "cron", shown, trouble, remedy, given=given, accepted=accepted, suggestion=suggestion)
    error.position = position
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlace:
    """The place of a field: the user's whole text, and the offset of the field in it. Errors have the position of the
    item, or, with `by_field`, that of the field.
    """

    given: str
    offset: int
    by_field: bool = False

    def error(
        self,
        spec: Spec,
        item: str,
        trouble: str,
        *,
        at: int = 0,
        accepted: str = "",
        hint: str = "",
        better: str | None = None,
    ) -> CronError:
        """Make the error for `item`, `at` characters into the field. `hint` is a sentence, `better` is the text to
        write instead of the item.
        """
        accepted = accepted or spec.accepted
        start = self.offset + at
        what = shown_text(item, limit=24) or '""'
        return field_error(
            self.given,
            f": {what} (field {spec.number}, {spec.name}) {trouble}",
            accepted=accepted,
            remedy=f"Accepted: {accepted}. {hint}".rstrip(),
            position=self.offset if self.by_field else start,
            suggestion=None if not better else self.given[:start] + better + self.given[start + len(item) :],
        )


NO_ZONE: Final = 'Use datetime(..., tzinfo=ZoneInfo("Europe/Paris")), or words with tz=.'
"""The remedy for a naive datetime."""

_E = TypeVar("_E", bound=TriggerError)


def refused(
    kind: type[_E],
    name: str,
    shown: str,
    trouble: str,
    remedy: str | None = None,
    *,
    given: object,
    accepted: str | None = None,
    suggestion: str | None = None,
) -> _E:
    """Make the error ``name=shown trouble. Remedy``; a `trouble` may begin with a colon or end in a question mark."""
    joint, stop = "" if trouble.startswith(":") else " ", "" if trouble.endswith("?") else "."
    return kind(
        f"{name}={shown}{joint}{trouble}{stop}" + (f" {remedy}" if remedy else ""),
        given=given,
        where=name,
        trouble=trouble,
        remedy=remedy,
        accepted=accepted,
        suggestion=suggestion,
    )


def not_a_length(name: str, value: object, *, accepted: str) -> TriggerError:
    """Make the error about a value that is neither words nor a timedelta; a number lacks its unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        remedy = f'Write "{value}s" or timedelta(seconds={value}).'
        return refused(TriggerError, name, repr(value), "has no unit", remedy, given=value, accepted=accepted)
    trouble, remedy = "is no length of time", f"Accepted: {accepted}."
    return refused(TriggerError, name, repr(value), trouble, remedy, given=value, accepted=accepted)
