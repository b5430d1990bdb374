"""The one reader of cron fields: converts text to items and a bit set, by a `Grammar` for each dialect.

A `Grammar` holds the allowed content of the fields of its dialect, the checks in their order, and the sentences of its
refusals. The normative texts are spec/cron.md, spec/moving.md and spec/layouts/gocraft.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from workkit.text.nearest import nearest_word
from workkit.triggers.crons.field import DAY, SPECS, WEEKDAY, YEAR, Field, FieldItem, Spec, field_text

_DAYS: Final = (DAY.name, WEEKDAY.name)
_NAMES: Final = {spec.name: tuple(spec.names) for spec in SPECS}

Sentence = str | tuple[str, ...]
"""The trouble, the accepted values ("" for the range of the field), a hint, and the text to write instead of the item.
The texts may use `item`, its `spec`, the `part` at fault, the name `near` it, and the item with that name in its place.
"""
Refuse = Callable[..., Exception]
"""A function that makes the error about an item: `FieldPlace.error`, or one with the same parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The allowed content of the fields of one dialect.

    `specs` are its fields in order, with their ranges, their names, and 7 as Sunday or not. `shape` is an item with the
    parts star, first, last and n; `number` a value or a step, at most `greatest`, of at most `digits` digits. `checks`
    read the parts of an item, in order. `steepest` is the greatest step, by default the highest value of the field.

    `day_last` are the texts for the last day of the month, `to_last` lets a range end with it, and `of_month` is a
    weekday of the month with the parts day and k. `unset` is a day field that leaves the day to the other one; where
    both are set, either is enough. `open_days`: a lone question mark is a day field. `skips_empty`: an empty item
    has no effect. `short_names`: names have three letters. `sentences` has one for each fault:

    - of an item: "empty"; "shape": without the parts of an item; "place": n#k of no month; "mixed": beside a weekday
    - of a value: "odd", "missing"; "suffix": an L, W or #; "name", "near name"; "year": not of four digits; "fraction";
      "range"; "again": with which the field begins again, hour 24; "Sunday": 7
    - of a range: "backwards"; "leaps back": the same with a step
    - of a step: "step": no number; "zero"; "steep": too great; "counted": v/n; "narrow": in a range of one value
    """

    specs: tuple[Spec, ...]
    shape: re.Pattern[str]
    checks: tuple[Callable[[_Item], None], ...] = ()
    sentences: Mapping[str, Sentence] = field(default_factory=dict, repr=False)
    number: re.Pattern[str] = re.compile(r"[0-9]+")
    is_word: Callable[[str], object] = re.compile(r"[A-Za-z]+").fullmatch
    suffix: re.Pattern[str] = re.compile(r"(?!)")
    greatest: int = 10**20
    digits: int | None = None
    steepest: int | None = None
    day_last: tuple[str, ...] = ()
    to_last: bool = False
    of_month: re.Pattern[str] = re.compile(r"(?!)")
    unset: re.Pattern[str] = re.compile(r"[*?]")
    open_days: bool = False
    skips_empty: bool = False
    short_names: bool = False

    def fields(self, count: int) -> tuple[Spec, ...]:
        """Return its last `count` fields, numbered from 1."""
        return tuple(replace(spec, number=number) for number, spec in enumerate(self.specs[-count:], 1))


def read_field(text: str, spec: Spec, row: Grammar, *, refuse: Refuse, rule: bool = False) -> Field:
    """Read one field of a dialect. Raises the error that `refuse` makes.

    `rule` admits the two forms that only a trigger's `rules` have: ``&`` before a day-of-month (and, not or, with
    day-of-week), and ``=`` before a day-of-week. The latter's suffix belongs to the whole list, as in the Clojure code.
    """
    if rule and spec is WEEKDAY and text.startswith("="):
        return _whole_list(text, row, refuse)
    joined = rule and spec is DAY and text.startswith("&")
    if text == "*" or (text == "?" and row.open_days and spec.name in _DAYS):
        items: tuple[FieldItem, ...] = (FieldItem(kind="range", low=spec.low, high=spec.high, star=True),)
    else:
        items = _items(text, spec, row, refuse, since=int(joined))
    return Field(
        spec=spec,
        text=text,
        items=items,
        mask=_mask(items, spec) if spec.name != YEAR.name else 0,
        restricted=not row.unset.fullmatch(text),
        joined=joined,
        occurrences=tuple((i.low, i.step) for i in items if i.kind == "occurrence"),
        ordinals=tuple((1 << i.low, i.step) for i in items if i.kind == "weekday"),
        last=any(i.kind == "last" for i in items),
    )


def _items(text: str, spec: Spec, row: Grammar, refuse: Refuse, *, since: int) -> tuple[FieldItem, ...]:
    """Read the list that begins `since` characters into the field."""
    found: dict[FieldItem, None] = {}
    at = since
    for part in text[since:].split(","):
        if part or not row.skips_empty:
            found[_Item(part, at, spec, row, refuse, text).read()] = None
        at += len(part) + 1
    if "mixed" in row.sentences and len({item.kind == "weekday" for item in found}) > 1:
        raise _Item(text, 0, spec, row, refuse, text).error("mixed")
    return tuple(found)


def _mask(items: tuple[FieldItem, ...], spec: Spec) -> int:
    mask = 0
    for item in items:
        for value in item.values:
            mask |= 1 << value
    return mask & ~(1 << 7) | 1 if spec.has_seven and mask >> 7 & 1 else mask


def _whole_list(text: str, row: Grammar, refuse: Refuse) -> Field:
    body, sharp, count = text[1:].partition("#")
    if not sharp:
        if body[-1:] not in ("L", "l"):
            raise refuse(WEEKDAY, text, "has no suffix for its list", accepted="=LISTL or =LIST#k")
        body, count = body[:-1], "-1"
    elif not re.fullmatch("[0-9]+", count) or not 1 <= int(count[:3]) <= 31:
        raise refuse(WEEKDAY, text, "names no day of a month", accepted="=LIST#1 to =LIST#31")
    items = _items(f"={body}", WEEKDAY, row, refuse, since=1)
    if any(item.kind != "range" for item in items):
        raise refuse(WEEKDAY, text, "has a suffix inside its list", accepted="values and ranges")
    days = _mask(items, WEEKDAY)
    return Field(spec=WEEKDAY, text=text, items=items, mask=0, restricted=True, ordinals=((days, int(count)),))


class _Item:
    """One item during the reading: its parts as text, and the values that the checks read from them."""

    def __init__(self, text: str, at: int, spec: Spec, row: Grammar, refuse: Refuse, whole: str) -> None:
        self.text, self.at, self.spec, self.row, self.refuse, self.whole = text, at, spec, row, refuse, whole
        self.low, self.high, self.step = spec.low, spec.high, 1
        self.first: str | None = None
        self.last: str | None = None
        self.n: str | None = None
        self.kind: Literal["range", "occurrence"] = "range"

    def read(self) -> FieldItem:
        text, spec, row = self.text, self.spec, self.row
        if not text:
            raise self.error("empty")
        if spec.name == DAY.name and text in row.day_last:
            return FieldItem(kind="last", low=31, high=31)
        if spec.name == WEEKDAY.name and (found := row.of_month.fullmatch(text)):
            day, k = self.end(found["day"]) % 7, found["k"]
            if k is not None and k not in ("1", "2", "3", "4", "5"):
                raise self.error("place")
            return FieldItem(kind="weekday", low=day, high=day, step=int(k or -1))
        found = row.shape.fullmatch(text)
        if found is None:
            raise self.error("shape")
        star, self.first, self.last, self.n = found["star"], found["first"], found["last"], found["n"]
        for check in row.checks:
            check(self)
        return FieldItem(kind=self.kind, low=self.low, high=self.high, step=self.step, star=star is not None)

    @property
    def names(self) -> str:
        """The names that the field has, as the end of a sentence about its values."""
        return f", or {' '.join(self.spec.names)}" if self.spec.names else ""

    @property
    def is_lone(self) -> bool:
        """Whether it is one value with a step."""
        return self.n is not None and self.first is not None and self.last is None

    def value(self, part: str) -> int:
        """Read a name or a number."""
        spec, row = self.spec, self.row
        number = spec.names.get(part.lower())
        if number is None:
            number = self.number(part)
        if number is not None:
            return number
        if row.suffix.search(part):
            raise self.error("suffix")
        if not spec.names or not row.is_word(part):
            raise self.error("odd" if part else "missing", part)
        known = {name: name[:3] if row.short_names else name for name in _NAMES[spec.name]}
        near = nearest_word(part.lower(), [name for name in known if row.short_names or len(name) > 3])
        raise self.error(
            "near name" if near and "near name" in row.sentences else "name", part, near=known.get(near or "")
        )

    def number(self, part: str) -> int | None:
        """Read digits; None for any other text. A number of more than twenty digits is out of every range."""
        if not self.row.number.fullmatch(part):
            return None
        number = int(part.partition(".")[0].lstrip("+0")[:20] or 0)
        return None if number > self.row.greatest else number

    def end(self, part: str) -> int:
        """Read a value, and refuse one out of range or with more digits than the dialect reads."""
        spec, row, number = self.spec, self.row, self.value(part)
        if inside in row.checks or part.isalpha():
            return number
        if spec.name == YEAR.name and len(part) != 4 and "year" in row.sentences:
            raise self.error("year")
        digits = max(row.digits or len(part), len(str(spec.high)))
        if not spec.low <= number <= spec.top or len(part) > digits:
            raise self.error("range", part)
        return number

    def error(self, fault: str, part: str = "", *, near: str | None = None) -> Exception:
        """Make the error of the dialect, about a `part` of the item; `near` is the nearest name."""
        sentence = self.row.sentences[fault]
        parts = (*((sentence,) if isinstance(sentence, str) else sentence), "", "", "")[:4]
        near_text = self.text.replace(part, near, 1) if near else ""
        trouble, accepted, hint, better = (
            text.format(item=self, spec=self.spec, part=part, near=near, near_text=near_text) for text in parts
        )
        return self.refuse(
            self.spec, self.text, trouble, at=self.at, accepted=accepted, hint=hint, better=better or None
        )


# The checks: each reads or refuses parts of an item. A grammar lists them in their order.


def first(item: _Item) -> None:
    """Read the lower end, or the one value."""
    if item.first is not None:
        item.low = item.high = item.end(item.first)


def last(item: _Item) -> None:
    """Read the higher end. It may be the last day of the month."""
    if item.last is not None:
        to_last = item.row.to_last and item.spec.name == DAY.name and item.last in item.row.day_last
        item.high = 31 if to_last else item.end(item.last)


def step(item: _Item) -> None:
    """Read the step."""
    if item.n is not None:
        n = item.number(item.n)
        if not n or n > (item.row.steepest or item.spec.high):
            raise item.error("step" if n is None else "steep" if n else "zero")
        item.step = n


def forwards(item: _Item) -> None:
    """Refuse a range that runs backwards."""
    if item.high < item.low:
        raise item.error("leaps back" if item.step > 1 and "leaps back" in item.row.sentences else "backwards")


def inside(item: _Item) -> None:
    """Refuse a range that leads out of the field, with a hint where the field begins again there: Sunday is 0."""
    spec = item.spec
    if item.low < spec.low or item.high > spec.high:
        again = item.high == spec.high + 1 and spec.low == 0 and item.text == str(item.high)
        raise item.error(("Sunday" if spec.name == WEEKDAY.name else "again") if again else "range")


def whole(item: _Item) -> None:
    """Refuse a number that is not whole."""
    for part in (item.first, item.last, item.n):
        number, _, fraction = (part or "").partition(".")
        if fraction.strip("0"):
            raise item.error("fraction", number)


def counted(item: _Item) -> None:
    """Read v/n as every nth occurrence of v, and v/1 as v."""
    if item.is_lone and item.step > 1:
        if item.spec.name == YEAR.name:
            raise item.error("counted")
        item.kind = "occurrence"


def kept(item: _Item) -> None:
    """Keep v/n for the caller, as an occurrence."""
    if item.is_lone:
        item.kind = "occurrence"


def not_counted(item: _Item) -> None:
    """Refuse v/n."""
    if item.is_lone:
        raise item.error("counted")


def to_end(item: _Item) -> None:
    """Read v/n as the steps from v to the highest value, and fri-sun as 5-7. Refuse steps that lead to 7 if 7 is
    Sunday, as crontabs differ there.
    """
    spec = item.spec
    if item.is_lone:
        if spec.has_seven and item.low and (spec.top - item.low) % item.step == 0:
            raise item.error("counted")
        item.high = spec.high
    elif spec.has_seven and item.high == 0 < item.low and (item.last or "").isalpha():
        item.high = spec.top


def wide(item: _Item) -> None:
    """Refuse a step in a range of one value."""
    if item.n is not None and item.low == item.high:
        raise item.error("narrow")


def rule_of(fields: Iterable[Field]) -> str:
    """Write the fields of a crontab as seven in published order (spec/cron.md, 3).

    If both day fields are set, either is enough: a field with all values stays a range, as a star would not count as
    set. If one of them is unset, both must match.
    """
    named = {part.spec.name: part for part in fields}
    either = all(named[name].restricted for name in _DAYS)
    texts = {name: _written(part, either=either and name in _DAYS) for name, part in named.items()}
    both = "&" if not either and "*" not in (texts[name] for name in _DAYS) else ""
    order = [texts.get(spec.name, "0" if spec is SPECS[-1] else "*") for spec in SPECS]
    return " ".join([*order[:2], f"{both}{order[2]}", *order[3:]])


def _written(part: Field, *, either: bool) -> str:
    if part.ordinals:
        places = sorted((day.bit_length() - 1, k < 0, k) for day, k in part.ordinals)
        return ",".join(f"{day}L" if last else f"{day}#{k}" for day, last, k in places)
    text = field_text(part.values, part.spec) if part.mask else ""
    if text == "*":
        return f"{part.spec.low}-{part.spec.high}" if either else "*"
    return ",".join(filter(None, (text, "L" if part.last else "")))
