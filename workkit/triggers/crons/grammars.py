"""The grammars of `reader.py`: the allowed content of the fields of each cron dialect, and its refusals of the rest.
Also recognizes a cron string of any dialect.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from workkit.triggers.crons import reader as read
from workkit.triggers.crons.field import (
    DAY,
    HOUR,
    LAST_YEAR,
    MAX_STEP,
    MINUTE,
    MONTH,
    SECOND,
    SPECS,
    WEEKDAY,
    YEAR,
    Spec,
)

NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""The nicknames, each as the five fields of a crontab."""

_SEVEN: Final = replace(WEEKDAY, has_seven=True)
_STEPS: Final = f"a step of 1-{MAX_STEP}"
_NEAR: Final = ("", "Did you mean {near}?", "{near_text}")
_USUAL: Final[dict[str, read.Sentence]] = {
    "empty": "is an empty item",
    "odd": "is not understood",
    "missing": "has a part missing",
    "name": "is not a {spec.name} name",
    "near name": ("is not a {spec.name} name", *_NEAR),
    "range": "is out of range",
}


def _short(spec: Spec) -> Spec:
    return replace(spec, names={name: value for name, value in spec.names.items() if len(name) == 3})


PUBLISHED: Final = read.Grammar(
    specs=SPECS,
    shape=re.compile(r"(?:(?P<star>\*)|(?P<first>[^/-]*)(?:-(?P<last>[^/]*))?)(?:/(?P<n>.*))?", re.DOTALL),
    checks=(read.step, read.first, read.last, read.forwards, read.counted),
    digits=2,
    steepest=MAX_STEP,
    day_last=("L", "l"),
    to_last=True,
    of_month=re.compile(r"(?P<day>[0-9]+|[A-Za-z]+(?=#)|[A-Za-z]{3,})(?:#(?P<k>[0-9]+)|[Ll])"),
    open_days=True,
    sentences={
        **_USUAL,
        "year": "is not a year of four digits",
        "backwards": ("runs backwards", "{spec.accepted}, lower end first"),
        "step": ("has a step that is not a number", _STEPS),
        "zero": ("has a step of zero", _STEPS),
        "steep": ("has a step out of range", _STEPS),
        "counted": ("can't be counted, as a year comes once", "", f"Write {{item.low}}-{LAST_YEAR}/{{item.step}}."),
        "place": ("names no weekday of a month", "n#1 to n#5"),
    },
)
"""Seven fields, year first (spec/cron.md, 1)."""

CRONTAB: Final = read.Grammar(
    specs=(SECOND, MINUTE, HOUR, DAY, MONTH, _SEVEN),
    shape=re.compile(
        r"(?:(?P<star>\*)|(?P<first>[0-9]+|[A-Za-z]+)(?:-(?P<last>[0-9]+|[A-Za-z]+))?)(?:/(?P<n>[0-9]+))?"
    ),
    checks=(read.step, read.first, read.last, read.to_end, read.forwards),
    digits=2,
    steepest=MAX_STEP,
    day_last=("L", "l"),
    of_month=re.compile(r"(?P<day>[0-9]+|[A-Za-z]{3,})(?:#(?P<k>[1-5])|[Ll])"),
    open_days=True,
    sentences={
        **_USUAL,
        "shape": "is not understood",
        "backwards": ("runs backwards", "the lower end first", "Write {item.low}-{spec.high},{spec.low}-{item.high}."),
        "leaps back": ("runs backwards", "the lower end first"),
        "zero": ("has a step out of range", _STEPS),
        "steep": ("has a step out of range", _STEPS),
        "counted": ("may leave Sunday out or in", "{item.low}-6/{item.step} or {item.low}-7/{item.step}"),
        "mixed": ("mixes weekdays with weekdays of the month", "one kind in a list"),
    },
)
"""Five fields, minute first, or six with the second first (spec/cron.md, 5.1 and 5.2)."""

CLOJURE: Final = read.Grammar(
    specs=(SECOND, MINUTE, HOUR, MONTH, DAY, WEEKDAY, YEAR),
    shape=re.compile(
        r"(?:(?P<star>\*)|(?P<first>[0-9]+(?=-)|[+-]?[0-9]+\Z)(?:-(?P<last>[0-9]+|L))?)(?:/(?P<n>[0-9]+))?"
    ),
)
"""Seven fields, second first, month before day (spec/cron.md, 5.3). `cuckoo.py` reads the items of this dialect as the
Clojure code does, and skips the same ones.
"""

