"""Local rules written as one published UTC string, if that is exactly possible.

A rule can be lowered if all its firings have one offset of the zone, and if the shifted fields are still one string.
For any other rule the result is None, never an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import Final
from zoneinfo import ZoneInfo

from workkit.triggers.crons.branch import month_length
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.crons.field import DAY, MONTH, WEEKDAY, YEAR, Field, bits, field_text
from workkit.triggers.zone import segments

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def lower(rule: str, *, zone: ZoneInfo, since: datetime) -> str | None:
    """Write a local `rule`, which applies from `since` on, as seven UTC fields; None if no string means the same."""
    cron = parse_cron(rule, rule=True)
    if cron.day.joined and cron.day.restricted and cron.weekday.restricted:
        return None
    cron = parse_cron(rule.replace("&", ""))
    if zone.key == "UTC":
        return cron.text
    offsets = {offset for _, _, offset in segments(zone.key, since.year)}
    if len(offsets) > 1:
        if not is_elapsed(cron):
            offsets = _offsets_met(cron, zone=zone.key, since=since.year)
        elif len({_shifted(cron, offset) for offset in offsets}) > 1:
            return None
    return _shifted(cron, offsets.pop()) if offsets and (len(offsets) == 1 or is_elapsed(cron)) else None


def is_elapsed(cron: Cron) -> bool:
    """Return whether the rule ignores clock changes: no field above the minute is restricted."""
    return not any(part.restricted for part in (cron.year, cron.month, cron.day, cron.weekday, cron.hour))


def is_lowered(utc: str, *, zone: ZoneInfo, since: datetime) -> bool:
    """Return whether `lower` can have written this UTC string for a rule of a zone."""
    cron = parse_cron(utc, stored=True)
    offsets = {offset for _, _, offset in segments(zone.key, since.year)}
    if len(offsets) == 1:
        return True
    local = (_shifted(cron, -offset) for offset in offsets)
    return any(rule is not None and lower(rule, zone=zone, since=since) == cron.text for rule in local)


@lru_cache(maxsize=64)
def _month_offsets(key: str, year: int) -> list[set[int]]:
    """List every offset of local time in each month, from the start of `year` on."""
    found: list[set[int]] = [set() for _ in range(13)]
    for first, end, offset in segments(key, year):
        begin, last = (_EPOCH + timedelta(seconds=at + offset) for at in (first, end))
        months = (last.year - begin.year) * 12 + last.month - begin.month
        for ahead in range(min(months, 11) + 1):
            found[(begin.month + ahead - 1) % 12 + 1].add(offset)
    return found


def _offsets_met(cron: Cron, *, zone: str, since: int) -> set[int]:
    """Return the offsets at which the rule fires; none if a firing falls into a gap, where the clock does not go.

    A rule of months without a change of the zone needs no check of its firings.
    """
    by_month = _month_offsets(zone, since)
    usual = {offset for month in cron.month.values for offset in by_month[month]}
    if len(usual) == 1 and not cron.month.occurrences:
        return usual
    stretches = segments(zone, since)
    found: set[int] = set()
    wall_end = None
    ahead: int | None = -1  # a firing, with none between where the last search began and it
    for first, end, offset in stretches:
        start, stop = first + offset, end + offset
        searched = start if wall_end is None else max(start, wall_end)
        if ahead is not None and ahead < searched:
            ahead = cron.next((start if wall_end is None else min(start, wall_end)) - 1)
        if ahead is None:
            break
        if ahead < start:
            return set()
        if ahead < stop:
            found.add(offset)
        if len(found) > 1:
            break
        wall_end = stop
    return found


def shifted(rule: str, *, seconds: int) -> str:
    """Move a local `rule` by `seconds`: exactly if the result is one string, else the hour and minute alone.

    The latter is for peers that read only `cron`; a rule that the published grammar cannot express loses its mark.
    """
    cron = parse_cron(rule.replace("&", ""), stored=True, rule=True)
    exact = _shifted(cron, -seconds)
    if exact is not None:
        return exact
    minute = _turned(cron.minute, seconds // 60)
    carry = max(minute.carries, default=0) if minute else seconds // 3600
    hour = _turned(cron.hour, carry)
    return " ".join(
        (
            *(part.text for part in cron.fields[:4]),
            hour.text if hour else cron.hour.text,
            minute.text if minute else cron.minute.text,
            cron.second.text,
        )
    )


def _shifted(cron: Cron, offset: int) -> str | None:
    """Move every field back by `offset` seconds; None if the result is more than one string."""
    shift = -(offset // 60)
    if offset % 60 or any(shift % n for _, n in cron.second.occurrences):
        return None
    minute = _turned(cron.minute, shift)
    hours = {_turned(cron.hour, carry) for carry in minute.carries} if minute else {None}
    hour = _Turned(text="", carries=frozenset())
    for other in hours:
        if other is None or (hour.text and hour.text != other.text):
            return None
        hour = _Turned(text=other.text, carries=hour.carries | other.carries)
    assert minute is not None
    if len(hour.carries) > 1:
        dates = None if any(part.restricted for part in cron.fields[:4]) else "* * * *"
    else:
        dates = _dates(cron, next(iter(hour.carries)))
    return f"{dates} {hour.text} {minute.text} {cron.second.text}" if dates is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turned:
    """A field moved round its clock, and the rounds by which its values were carried over."""

    text: str
    carries: frozenset[int]


def _turned(part: Field, shift: int) -> _Turned | None:
    """Move hours or minutes by `shift`; None if the number of a v/n would change."""
    size = part.spec.high + 1
    moved = [(value + shift) % size for value in part.values]
    nth = [((value + shift) % size, n) for value, n in part.occurrences]
    if any((value + shift) // size % n for value, n in part.occurrences):
        return None
    carries = frozenset((value + shift) // size for value in (*part.values, *(v for v, _ in part.occurrences)))
    return _Turned(text=field_text(moved, part.spec, nth=nth), carries=carries)


def _dates(cron: Cron, shift: int) -> str | None:
    """Move the four date fields by `shift` days, which is -1, 0 or 1."""
    year, month, day, weekday = cron.year, cron.month, cron.day, cron.weekday
    if not shift or not any(part.restricted for part in cron.fields[:4]):
        return " ".join(part.text for part in cron.fields[:4])
    if not weekday.restricted:
        numbered = day.occurrences or month.occurrences
        return _numbered_dates(cron, shift) if numbered else _moved_dates(cron, shift)
    if year.restricted or month.restricted or weekday.ordinals:
        return None
    if any(not 0 <= (value - 4) % 7 + shift <= 6 for value, _ in weekday.occurrences):
        return None
    numbers = _inner_days(day, shift) if day.restricted else "*"
    nth = [((value + shift) % 7, n) for value, n in weekday.occurrences]
    week = field_text([(value + shift) % 7 for value in weekday.values], WEEKDAY, nth=nth)
    week = "0-6" if week == "*" and day.restricted else week
    return f"* * {numbers} {week}" if numbers is not None else None


def _inner_days(day: Field, shift: int) -> str | None:
    """Move days that every month has, before and after the move; None if there are others."""
    all_days = [*day.values, *(value for value, _ in day.occurrences)]
    if day.last or any(not 1 <= value + move <= 28 for value in all_days for move in (0, shift)):
        return None
    nth = [(value + shift, n) for value, n in day.occurrences]
    return field_text([value + shift for value in day.values], DAY, nth=nth)


def _numbered_dates(cron: Cron, shift: int) -> str | None:
    numbers = _inner_days(cron.day, shift) if cron.day.restricted else None
    return f"{cron.year.text} {cron.month.text} {numbers} *" if numbers is not None else None


def _moved_dates(cron: Cron, shift: int) -> str | None:
    """Move plain dates, if the results are again all such days of some months."""
    year, day = cron.year, cron.day
    if day.last or (day.values == [1] and shift < 0):
        edge = _moved_edge(cron, shift)
        if edge is not None or day.last:
            return edge
    moved = _moved_calendar(cron.month.mask, day.mask, shift)
    if moved is None:
        return None
    months, days, years = moved
    if not year.restricted:
        return f"* {field_text(months, MONTH)} {field_text(days, DAY)} *"
    if len(years) > 1:
        return None
    (delta,) = years
    kept = [y + delta for y in year.years if YEAR.low <= y + delta <= YEAR.high]
    if not kept:
        return None
    return f"{field_text(kept, YEAR) if delta else year.text} {field_text(months, MONTH)} {field_text(days, DAY)} *"


@lru_cache(maxsize=256)
def _moved_calendar(months: int, days: int, shift: int) -> tuple[set[int], set[int], set[int]] | None:
    """Move dates, as bit sets, by `shift` days. Return the months and days that name exactly the results, and the years
    by which they move; None if there are no such months and days.
    """
    found = [_moved_in(leap, months, days, shift) for leap in (2024, 2023)]
    to_months, to_days = {m for _, m, _ in found[0]}, {d for _, _, d in found[0]}
    if not to_days:
        return None
    for leap, dates in zip((2024, 2023), found, strict=True):
        named = {(m, d) for m, d in product(to_months, to_days) if d <= month_length(leap, m)}
        if named != {(m, d) for _, m, d in dates}:
            return None
    return to_months, to_days, {y for dates in found for y, _, _ in dates}


def _moved_in(year: int, months: int, days: int, shift: int) -> list[tuple[int, int, int]]:
    """List (years moved, month, day) of each date in a year, moved."""
    dates = [date(year, m, d) for m, d in product(bits(months), bits(days)) if d <= month_length(year, m)]
    moved = [day + timedelta(days=shift) for day in dates]
    return [(day.year - year, day.month, day.day) for day in moved]


def _moved_edge(cron: Cron, shift: int) -> str | None:
    """Move the 1st to the last day of the month before, or the last to the 1st."""
    if cron.year.restricted or (cron.day.last and (cron.day.values or shift < 0)):
        return None
    months = [(m + shift - 1) % 12 + 1 for m in cron.month.values]
    if shift < 0 and not any(m == 2 for m in months):
        return None
    return f"* {field_text(months, MONTH)} {'1' if shift > 0 else 'L'} *"
