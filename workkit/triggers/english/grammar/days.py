"""The grammar of days by name: today, next friday, mondays, weekdays, monday to friday, except sunday."""

from __future__ import annotations

from itertools import pairwise

from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import (
    MONTHS,
    PARTS,
    PLURAL_WEEKDAYS,
    RELATIVE_DAYS,
    TO,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
)


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
    """Read one weekday ("friday", "next friday"), or what recurs: "mondays", "weekdays", "monday to friday".

    Beside words that recur ("every 2 weeks on monday and friday") a list of weekdays is read.
    """
    start = reader.peek()
    if (found := plurals(reader)) is not None:
        return reader.put(parts, start, weekdays=each(found), every=True)
    if (parts.every and parts.step is not None) or _weekly_follows(reader):
        listed = weekday_list(reader)
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
    """Tell whether "every week" or "weekly" comes later: monday and friday at noon every week."""
    words = [token.text for token in reader.tokens[reader.i :]]
    return "weekly" in words or any(pair in (("every", "week"), ("each", "week")) for pair in pairwise(words))


def _is(token: Token | None, word: str) -> bool:
    return token is not None and token.text == word


def _next_week(reader: Reader) -> bool:
    """Take "next week" or "of next week"."""
    return reader.take_all("next", "week") or reader.take_all("of", "next", "week")


def _refuse_list(reader: Reader, start: Token) -> None:
    """Refuse "monday and thursday", where nothing says that they recur."""
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


def weekday_list(reader: Reader) -> tuple[int, ...]:
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
    """Give every one of `days` as (weekday, 1)."""
    return tuple((day, 1) for day in days)


def span(first: int, last: int, *, size: int, low: int = 0) -> tuple[int, ...]:
    """Count from `first` to `last`, round the end if need be: friday to monday."""
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
    found = plurals(reader) or weekday_list(reader)
    if not found:
        raise reader.stuck()
    if reader.peek().text in PARTS:
        reader.next()
        raise reader.refusal("leaves out a part of a day", "Leave out whole days, or name the hours", start=start)
    return reader.put(parts, start, without=found)
