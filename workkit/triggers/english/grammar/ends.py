"""The grammar of where a month, quarter or year begins and ends: end of the month, start of next month, month end."""

from __future__ import annotations

from typing import Final

from workkit.triggers.english.grammar.dates import month_list, year_number
from workkit.triggers.english.grammar.days import each
from workkit.triggers.english.grammar.parts import LAST, Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import Token

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
    """Refuse the end of a day, whose hour differs, and of a week, whose last day differs."""
    rest = reader.text[: start.start] + reader.text[reader.peek(-1).end :]
    hour = "" if any(c.isdigit() for c in rest) or "noon" in rest.lower() else " at 5pm" if ends else " at 9am"
    if unit == "week":
        days = ("friday", "sunday") if ends else ("monday", "sunday")
        choices = " or ".join(f'"{reader.instead(start, day + hour)}"' for day in days)
        return reader.refusal("does not say which day", f"Say {choices}", start=start)
    choice = reader.instead(start, "today" + hour if not rest.strip() else hour.strip())
    return reader.refusal("does not say which hour", f'Say for example "{choice}"', start=start)
