"""The grammar of dates and of days by name: 1 March 2027, the 1st and 15th of march, next friday, except sunday."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from workkit.text.wording import MONTH_NAMES
from workkit.triggers.crons.branch import LENGTHS, month_length
from workkit.triggers.english.numbers import integer, ordinal_number
from workkit.triggers.english.reader import Parts, Reader
from workkit.triggers.english.words import (
    MONTHS,
    ORDINALS,
    PARTS,
    PLURAL_WEEKDAYS,
    RELATIVE_DAYS,
    TO,
    UNITS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
)

_NOT_AFTER_NUMBER: Final = ("am", "pm", "a.m.", "p.m.", "o'clock", "past", *TO)
_NOT_AFTER_ORDINAL: Final = (*WEEKDAYS, *WEEKDAY_GROUPS)


def dated(reader: Reader, parts: Parts) -> Parts | None:
    """Read a date: 1 March 2027, March 1st, "the 20th", "the 1st and 15th of march"."""
    start = reader.peek()
    mark = reader.i
    the = bool(reader.take("the"))
    if not the and start.text in MONTHS:
        return _month_first(reader, parts, start=start)
    days = _day_list(reader, the=the)
    if not days:
        reader.i = mark
        return None
    months, years = _of_months(reader)
    if not months and not (the or start.kind == "ordinal" or reader.peek().text == "of"):
        reader.i = mark
        return None
    return put_date(reader, parts, start=start, days=days, months=months, year=years)


def _month_first(reader: Reader, parts: Parts, *, start: Token) -> Parts | None:
    mark = reader.i
    month = MONTHS[reader.next().text]
    reader.take("the")
    days = _day_list(reader, the=True)
    if not days:
        reader.i = mark
        return None
    year = None
    comma = reader.i
    reader.take(",")
    if (year := year_number(reader)) is None:
        reader.i = comma
    return put_date(reader, parts, start=start, days=days, months=(month,), year=year)


def _day_list(reader: Reader, *, the: bool) -> tuple[int, ...]:
    """Read 1, 1st, "first", "1st and 15th", "1, 10 and 20"; nothing if these are not days."""
    days: list[int] = []
    mark = reader.i
    while (day := _day(reader)) is not None:
        if not 1 <= day <= 31:
            raise reader.refusal("is no day of a month", "Days are 1-31", start=reader.peek(-1))
        last = _last_day(reader)
        if last is not None and last < day:
            raise reader.refusal("runs backwards", "Say the earlier day first", start=reader.peek(-1))
        days += range(day, (last or day) + 1)
        mark = reader.i
        if not reader.take_and():
            break
        reader.take("the")
    reader.i = mark
    return tuple(dict.fromkeys(days))


def _last_day(reader: Reader) -> int | None:
    """Read the end of a range of ordinals: 1st "to 7th"."""
    mark = reader.i
    if reader.peek(-1).kind == "ordinal" and reader.take(*TO):
        reader.take("the")
        if reader.peek().kind == "ordinal":
            return _day(reader)
    reader.i = mark
    return None


def _day(reader: Reader) -> int | None:
    """Read one day, unless it is the number of something else: 7pm, 5 minutes, first monday."""
    mark = reader.i
    token = reader.peek()
    number = token.kind == "number"
    if number and not (len(token.text) <= 2 and "." not in token.text):
        return None
    day, after = integer(reader) if number else ordinal_number(reader), reader.peek().text
    dashed = after == "-" and reader.peek(1).text in MONTHS
    other = after in UNITS or (not dashed and after in (_NOT_AFTER_NUMBER if number else _NOT_AFTER_ORDINAL))
    if day is None or other or (not number and after in ("and", ",") and _names_weekday_later(reader)):
        reader.i = mark
        return None
    return day


def _names_weekday_later(reader: Reader) -> bool:
    """Return whether a list of ordinals is followed by a weekday: first and third monday."""
    ahead = 0
    while reader.peek(ahead).text in (",", "and", "&", "the", "last") or _is_ordinal(reader.peek(ahead)):
        ahead += 1
    return reader.peek(ahead).text in WEEKDAYS


def _is_ordinal(token: Token) -> bool:
    return token.kind == "ordinal" or token.text in ORDINALS


def _of_months(reader: Reader) -> tuple[tuple[int, ...], int | None]:
    mark = reader.i
    dashed = reader.take("-")
    reader.take("of")
    months = month_list(reader)
    if not months:
        reader.i = mark
        return (), None
    after = reader.i
    reader.take("-" if dashed else ",")
    year = year_number(reader)
    if year is None:
        reader.i = after
    return months, year


def month_list(reader: Reader) -> tuple[int, ...]:
    """Read "march", "january and february", "march to june"; nothing if the first is no month."""
    found: list[int] = []
    mark = reader.i
    while (first := reader.take_from(MONTHS)) is not None:
        mark = reader.i
        last = reader.take_from(MONTHS) if reader.take(*TO) else None
        if last is None:
            reader.i = mark
        found += (first,) if last is None else span(first, last, size=12, low=1)
        mark = reader.i
        if not reader.take_and():
            break
    reader.i = mark
    return tuple(dict.fromkeys(found))


def year_number(reader: Reader) -> int | None:
    """Read a year of four digits, unless it is the amount of something."""
    token = reader.peek()
    if token.kind != "number" or not re.fullmatch("[1-9][0-9]{3}", token.text) or reader.peek(1).text in UNITS:
        return None
    year = int(reader.next().text)
    if not 1970 <= year <= 9999:
        hour = f'; for the hour say "at {year // 100}:{year % 100:02}"' if year // 100 < 24 and year % 100 < 60 else ""
        raise reader.refusal("is out of range", f"Years are 1970-9999{hour}", start=token)
    return year


def put_date(
    reader: Reader, parts: Parts, *, start: Token, days: tuple[int, ...], months: tuple[int, ...], year: int | None
) -> Parts:
    """Add a date; refuse one that does not exist."""
    for month in months:
        for day in days:
            name = MONTH_NAMES[month - 1]
            if day > LENGTHS[month]:
                trouble = "never fires" if parts.every else "does not exist"
                raise reader.refusal(f"{trouble}: {name} has no day {day}", "Name a day that there is", start=start)
            if year is not None and day > month_length(year, month):
                trouble = f"does not exist: {name} {year} has no day {day}"
                raise reader.refusal(trouble, "Name a day that there is", start=start)
    new: dict[str, object] = {"days": days}
    if months:
        new["months"] = each(months)
    if year is not None:
        new["years"] = (year, year)
    return reader.put(parts, start, **new)


def relative(reader: Reader, parts: Parts) -> Parts | None:
    """Read today, tonight, tomorrow, yesterday, the day after tomorrow."""
    start = reader.peek()
    mark = reader.i
    reader.take("the")
    if reader.take_all("day", "after", "tomorrow"):
        return reader.put(parts, start, day=2)
    reader.i = mark
    if start.text not in RELATIVE_DAYS:
        return None
    parts = reader.put(parts, start, day=RELATIVE_DAYS[reader.next().text])
    if start.text in ("today", "tomorrow") and not parts.every and reader.take("week"):
        return reader.put(parts, start, moved=7)
    return reader.put(parts, start, day_part="night") if start.text == "tonight" else parts


def weekdays(reader: Reader, parts: Parts) -> Parts | None:
    """Read one weekday ("friday", "next friday"), or recurring ones: "mondays", "weekdays", "monday to friday".

    Beside words that recur ("every 2 weeks on monday and friday") a list of weekdays is read.
    """
    start = reader.peek()
    if (found := plurals(reader)) is not None:
        return reader.put(parts, start, weekdays=each(found), every=True)
    if (parts.every and parts.step is not None) or _weekly_follows(reader):
        listed = _weekday_list(reader)
        return reader.put(parts, start, weekdays=each(listed)) if listed else None
    mark = reader.i
    week = _next_week(reader)
    reader.take("on") if week else None
    near = None if week else reader.take("next", "this")
    first = reader.take_from(WEEKDAYS)
    if first is None:
        reader.i = mark
        return None
    if week or _next_week(reader):
        return reader.put(parts, start, weekdays=((first, 1),), week=True)
    if not near and not parts.every and (weeks := reader.take("week", "fortnight")):
        return reader.put(parts, start, weekdays=((first, 1),), moved=7 if weeks.text == "week" else 14)
    if not near and (last := _through(reader)) is not None:
        return reader.put(parts, start, weekdays=each(span(first, last, size=7)), every=True)
    if not near and not parts.every:
        _refuse_list(reader, start)
    reader.take(",") if _date_follows(reader) else None
    return reader.put(parts, start, weekdays=((first, 1),), this=_is(near, "this"), following=_is(near, "next"))


def _weekly_follows(reader: Reader) -> bool:
    """Return whether "every week" or "weekly" comes later: monday and friday at noon every week."""
    words = [token.text for token in reader.tokens[reader.i :]]
    return "weekly" in words or any(pair in (("every", "week"), ("each", "week")) for pair in pairwise(words))


def _is(token: Token | None, word: str) -> bool:
    return token is not None and token.text == word


def _next_week(reader: Reader) -> bool:
    """Take "next week" or "of next week"."""
    return reader.take_all("next", "week") or reader.take_all("of", "next", "week")


def _refuse_list(reader: Reader, start: Token) -> None:
    """Refuse "monday and thursday" in a phrase without a word that makes them recur."""
    mark = reader.i
    joined = reader.take_and()
    if (joined or reader.peek().text in WEEKDAYS) and weekday_item(reader) is not None:
        while reader.take_and() or reader.peek().text in WEEKDAYS:
            if weekday_item(reader) is None:
                break
        said = reader.since(start)
        every = reader.instead(start, f"every {said}")
        raise reader.refusal("names several days but not that they recur", f'Say "{every}"', start=start)
    reader.i = mark


def _weekday_list(reader: Reader) -> tuple[int, ...]:
    """Read "monday", "monday, wednesday and friday", "weekday and saturday"; nothing if the first is none."""
    days: list[int] = []
    mark = reader.i
    while (item := weekday_item(reader)) is not None:
        days += item
        mark = reader.i
        if not reader.take_and() and reader.peek().text not in WEEKDAYS:
            break
    reader.i = mark
    return tuple(dict.fromkeys(days))


def _date_follows(reader: Reader) -> bool:
    return reader.peek().text == "," and (reader.peek(1).text in MONTHS or reader.peek(1).kind in ("date", "number"))


def plurals(reader: Reader) -> tuple[int, ...] | None:
    """Read "mondays", "weekdays and saturdays"; nothing if the first is none of these."""
    found: list[int] = []
    mark = reader.i
    while True:
        token = reader.peek()
        group = WEEKDAY_GROUPS.get(token.text.removesuffix("s")) if token.text.endswith("s") else None
        if group is None and token.text not in PLURAL_WEEKDAYS:
            reader.i = mark
            return tuple(dict.fromkeys(found)) or None
        reader.next()
        found += group if group is not None else (PLURAL_WEEKDAYS[token.text],)
        mark = reader.i
        if not reader.take_and():
            return tuple(dict.fromkeys(found))


def each(days: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return each of `days` as (weekday, 1)."""
    return tuple((day, 1) for day in days)


