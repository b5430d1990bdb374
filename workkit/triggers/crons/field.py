"""The grammar of one cron field: text in, items and a bit set out.

Knows the seven fields of the published layout (`SPECS`) and what each may hold; knows nothing of calendars or
clocks. The normative text is spec/cron.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from workkit.errors import CronError
from workkit.text.calendar import MONTH_NAMES, WEEKDAY_NAMES
from workkit.text.nearest import nearest_word

FIRST_YEAR, LAST_YEAR = 1970, 9999
MAX_STEP = 999_999_999

MONTHS = [name.lower() for name in MONTH_NAMES]
WEEKDAYS = [name.lower() for name in WEEKDAY_NAMES]


def _names(words: list[str], first: int) -> dict[str, int]:
    return {key: n for n, word in enumerate(words, first) for key in (word, word[:3])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One of the seven places: `number` counts from 1, `low` to `high` is the accepted range."""

    number: int
    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict, hash=False, compare=False)

    @property
    def accepted(self) -> str:
        """The range as messages print it."""
        return f"{self.low}-{self.high}"


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
        """What a `range` item names; other kinds name nothing by value."""
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
    """List the numbers of the bits that are set, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


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

    A `trouble` about one part of the text begins with a colon and that part. The `remedy` is what is
    accepted, unless it is passed in.
    """
    remedy = remedy or f"Accepted: {accepted}."
    return CronError(
        f'cron="{shown_text(given)}"{"" if trouble.startswith(":") else " "}{trouble}. {remedy}',
        given=given,
        position=position,
        where="cron",
        trouble=trouble,
        remedy=remedy,
        accepted=accepted,
        suggestion=suggestion,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlace:
    """Where a field is: the whole text that was given, and the offset of the field in it."""

    given: str
    offset: int

    def error(
        self, spec: Spec, item: str, trouble: str, *, at: int = 0, accepted: str = "", hint: str = ""
    ) -> CronError:
        """Make the error for `item`, `at` characters into the field. `hint` is a sentence."""
        accepted = accepted or spec.accepted
        what = shown_text(item, limit=24) or '""'
        return field_error(
            self.given,
            f": {what} (field {spec.number}, {spec.name}) {trouble}",
            accepted=accepted,
            remedy=f"Accepted: {accepted}. {hint}".rstrip(),
            position=self.offset + at,
        )

    def not_a_name(self, spec: Spec, item: str, name: str, *, at: int = 0, accepted: str = "") -> CronError:
        """Make the error for an `item` with a `name` that its field does not know, with the nearest one."""
        near = nearest_word(name.lower(), [known for known in spec.names if len(known) > 3])
        error = self.error(
            spec,
            item,
            f"is not a {spec.name} name",
            at=at,
            accepted=accepted,
            hint=f"Did you mean {near}?" if near else "",
        )
        start = self.offset + at
        if near:
            error.suggestion = self.given[:start] + self.given[start:].replace(name, near, 1)
        return error


_NUMBER = re.compile(r"[0-9]+")
_NAME = re.compile(r"[A-Za-z]+")
_ORDINAL = re.compile(r"([0-9]+|[A-Za-z]+)#([0-9]+)")
_LAST_WEEKDAY = re.compile(r"([0-9]+|[A-Za-z]{3,})[Ll]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads the items of one field; carries what every error needs."""

    spec: Spec
    place: FieldPlace

    def error(self, item: str, trouble: str, *, at: int, accepted: str = "", hint: str = "") -> CronError:
        return self.place.error(self.spec, item, trouble, at=at, accepted=accepted, hint=hint)

    def value(self, text: str, *, whole: str, at: int) -> int:
        """Read a number or name within the field's range."""
        spec = self.spec
        if _NAME.fullmatch(text) and spec.names:
            number = spec.names.get(text.lower())
            if number is not None:
                return number
            raise self.place.not_a_name(spec, whole, text, at=at)
        if not _NUMBER.fullmatch(text):
            raise self.error(whole, "is not understood" if text else "has a part missing", at=at)
        if spec is YEAR and len(text) != 4:
            raise self.error(whole, "is not a year of four digits", at=at)
        if len(text) > max(2, len(str(spec.high))) or not spec.low <= int(text) <= spec.high:
            raise self.error(whole, "is out of range", at=at)
        return int(text)

    def step(self, text: str, *, whole: str, at: int) -> int:
        """Read what follows the slash."""
        accepted = f"a step of 1-{MAX_STEP}"
        if not _NUMBER.fullmatch(text):
            raise self.error(whole, "has a step that is not a number", at=at, accepted=accepted)
        digits = text.lstrip("0")
        if not digits:
            raise self.error(whole, "has a step of zero", at=at, accepted=accepted)
        if len(digits) > len(str(MAX_STEP)):
            raise self.error(whole, "has a step out of range", at=at, accepted=accepted)
        return int(digits)

    def item(self, text: str, *, at: int) -> FieldItem:
        """Read one item of the list."""
        spec = self.spec
        if not text:
            raise self.error(text, "is an empty item", at=at)
        if text in ("L", "l") and spec is DAY:
            return FieldItem(kind="last", low=31, high=31)
        if spec is WEEKDAY:
            if found := _ORDINAL.fullmatch(text):
                day = self.value(found[1], whole=text, at=at)
                if found[2] not in ("1", "2", "3", "4", "5"):
                    raise self.error(text, "names no weekday of a month", at=at, accepted="n#1 to n#5")
                return FieldItem(kind="weekday", low=day, high=day, step=int(found[2]))
            if found := _LAST_WEEKDAY.fullmatch(text):
                day = self.value(found[1], whole=text, at=at)
                return FieldItem(kind="weekday", low=day, high=day, step=-1)
        body, slash, after = text.partition("/")
        step = self.step(after, whole=text, at=at) if slash else 1
        if body == "*":
            return FieldItem(kind="range", low=spec.low, high=spec.high, step=step, star=True)
        first, dash, second = body.partition("-")
        low = self.value(first, whole=text, at=at)
        if dash:
            if spec is DAY and second in ("L", "l"):
                return FieldItem(kind="range", low=low, high=31, step=step)
            high = self.value(second, whole=text, at=at)
            if high < low:
                raise self.error(text, "runs backwards", at=at, accepted=f"{spec.accepted}, lower end first")
            return FieldItem(kind="range", low=low, high=high, step=step)
        if step == 1:
            return FieldItem(kind="range", low=low, high=low)
        if spec is YEAR:
            raise self.error(
                text, "can't be counted, as a year comes once", at=at, hint=f"Write {low}-{LAST_YEAR}/{step}."
            )
        return FieldItem(kind="occurrence", low=low, high=low, step=step)

    def items(self, text: str, *, at: int = 0) -> tuple[FieldItem, ...]:
        """Read the list."""
        found: dict[FieldItem, None] = {}
        for part in text.split(","):
            found[self.item(part, at=at)] = None
            at += len(part) + 1
        return tuple(found)


def read_field(text: str, spec: Spec, *, place: FieldPlace, rule: bool = False) -> Field:
    """Read one field; raise CronError with the place of the trouble.

    `rule` admits the two forms that only a trigger's `rules` have: ``&`` before a day-of-month (and, not or,
    with day-of-week), ``=`` before a day-of-week whose suffix belongs to the whole list, as in the Clojure code.
    """
    reader = _Reader(spec=spec, place=place)
    if text == "?" and spec in (DAY, WEEKDAY):
        return Field(spec=spec, text=text, items=(_all(spec),), mask=_mask((_all(spec),)), restricted=False)
    if rule and spec is WEEKDAY and text.startswith("="):
        return _whole_list(text, reader)
    joined = rule and spec is DAY and text.startswith("&")
    items = reader.items(text[1:], at=1) if joined else reader.items(text)
    return Field(
        spec=spec,
        text=text,
        items=items,
        mask=_mask(items) if spec is not YEAR else 0,
        restricted=text != "*",
        joined=joined,
        occurrences=tuple((i.low, i.step) for i in items if i.kind == "occurrence"),
        ordinals=tuple((1 << i.low, i.step) for i in items if i.kind == "weekday"),
        last=any(i.kind == "last" for i in items),
    )


def _all(spec: Spec) -> FieldItem:
    return FieldItem(kind="range", low=spec.low, high=spec.high, star=True)


def _mask(items: tuple[FieldItem, ...]) -> int:
    mask = 0
    for item in items:
        for value in item.values:
            mask |= 1 << value
    return mask


def _whole_list(text: str, reader: _Reader) -> Field:
    body, sharp, count = text[1:].partition("#")
    if not sharp:
        if body[-1:] not in ("L", "l"):
            raise reader.error(text, "has no suffix for its list", at=0, accepted="=LISTL or =LIST#k")
        body, count = body[:-1], "-1"
    elif not _NUMBER.fullmatch(count) or not 1 <= int(count[:3]) <= 31:
        raise reader.error(text, "names no day of a month", at=0, accepted="=LIST#1 to =LIST#31")
    items = reader.items(body, at=1)
    if any(item.kind != "range" for item in items):
        raise reader.error(text, "has a suffix inside its list", at=0, accepted="values and ranges")
    return Field(spec=WEEKDAY, text=text, items=items, mask=0, restricted=True, ordinals=((_mask(items), int(count)),))
