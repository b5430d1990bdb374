"""The seven-field, year-aware cron string as bit sets, and the direct search for its next second.

Grammar and meaning are normative in spec/cron.md. This module ignores zones: `Cron.next` counts the seconds of the
caller's wall clock.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from workkit.errors import CronError
from workkit.text.wording import MONTH_NAMES, WEEKDAY_NAMES, listed, ordinal, plural
from workkit.triggers.crons.branch import (
    ALL_DAYS,
    ALWAYS,
    DAY_SECONDS,
    LAST_DAY,
    LENGTHS,
    Branch,
    Congruence,
    DaySet,
    alignment,
    both,
    leap_only,
    month_days,
    narrow,
    weeks,
)
from workkit.triggers.crons.field import FIRST_YEAR, SPECS, Field, FieldPlace, bits, field_error, shown_text
from workkit.triggers.crons.grammars import PUBLISHED
from workkit.triggers.crons.reader import read_field

MAX_LENGTH = 1_000
MAX_BRANCHES = 64
LAST_SECOND = (LAST_DAY + 1) * DAY_SECONDS - 1
ORDER = "year month day-of-month day-of-week hour minute second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Seven fields, read. `text` has one space between fields; equal texts are equal crons."""

    text: str
    year: Field = field(compare=False)
    month: Field = field(compare=False)
    day: Field = field(compare=False)
    weekday: Field = field(compare=False)
    hour: Field = field(compare=False)
    minute: Field = field(compare=False)
    second: Field = field(compare=False)
    branches: tuple[Branch, ...] = field(compare=False, repr=False)

    def next(self, wall: int) -> int | None:
        """Find the first second strictly after `wall` (naive seconds since 1970); None if there is none by 9999."""
        after = max(wall + 1, 0)
        if after > LAST_SECOND:
            return None
        if len(self.branches) == 1:
            return self.branches[0].next(after)
        found = [second for branch in self.branches if (second := branch.next(after)) is not None]
        return min(found, default=None)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The seven fields in published order."""
        return self.year, self.month, self.day, self.weekday, self.hour, self.minute, self.second


def parse_cron(text: str, *, stored: bool = False, rule: bool = False) -> Cron:
    """Read seven fields in published order; raise CronError with field, text, position and accepted values.

    Exactly one space separates fields, or any run of blanks if a peer has `stored` the text. `rule` admits the forms
    that only a trigger's `rules` have. A repeated text costs a dict lookup.
    """
    if not isinstance(text, str):
        raise CronError(f"cron={shown_text(repr(text))} is not text. Accepted: seven fields, {ORDER}.", given=text)
    return _parse(text, stored, rule)


@lru_cache(maxsize=4096)
def _parse(text: str, stored: bool, rule: bool) -> Cron:
    offsets = list(_split(text, stored=stored))
    if len(offsets) != len(SPECS):
        raise _wrong_count(text, len(offsets))
    if re.search(r"(?<![0-9/])[0-9]{4}(?![0-9])", offsets[-1][1]):
        raise _clojure_order(text, [part for _, part in offsets])
    fields = [
        read_field(part, spec, PUBLISHED, refuse=FieldPlace(given=text, offset=at).error, rule=rule)
        for spec, (at, part) in zip(SPECS, offsets, strict=True)
    ]
    return assemble(fields, given=text)


def assemble(fields: list[Field], *, given: str) -> Cron:
    """Make a Cron of seven fields in published order; raise CronError if they hold too many `v/n` to combine."""
    year, month, day, weekday, hour, minute, second = fields
    text = " ".join(part.text for part in fields)
    branches = tuple(_branches(year, month, day, weekday, hour, minute, second, given=given))
    return Cron(
        text=text,
        year=year,
        month=month,
        day=day,
        weekday=weekday,
        hour=hour,
        minute=minute,
        second=second,
        branches=branches,
    )


def _split(text: str, *, stored: bool) -> Iterator[tuple[int, str]]:
    """Yield each field with its offset."""
    if len(text) > MAX_LENGTH:
        raise too_long(text)
    if stored:
        yield from ((found.start(), found[0]) for found in re.finditer(r"[^ \t]+", text))
        return
    blank = re.search(r"^\s+|\s+$|\s{2,}|[^\S ]", text)
    if blank:
        raise field_error(
            text,
            f"has a blank too many, or one that is not a space, at column {blank.start() + 1}",
            accepted="one space between fields, none before or after",
            position=blank.start(),
            suggestion=" ".join(text.split()) or None,
        )
    yield from ((found.start(), found[0]) for found in re.finditer(r"[^ ]+", text))


def _wrong_count(text: str, count: int) -> CronError:
    return field_error(text, f"has {plural(count, 'field')}", accepted=f"seven, parted by one space: {ORDER}")


def too_long(text: str) -> CronError:
    """Make the error about a text of more than `MAX_LENGTH` characters, in any dialect."""
    return field_error(
        text, f"has {len(text):,} characters", accepted=f"at most {MAX_LENGTH:,} characters", position=MAX_LENGTH
    )


def _clojure_order(text: str, parts: list[str]) -> CronError:
    second, minute, hour, month, day, weekday, year = parts
    published = " ".join((year, month, day, weekday, hour, minute, second))
    return field_error(
        text,
        "ends in a year: it is in the order of the Clojure code",
        accepted="0-59",
        remedy=f'Write "{shown_text(published)}", or use a schedule with dialect="cuckoo".',
        position=text.rindex(year),
        suggestion=published,
    )


def _branches(
    year: Field, month: Field, day: Field, weekday: Field, hour: Field, minute: Field, second: Field, *, given: str
) -> Iterator[Branch]:
    """Split the fields into conjunctions, without those that no second can fulfil."""
    days = _day_choices(day, weekday)
    clock = [_choices(part) for part in (month, hour, minute, second)]
    count = len(days)
    for choices in clock:
        count *= len(choices)
    if count > MAX_BRANCHES:
        raise field_error(
            given,
            f"combines too many v/n: {count:,} ways",
            accepted=f"at most {MAX_BRANCHES} combinations of v/n",
            position=given.index("/"),
        )
    months, hours, minutes, seconds = clock
    for when, *rest in product(months, hours, minutes, seconds):
        for choice in days:
            yield from _conjunction(year.years, choice, when, rest)


def _choices(part: Field) -> list[Congruence]:
    """List the alternatives of a field as (bit set, n): its plain values with n = 1, then each v/n."""
    plain = [(part.mask, 1)] if part.mask else []
    return plain + [(1 << value, n) for value, n in part.occurrences]


@dataclass(frozen=True, slots=True, kw_only=True)
class _DayChoice:
    """One alternative of the two day fields; `month_day` and `week_day` are a v/n as (v, n)."""

    days: DaySet
    month_day: tuple[int, int] | None = None
    week_day: tuple[int, int] | None = None


def _day_choices(day: Field, weekday: Field) -> list[_DayChoice]:
    if day.joined and day.restricted and weekday.restricted:
        return list(_joined_choices(day, weekday))
    if not day.restricted and not weekday.restricted:
        return [_DayChoice(days=DaySet(days=ALL_DAYS))]
    plain = DaySet(
        days=day.mask if day.restricted else 0,
        last=day.last,
        weekdays=weekday.mask if weekday.restricted else 0,
        ordinals=weekday.ordinals,
    )
    choices = [_DayChoice(days=plain)] if plain != DaySet() else []
    choices += [_DayChoice(days=DaySet(days=1 << v), month_day=(v, n)) for v, n in day.occurrences]
    choices += [_DayChoice(days=DaySet(days=ALL_DAYS), week_day=(v, n)) for v, n in weekday.occurrences]
    return choices


def _joined_choices(day: Field, weekday: Field) -> Iterator[_DayChoice]:
    numbers: list[tuple[int, bool, tuple[int, int] | None]] = [(1 << v, False, (v, n)) for v, n in day.occurrences]
    if day.mask or day.last:
        numbers.append((day.mask, day.last, None))
    for days, last, month_day in numbers:
        if weekday.mask or weekday.ordinals:
            both_ways = DaySet(days=days, last=last, weekdays=weekday.mask, ordinals=weekday.ordinals, joined=True)
            yield _DayChoice(days=both_ways, month_day=month_day)
        for week_day in weekday.occurrences:
            yield _DayChoice(days=DaySet(days=days, last=last), month_day=month_day, week_day=week_day)


def _conjunction(
    years: range | tuple[int, ...], choice: _DayChoice, when: Congruence, clock: list[Congruence]
) -> Iterator[Branch]:
    """Make the branches of one alternative per field: one, or with a v/n day-of-month one for each month."""
    months, every = when
    if every > 1:
        years = narrow(years, (every - 1, every), origin=FIRST_YEAR)
    months = sum(1 << month for month in bits(months) if choice.days.possible(month))
    (hours, day_step), (minutes, hour_step), (seconds, minute_step) = clock
    days = both((day_step - 1, day_step), weeks(*choice.week_day) if choice.week_day is not None else ALWAYS)
    aligned = alignment(days, weekdays=choice.days.of_week, clock=clock)
    if not months or aligned is None:
        return
    split = month_days(years, months, *choice.month_day) if choice.month_day is not None else [(years, months)]
    for some_years, some_months in split:
        if some_years:
            yield Branch(
                years=leap_only(some_years, some_months, choice.days),
                months=some_months,
                days=choice.days,
                hours=hours,
                minutes=minutes,
                seconds=seconds,
                period=aligned[0],
                residues=aligned[1],
                hour_step=hour_step,
                minute_step=minute_step,
            )


def both_days(cron: Cron, *, given: str) -> tuple[str, ...]:
    """Return a warning if day-of-month and day-of-week are both set, as then either is enough; else nothing."""
    if not cron.day.restricted or not cron.weekday.restricted or cron.day.joined:
        return ()
    either = f"{_numbers(cron.day)}, and {_weekdays(cron.weekday)}"
    return (f'cron="{shown_text(given)}" sets both day fields, so either is enough: {either}.',)


def _numbers(day: Field) -> str:
    if day.occurrences or len(day.values) > 5:
        return f"the days {day.text} of the month"
    names = [ordinal(value) for value in day.values]
    return f"the {listed([*names, 'last day'] if day.last else names)}"


def _weekdays(weekday: Field) -> str:
    if weekday.occurrences or weekday.ordinals:
        return f"the weekdays {weekday.text}"
    days = weekday.values
    names = [WEEKDAY_NAMES[day] for day in days]
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        return f"every {names[0]} to {names[-1]}"
    return f"every {listed(names)}"


def impossible(cron: Cron) -> str:
    """Return why no date fits, as the end of a sentence."""
    months, days = cron.month.values, cron.day.values
    by_number = days and not cron.day.last and not cron.day.occurrences and not cron.month.occurrences
    if by_number and (cron.day.joined or not cron.weekday.restricted):
        if min(days) > max(LENGTHS[month] for month in months):
            names = listed([MONTH_NAMES[month - 1] for month in months], "or")
            return f"no {names} has a day {min(days)}" if months[1:] else f"{names} has no day {min(days)}"
        if months == [2] and days == [29] and not any(isleap(year) for year in cron.year.years):
            return f"{cron.year.text} has no 29 February"
    if any(part.occurrences for part in cron.fields):
        return "by the year 9999 its v/n never falls together with the other fields"
    return "no date fits all of its fields"