def span(first: int, last: int, *, size: int, low: int = 0) -> tuple[int, ...]:
    """List the values from `first` to `last`, past the end of the cycle if needed: friday to monday."""
    return tuple((first - low + k) % size + low for k in range((last - first) % size + 1))


def _through(reader: Reader) -> int | None:
    mark = reader.i
    if reader.take(*TO) and (last := reader.take_from(WEEKDAYS)) is not None:
        return last
    reader.i = mark
    return None


def weekday_item(reader: Reader) -> tuple[int, ...] | None:
    """Read monday, monday to friday, weekday or weekend, as they follow "every"."""
    token = reader.peek()
    if token.text in WEEKDAY_GROUPS:
        return WEEKDAY_GROUPS[reader.next().text]
    first = reader.take_from(WEEKDAYS)
    if first is None:
        return None
    last = _through(reader)
    return (first,) if last is None else span(first, last, size=7)


def exception(reader: Reader, parts: Parts) -> Parts | None:
    """Read "except sunday", "but not on weekends", "not on mondays and fridays"."""
    start, mark = reader.peek(), reader.i
    if reader.take("but") and reader.peek().text == "only":
        reader.i = mark
        return None
    reader.i = mark
    if not (reader.take("except", "but") or (parts.every and reader.take("not"))):
        return None
    for word in ("not", "on"):
        reader.take(word)
    found = plurals(reader) or _weekday_list(reader)
    if not found:
        raise reader.stuck()
    if reader.peek().text in PARTS:
        reader.next()
        raise reader.refusal("leaves out a part of a day", "Leave out whole days, or name the hours", start=start)
    return reader.put(parts, start, without=found)