GO: Final = read.Grammar(
    specs=tuple(map(_short, (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY))),
    shape=re.compile(
        r"(?:(?P<star>[*?])(?:-[^/]*)?|(?P<first>[^/-]*)(?:-(?P<last>[^/-]*))?)(?:/(?P<n>[^/]*))?", re.DOTALL
    ),
    checks=(read.first, read.last, read.step, read.to_end, read.inside, read.forwards),
    number=re.compile(r"\+?[0-9]+"),
    is_word=str.isalpha,
    suffix=re.compile(r"[LlWw]\Z|#"),
    greatest=2**63 - 1,
    steepest=2**63 - 1,
    unset=re.compile(r"(?:.*,)?[*?](?:-[^/,]*)?(?:/\+?0*1)?(?:,.*)?", re.DOTALL),
    skips_empty=True,
    short_names=True,
    sentences={
        **_USUAL,
        "shape": "has a / or - too many",
        "suffix": "is not understood: Go pools know no L, W and #",
        "name": "is no {spec.name} name of three letters",
        "near name": ("is no {spec.name} name of three letters", *_NEAR),
        "again": ("is out of range", "", "Write 0.", "0"),
        "Sunday": ("is out of range", "", "Go counts Sunday as 0.", "0"),
        "backwards": ("runs backwards", "the lower end first", "", "{item.low}-{spec.high},{spec.low}-{item.high}"),
        "leaps back": ("runs backwards", "the lower end first"),
        "step": ("has a step that is not a number", "a step of 1 or more"),
        "zero": ("has a step of zero", "a step of 1 or more"),
    },
)
"""Five fields, minute first, or six with the second first, as robfig's cron reads them (spec/layouts/gocraft.md, 4)."""

_FIELD: Final = '"{item.whole}" (field {spec.number}, {spec.name})'
_NOT_ONE: Final = _FIELD + ": {part} is none of {spec.accepted}{item.names}"
_OTHERS: Final = "{item.first}-{spec.top}/{item.n}"

VIXIE: Final = read.Grammar(
    specs=tuple(
        replace(spec, number=n) for n, spec in enumerate((MINUTE, HOUR, DAY, _short(MONTH), _short(_SEVEN)), 1)
    ),
    shape=re.compile(r"(?:(?P<star>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<n>[0-9]+))?", re.ASCII),
    checks=(read.first, read.not_counted, read.last, read.forwards, read.wide, read.step),
    digits=4,
    steepest=10**20,
    unset=re.compile(r"\*.*", re.DOTALL),
    sentences={
        **dict.fromkeys(("empty", "shape"), f"{_FIELD} is not understood: cron has values, ranges, steps and lists"),
        **dict.fromkeys(("odd", "name", "range"), _NOT_ONE),
        "counted": (
            f"{_FIELD} has a step after one value: some crons read {{item.first}}, others {_OTHERS}",
            "",
            f"Write {{item.first}}, or {_OTHERS}.",
        ),
        "backwards": (f"{_FIELD} runs backwards, which cron does not read", "", "Write two ranges."),
        "narrow": f"{_FIELD} has a step in a range of one value, which crons read in different ways",
        "zero": f"{_FIELD} has a step of zero",
    },
)
"""The lines of the crontabs of Linux and the BSDs, as far as they all read them alike (spec/moving.md)."""

_ITEM: Final = '"{item.text}" in "{item.whole}"'
_DIGITS: Final = r"[0-9]+(?:\.[0-9]+)?"

SYSTEMD: Final = read.Grammar(
    specs=(replace(YEAR, low=0, high=2199), replace(MONTH, names={}), DAY, HOUR, MINUTE, SECOND),
    shape=re.compile(rf"(?P<star>(?!))?(?P<first>{_DIGITS})(?:\.\.(?P<last>{_DIGITS}))?(?:/(?P<n>{_DIGITS}))?"),
    checks=(read.whole, read.first, read.last, read.forwards, read.step, read.kept),
    number=re.compile(_DIGITS),
    unset=re.compile(r"(?!)"),
    sentences={
        **dict.fromkeys(("empty", "shape"), f"{_ITEM} is not understood: a value, a range a..b, or a step a/n"),
        **dict.fromkeys(("range", "backwards"), f"{_ITEM} is out of range: {{spec.low}} to {{spec.high}}"),
        **dict.fromkeys(("zero", "steep"), f"{_ITEM} has a step out of range: 1 to {{spec.high}}"),
        "fraction": ('"{item.text}" has a fraction of a second; workkit runs at whole seconds', "", "Write {part}."),
    },
)
"""A part of a time of `OnCalendar=` in systemd: both day fields must match (spec/moving.md)."""

_NAMES: Final = "|".join(sorted({*MONTH.names, *WEEKDAY.names, "sept", "tues", "thur", "thurs"}, key=len, reverse=True))
_LOOK: Final = re.compile(rf"(?:[\d*?/,#&-]|l(?![a-z])|(?:{_NAMES})(?![a-z]))+")
_NICKNAME: Final = re.compile(r"@[a-z][a-z_-]*")
_LONGEST: Final = 1_000  # characters that are read
_LEAST_PLAIN: Final = 3  # fields that begin with a number or a star: words, such as "mon tue wed thu fri", have fewer


def looks_like_cron(text: str) -> bool:
    """Return whether a text looks like a cron string of any dialect (spec/phrases.md, one text).

    Such a text is a nickname such as ``@daily``, or words that all are cron fields. Either there are five to seven, and
    three of them are ``L`` or begin with a number, a star or a question mark; or there are four or more, with a star.
    """
    fields = text[:_LONGEST].lower().split()
    if len(fields) == 1:
        return bool(_NICKNAME.fullmatch(fields[0]))
    if len(fields) < 4 or not all(_LOOK.fullmatch(field) for field in fields):
        return False
    if 5 <= len(fields) <= 7:
        return sum(field == "l" or field[0] in "*?0123456789" for field in fields) >= _LEAST_PLAIN
    return any(field.startswith("*") for field in fields)
