"""What a job asks for beside a run: its name, its unique key, how it stands to its own other runs. Pure.

`Terms` travel with the job (`opts` in its payload, spec/features.md); `Entrance` is what the one addition asks for, and
is not stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from workkit.errors import CorruptRecord, InvalidOptions
from workkit.jobs.run_options import LONGEST_MS, milliseconds

UNIQUE_UNTIL = ("done", "started")
ON_CONFLICT = ("keep", "replace")
OVERLAPS = ("allow", "skip", "queue", "cancel")
CATCH_UPS = ("once", "all", "skip")
PRIORITIES = (0, 1, 2, 3)
LATE_MS = 60_000  # how late catch_up="skip" lets a run be, where `catch_up_within` says nothing
LONGEST_NAME, LONGEST_KEY, MOST_RUNS = 200, 500, 1_000_000_000

OF_RECURRENCE = ("overlap", "catch_up", "catch_up_within", "count", "spread")
TERMS = (
    "name", "unique", "unique_key", "unique_until", "on_conflict", "throttle", "debounce", *OF_RECURRENCE, "priority",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was said, a default read as not said. Durations in milliseconds."""

    name: str | None = None
    unique_key: str | None = None
    unique_until: str | None = None  # "started"; None: done
    overlap: str | None = None  # "skip", "queue" or "cancel"; None: allow
    catch_up: str | None = None  # "all" or "skip"; None: once
    catch_up_within_ms: int | None = None
    count: int | None = None
    spread_ms: int | None = None
    priority: int | None = None  # 1 to 3; None: 0

    def fields(self) -> dict[str, Any]:
        """What stands in a payload's `opts`: only what was said."""
        return {name: value for name in _NAMES if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """How a job comes in. `many`: every addition is a job of its own. `replace`: what holds the unique key gives way.
    `throttle_ms`, `debounce_ms`: windows, spec/features.md 3; `window_key` is what they go by.
    """

    many: bool = False
    replace: bool = False
    throttle_ms: int | None = None
    debounce_ms: int | None = None
    window_key: str | None = None


_NAMES = tuple(sorted(f.name for f in fields(Terms)))
PLAIN = Terms()  # the usual ones
USUAL = Entrance()


def read_terms(given: Mapping[str, Any]) -> tuple[Terms, Entrance]:
    """Check what a user said, by the keywords of `TERMS`; None is not said. What depends on the job's time is left to
    who knows that. Raises InvalidOptions, TriggerError for a duration.
    """
    said = {name: _READ[name](value, name) for name, value in given.items() if value is not None}
    if not said:
        return PLAIN, USUAL
    _refuse_pairs(said)
    terms = _normal({name: said.get(name.removesuffix("_ms")) for name in _NAMES})
    entrance = Entrance(
        many=said.get("unique") is False,
        replace=said.get("on_conflict") == "replace",
        throttle_ms=said.get("throttle"),
        debounce_ms=said.get("debounce"),
    )
    return terms, USUAL if entrance == USUAL else entrance


def stored_terms(opts: object) -> Terms:
    """Read the `opts` of a stored payload; members it does not know are for others. Raises CorruptRecord."""
    if not isinstance(opts, Mapping):
        raise CorruptRecord(f"payload: opts is {opts!r}, not an object", given=opts)
    said: dict[str, Any] = {}
    for name in _NAMES:
        value: Any = opts.get(name)
        if value is None:
            continue
        if not _FITS[name](value):
            raise CorruptRecord(f"payload: opts.{name} is {value!r}", given=value)
        said[name] = value
    return _normal(said) if said else PLAIN


def _normal(said: dict[str, Any]) -> Terms:
    """The terms, defaults taken out, so that the same wish has one form."""
    if said.get("catch_up") == "skip" and said.get("catch_up_within_ms") == LATE_MS:
        del said["catch_up_within_ms"]
    kept = {name: value for name, value in said.items() if value is not None and _DEFAULTS.get(name) != value}
    return Terms(**kept) if kept else PLAIN


_DEFAULTS = {"unique_until": "done", "overlap": "allow", "catch_up": "once", "priority": 0}


def _refuse_pairs(said: Mapping[str, Any]) -> None:
    """Refuse what cannot be meant together, with the reason."""
    if said.get("unique") is False:
        for name, why in _ALONE.items():
            if name in said:
                raise InvalidOptions(
                    f"unique=False with {name}=: every addition would be a job of its own, and {why}. Leave out one.",
                    given=False,
                )
    if "unique_key" not in said:
        for name, what in (("on_conflict", "what gives way where"), ("unique_until", "how long")):
            if name in said:
                raise InvalidOptions(
                    f'{name}="{said[name]}" without unique_key=: it says {what} a key is taken. '
                    f'Add unique_key="...", or leave it out.',
                    given=said[name],
                )
    if "throttle" in said and "debounce" in said:
        raise InvalidOptions(
            "throttle= and debounce= were both given: of a window either the first addition runs, or the last. "
            "Keep one of them."
        )


_ALONE = {
    "unique_key": "a key allows one at a time",
    "name": "a name stands for one job",
    "throttle": "a window makes one of several",
    "debounce": "a window makes one of several",
}

Read = Callable[[Any, str], Any]


def _text(most: int, *, forbidden: re.Pattern[str]) -> Read:
    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or not value:
            what = "is empty" if value == "" else "is not a text"
            raise InvalidOptions(f'{name}={value!r} {what}. Write for example {name}="nightly".', given=value)
        if len(value) > most:
            raise InvalidOptions(
                f'{name}="{value[:20]}..." has {len(value):,} characters. Accepted: 1 to {most}.', given=value
            )
        if found := forbidden.search(value):
            what = "a *" if found[0] == "*" else "a control character" if _KEY.match(found[0]) else "a blank at its end"
            raise InvalidOptions(
                f"{name}={value!r} has {what} (column {found.start() + 1}). Write it without.",
                given=value,
                position=found.start(),
            )
        return value

    return read


def _choice(accepted: tuple[Any, ...]) -> Read:
    def read(value: Any, name: str) -> Any:
        if not _among(accepted)(value):
            known = ", ".join(map(str, accepted))
            raise InvalidOptions(f"{name}={value!r} is not known. Accepted: {known}.", given=value)
        return value

    return read


def _length(least_ms: int = 1) -> Read:
    return lambda value, name: milliseconds(value, name, least=least_ms)


def _boolean(value: Any, name: str) -> bool:
    if type(value) is not bool:
        raise InvalidOptions(f"{name}={value!r} is neither True nor False.", given=value)
    return value


def _runs(value: Any, name: str) -> int:
    if not _whole(MOST_RUNS)(value):
        raise InvalidOptions(f"{name}={value!r} is not a number of runs. Accepted: 1 to {MOST_RUNS:,}.", given=value)
    return int(value)


_CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]"  # lone surrogates: no server takes them
_KEY = re.compile(_CONTROL)
_NAME = re.compile(rf"{_CONTROL}|\*|\A\s|\s\Z")
_READ: dict[str, Read] = {
    "name": _text(LONGEST_NAME, forbidden=_NAME),
    "unique": _boolean,
    "unique_key": _text(LONGEST_KEY, forbidden=_KEY),
    "unique_until": _choice(UNIQUE_UNTIL),
    "on_conflict": _choice(ON_CONFLICT),
    "throttle": _length(),
    "debounce": _length(),
    "overlap": _choice(OVERLAPS),
    "catch_up": _choice(CATCH_UPS),
    "catch_up_within": _length(),
    "count": _runs,
    "spread": _length(1000),  # runs are put off by whole seconds
    "priority": _choice(PRIORITIES),
}

Fits = Callable[[Any], bool]


def _among(accepted: tuple[Any, ...]) -> Fits:
    kind = type(accepted[0])
    return lambda value: type(value) is kind and value in accepted


def _whole(most: int) -> Fits:
    return lambda value: type(value) is int and 1 <= value <= most


def _sound(most: int, *, forbidden: re.Pattern[str]) -> Fits:
    return lambda value: isinstance(value, str) and 1 <= len(value) <= most and not forbidden.search(value)


_FITS: dict[str, Fits] = {
    "name": _sound(LONGEST_NAME, forbidden=_NAME),
    "unique_key": _sound(LONGEST_KEY, forbidden=_KEY),
    "unique_until": _among(UNIQUE_UNTIL),
    "overlap": _among(OVERLAPS),
    "catch_up": _among(CATCH_UPS),
    "catch_up_within_ms": _whole(LONGEST_MS),
    "count": _whole(MOST_RUNS),
    "spread_ms": _whole(LONGEST_MS),
    "priority": _among(PRIORITIES),
}
