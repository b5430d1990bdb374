"""The grammar of months, quarters and years: first monday of every month, in march 2014, at the end of next month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from workkit.triggers.english.dates import each, month_list, span, year_number
from workkit.triggers.english.numbers import ordinal_number
from workkit.triggers.english.reader import LAST, Parts, Reader
from workkit.triggers.english.words import MONTHS, TO, WEEKDAYS, Token


def place_of_month(reader: Reader, parts: Parts) -> Parts | None:
    """Read "first monday of every month", "last day of december", "1st and 3rd friday of the month".

    It recurs, unless a year is named.
    """
    mark, start = reader.i, reader.peek()
    reader.take("the")
    places: list[tuple[int, int]] = []
    days: list[int] = []
    after = reader.i
    while (found := _places(reader)) is not None:
        places, days = places + found[0], days + found[1]
        after = reader.i
        if not reader.take_and():
            break
        reader.take("the")
    reader.i = after
    if not places and not days:
        reader.i = mark
        return None
    parts = reader.put(parts, start, places=tuple(dict.fromkeys(places)), days=tuple(dict.fromkeys(days)))
    parts = month_of(reader, parts) or parts
    return parts if parts.years or parts.month_ahead is not None else replace(parts, every=True)


def _places(reader: Reader) -> tuple[list[tuple[int, int]], list[int]] | None:
    """Read one weekday, or the word day, with its ordinals: as (k, weekday), or as days."""
    mark = reader.i
    numbers: list[int] = []
    while (n := LAST if reader.take("last") else ordinal_number(reader)) is not None:
        numbers.append(n)
        if not reader.take_and():
            break
        reader.take("the")
    if numbers and numbers[-1] != LAST and reader.take("last"):
        remedy = "Only the last is counted from the end of a month: say first to fifth, or last"
        raise reader.refusal("is not counted within a month", remedy, start=reader.tokens[mark])
    if numbers and reader.take("workday", "weekday", "weekend"):
        the = mark and reader.tokens[mark - 1].text == "the"
        _refuse_place(reader, reader.tokens[mark - 1 if the else mark])
    start = reader.peek()
    weekday = reader.take_from(WEEKDAYS)
    if numbers and weekday is not None:
        if max(numbers) > 5:
            raise reader.refusal("comes at most five times a month", "Accepted: first to fifth, and last", start=start)
        return [(n, weekday) for n in numbers], []
    if numbers and reader.take("day"):
        return [], numbers
    reader.i = mark
    return None


def _refuse_place(reader: Reader, start: Token) -> None:
    """Refuse "first working day of the month"; "every 2nd weekday" is read elsewhere."""
    group = reader.peek(-1).text
    if not reader.take("of", "in") and not (reader.peek().kind == "end" or reader.peek().text == "at"):
        reader.i -= 1
        return
    reader.take("the", "this", "next", "each", "every")
    reader.take("month", *MONTHS)
    remedy = f'Say "{reader.instead(start, f"every {group}")}", and return from the function unless it is that day'
    raise reader.refusal("is not counted within a month", remedy, start=start)


def month_of(reader: Reader, parts: Parts) -> Parts | None:
    """Read the months of a day: "of the month", "of every month", "in march 2014", "of january and july"."""
    mark, start = reader.i, reader.peek()
    if not reader.take("of", "in", "during"):
        return None
    which = reader.peek() if reader.peek().text == "month" else reader.take("the", "this", "next", "each", "every")
    unit = reader.take("month", "quarter", "year") if which is not None else None
    if which is None or unit is None:
        reader.i = mark
        return _in_months(reader, parts)
    if which.text in ("this", "next"):
        if unit.text != "month":
            raise reader.refusal(
                "does not say the date", 'Write it, for example "31 december 2027 at 5pm"', start=start
            )
        return reader.put(parts, start, month_ahead=1 if which.text == "next" else 0)
    if unit.text == "month":
        return reader.put(parts, start, monthly=True, every=True)
    places = {LAST if k == LAST else 1 for k, _ in parts.places if k < 5} or set(parts.days)
    if len(places) != 1 or not places <= QUARTERS.keys() or any(k == 5 for k, _ in parts.places):
        remedy = f'Say the first or the last day of the {unit.text}, or a date, for example "2 january"'
        raise reader.refusal("is counted by months only", remedy, start=start)
    place = places.pop()
    months = QUARTERS[place]
    in_year = months[:1] if place == 1 else months[-1:]
    return reader.put(parts, start, months=each(in_year if unit.text == "year" else months), every=True)


def next_month(reader: Reader, parts: Parts) -> Parts | None:
    """Read "next month" or "this month" beside a day of it: "next month on the 3rd", "the 3rd next month"."""
    start = reader.peek()
    which = reader.take("next", "this")
    if which is None or not reader.take("month"):
        return None
    after = reader.peek()
    if not (parts.days or after.text in ("on", "the") or after.kind == "ordinal"):
        return None
    return reader.put(parts, start, month_ahead=1 if which.text == "next" else 0)


def _in_months(reader: Reader, parts: Parts) -> Parts | None:
    """Read "in march", "of march 2014", "during 2027", "in january and february", "in every other march"."""
    mark, start = reader.i, reader.peek()
    if not reader.take("in", "of", "during"):
        return None
    again = reader.take("every", "each")
    nth = (2 if reader.take("other") else ordinal_number(reader) or 1) if again else 1
    one = reader.take_from(MONTHS) if nth > 1 else None
    found = month_list(reader) if nth == 1 else () if one is None else (one,)
    reader.take(",") if found and reader.peek(1).kind == "number" else None
    year = year_number(reader) if not again else None
    if not found and year is None:
        reader.i = mark
        return None
    new: dict[str, object] = {"months": tuple((month, nth) for month in found)} if found else {}
    if again:
        new["every"] = True
    if year is not None:
        new["years"] = (year, year)
    return reader.put(parts, start, **new)


def spans(reader: Reader, parts: Parts) -> Parts | None:
    """Read "from 2027 to 2029", "between march and june", "from monday to friday"."""
    mark, start = reader.i, reader.peek()
    if not (word := reader.take("from", "between")):
        return None
    joint = ("and",) if word.text == "between" else (*TO, "until", "till")
    if (first := year_number(reader)) and reader.take(*joint) and (last := year_number(reader)):
        if first % 100 == last % 100 == 0 and last <= 2300:
            remedy = f'Say "from {first // 100}:00 to {last // 100}:00", or "from {first}-01-01 to {last}-12-31"'
            raise reader.refusal("may mean hours or years", remedy, start=start)
        if last < first:
            raise reader.refusal("runs backwards", "Say the earlier year first", start=start)
        return reader.put(parts, start, years=(first, last))
    reader.i = mark + 1
    months = _pair(reader, MONTHS, joint=joint)
    if months is not None and reader.peek().kind != "number":
        return reader.put(parts, start, months=each(span(*months, size=12, low=1)))
    reader.i = mark + 1
    weekdays = _pair(reader, WEEKDAYS, joint=joint)
    if weekdays is not None:
        return reader.put(parts, start, weekdays=each(span(*weekdays, size=7)), every=True)
    reader.i = mark
    return None


def _pair(reader: Reader, table: Mapping[str, int], *, joint: tuple[str, ...]) -> tuple[int, int] | None:
    first = reader.take_from(table)
    last = reader.take_from(table) if first is not None and reader.take(*joint) else None
    return None if first is None or last is None else (first, last)


QUARTERS: Final = {1: (1, 4, 7, 10), LAST: (3, 6, 9, 12)}
"""The first and the last months of the quarters."""

_UNITS: Final = ("day", "business", "week", "month", "quarter", "year")


def ends(reader: Reader, parts: Parts) -> Parts | None:
    """Read "end of month", "at the end of every month", "the start of next month", "end of november 2027"."""
    start = reader.peek()
    reader.take("at", "on", "by")
    reader.take("the")
    word = reader.take("end", "start", "beginning")
    if word is None or not reader.take("of"):
        return None
    day = LAST if word.text == "end" else 1
    which = reader.take("the", "this", "next", "each", "every")
    if which is None and (months := month_list(reader)):
        reader.take(",") if reader.peek(1).kind == "number" else None
        year = year_number(reader)
        named = {"months": each(months), "years": (year, year)} if year is not None else {"months": each(months)}
        return reader.put(parts, start, days=(day,), ending=_ending(day, "month"), **named)
    unit = reader.take(*_UNITS)
    if unit is None:
        return None
    if unit.text in ("day", "business", "week"):
        raise _spans(reader, start, unit.text, ends=day == LAST)
    if which is not None and which.text in ("each", "every"):
        parts = reader.put(parts, start, every=True)
    ahead = {"this": 0, "next": 1}.get(which.text) if which is not None else None
    if ahead and unit.text != "month":
        raise reader.refusal("does not say the date", 'Write it, for example "31 december 2027 at 5pm"', start=start)
    return _of(reader, parts, start, day=day, unit=unit.text, ahead=ahead)


def _of(reader: Reader, parts: Parts, start: Token, *, day: int, unit: str, ahead: int | None) -> Parts:
    new: dict[str, object] = {"days": (day,), "ending": _ending(day, unit)}
    match unit:
        case "month" if parts.every:
            new["monthly"] = True
        case "month":
            new["month_ahead"] = ahead
        case "quarter":
            new |= {"months": each(QUARTERS[day]), "nearest": True}
        case _:
            new["months"] = ((12 if day == LAST else 1, 1),)
    return reader.put(parts, start, **new)


def _ending(day: int, unit: str) -> str | None:
    return unit if day == LAST else None


def _spans(reader: Reader, start: Token, unit: str, *, ends: bool) -> Exception:
    """Refuse the end of a day, because its hour differs, and of a week, because its last day differs."""
    rest = reader.text[: start.start] + reader.text[reader.peek(-1).end :]
    hour = "" if any(c.isdigit() for c in rest) or "noon" in rest.lower() else " at 5pm" if ends else " at 9am"
    if unit == "week":
        days = ("friday", "sunday") if ends else ("monday", "sunday")
        choices = " or ".join(f'"{reader.instead(start, day + hour)}"' for day in days)
        return reader.refusal("does not say which day", f"Say {choices}", start=start)
    choice = reader.instead(start, "today" + hour if not rest.strip() else hour.strip())
    return reader.refusal("does not say which hour", f'Say for example "{choice}"', start=start)
