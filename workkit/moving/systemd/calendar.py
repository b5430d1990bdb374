"""`OnCalendar=` of systemd.time(7) as rules in wall-clock time (spec/cron.md, 3). Weekday and date both count there."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime

from workkit.errors import TriggerError
from workkit.moving.refusal import NotCarried, not_carried
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, FieldItem, Spec, field_text
from workkit.triggers.crons.grammars import SYSTEMD
from workkit.triggers.crons.reader import read_field
from workkit.triggers.zone import zone

NICKNAMES = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
}
FIRST_YEAR, LAST_YEAR = 1970, 2199  # systemd looks no further
_WEEKDAY = re.compile(r"([a-z]+)(?:(?:\.\.|-)([a-z]+))?")
_MONDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)
_LAST_WEEK = frozenset(range(1, 8))
FEBRUARY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """When one OnCalendar= line fires: the union of `rules` in the zone `tz`. `runs_over`: a step "a/n" leads past the
    end of its range to another value than its first.
    """

    rules: tuple[str, ...]
    tz: str
    runs_over: bool = False


def read_calendar(text: str, *, tz: str) -> Calendar:
    """Read one line, in the zone `tz` unless it names one. Raises NotCarried."""
    words, tz = _zone(text.split(), tz)
    spec = " ".join(words)
    if spec.startswith("@"):
        return _instant(spec)
    words = NICKNAMES.get(spec.lower(), spec).split()
    weekdays = set(_MONDAY_FIRST)
    if words and words[0][:1].isalpha():
        weekdays = _weekdays(words.pop(0))
    date = words.pop(0) if words and ":" not in words[0] else "*-*-*"
    clock = words.pop(0) if words else "00:00:00"
    if words or not spec:
        raise _odd(text)
    year, month, day, from_end = _date(date)
    days = _days(day, month, from_end=from_end, weekdays=weekdays)
    hour, minute, second = _clock(clock)
    time = " ".join(
        field_text(_values(part, spec), spec) for part, spec in ((hour, HOUR), (minute, MINUTE), (second, SECOND))
    )
    parts = ((month, MONTH), (hour, HOUR), (minute, MINUTE), (second, SECOND), *([] if from_end else [(day, DAY)]))
    return Calendar(
        rules=tuple(f"{_years(year)} {date} {time}" for date in days),
        tz=tz,
        runs_over=any(_runs_over(part, spec) for part, spec in parts),
    )


def _odd(text: str) -> NotCarried:
    return NotCarried(f'"{text}" is not understood.', "systemd-analyze calendar shows how systemd reads it.")


def _zone(words: list[str], tz: str) -> tuple[list[str], str]:
    if not words or len(words) == 1 or not words[-1][:1].isalpha():
        return words, tz
    name = words[-1]
    try:
        return words[:-1], "UTC" if name.upper() == "UTC" else str(zone(name))
    except TriggerError as error:
        raise NotCarried(f"{name} is not a zone, or one of this machine's own.", "Write Europe/Paris.") from error


def _instant(spec: str) -> Calendar:
    if not spec[1:].isdecimal() or len(spec) > 11:
        raise _odd(spec)
    at = datetime.fromtimestamp(int(spec[1:]), UTC)
    return Calendar(rules=(f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}",), tz="UTC")


def _weekdays(text: str) -> set[int]:
    found: set[int] = set()
    for item in text.lower().removesuffix(",").split(","):
        match = _WEEKDAY.fullmatch(item)
        ends = [_weekday(name) for name in match.groups() if name] if match else [None]
        if None in ends:
            raise NotCarried(f"{item} is no day of the week.")
        first, last = (_MONDAY_FIRST.index(end) for end in (ends[0], ends[-1]) if end is not None)
        if first > last:
            raise NotCarried(f"{item} runs backwards: weeks begin with Monday.")
        found.update(_MONDAY_FIRST[first : last + 1])
    return found


def _weekday(name: str) -> int | None:
    return next((number for word, number in WEEKDAY.names.items() if word == name), None)


def _date(text: str) -> tuple[str, str, str, bool]:
    """Part a date into year, month and day; say whether days are counted from the end of the month."""
    parts = re.split(r"([-~])", text)
    if len(parts) == 3:
        parts = ["*", "-", *parts]
    if len(parts) != 5 or parts[1] != "-":
        raise _odd(text)
    return parts[0], parts[2], parts[4], parts[3] == "~"


def _clock(text: str) -> tuple[str, str, str]:
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise _odd(text)
    hour, minute, second = (*parts, "0") if len(parts) == 2 else parts
    return hour, minute, second


def _years(text: str) -> str:
    return "*" if text == "*" else ",".join(map(_year_item, _items(text, YEAR)))


def _year_item(item: FieldItem) -> str:
    first, last = _year(item.low), LAST_YEAR if item.kind == "occurrence" else _year(item.high)
    span = str(first) if first == last else f"{first}-{last}"
    return f"{span}/{item.step}" if item.step > 1 and first != last else span


def _year(number: int) -> int:
    """Read a year; two digits are 1970 to 2069."""
    year = number + (2000 if number < 70 else 1900) if number < 100 else number
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise NotCarried(f"{number} is no year from {FIRST_YEAR} to {LAST_YEAR}.")
    return year


def _items(text: str, spec: Spec) -> tuple[FieldItem, ...]:
    """Read a component: values and ranges, and a step "a/n" as a kind of its own. Raises NotCarried."""
    spec = next(own for own in SYSTEMD.specs if own.name == spec.name)
    return read_field(text, spec, SYSTEMD, refuse=not_carried).items


def _values(text: str, spec: Spec, *, from_end: bool = False) -> set[int]:
    """Read the values of a component; days `from_end` are 1 for the last day, and steps lead towards it."""
    found: set[int] = set()
    for item in _items(text, spec):
        is_open = item.kind == "occurrence"
        if not from_end:
            found.update(range(item.low, (spec.high if is_open else item.high) + 1, item.step))
        elif item.step > item.low:
            raise NotCarried(f'"{text}" has a step that leads past the last day.')
        else:
            first, last = (item.low, 1) if is_open else (item.high, item.low)
            found.update(range(first, last - 1, -item.step))
    return found


def _runs_over(text: str, spec: Spec) -> bool:
    size, first = spec.high - spec.low + 1, min(_values(text, spec))
    steps = [(item.low, item.step) for item in _items(text, spec) if item.kind == "occurrence"]
    return any(low + -(-(spec.high + 1 - low) // step) * step - size > first for low, step in steps)


def _days(text: str, month: str, *, from_end: bool, weekdays: set[int]) -> list[str]:
    """Write month, day and weekday as fields of rules, of which any may match."""
    months, days = _values(month, MONTH), _values(text, DAY, from_end=from_end)
    week = field_text(weekdays, WEEKDAY)
    if not from_end or text == "*":
        return [_date_fields(months, field_text(days, DAY), week)]
    if days == {1}:
        return [_date_fields(months, "L", week)]
    if days == _LAST_WEEK and week != "*":
        return [f"{field_text(months, MONTH)} * {','.join(f'{day}L' for day in sorted(weekdays))}"]
    if FEBRUARY in months:
        reason = "Days before the last one of February differ from year to year, which no plan says."
        raise NotCarried(reason, "Leave February out, or let the function look at the date.")
    rules = []
    for length in (30, 31):
        alike = {number for number in months if monthrange(2027, number)[1] == length}
        if alike:
            rules.append(_date_fields(alike, field_text({length + 1 - day for day in days}, DAY), week))
    return rules


def _date_fields(months: set[int], day: str, week: str) -> str:
    sign = "&" if day != "*" and week != "*" else ""
    return f"{field_text(months, MONTH)} {sign}{day} {week}"
