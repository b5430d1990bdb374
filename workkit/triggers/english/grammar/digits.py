"""Times of day in digits without a colon: 7.30pm, at 19.30, 0930, at 2130, 0900 hours."""

from __future__ import annotations

import re
from typing import Final

from workkit.text.calendar import MONTH_NAMES
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import RELATIVE_DAYS, UNITS, Token

HALVES: Final = {"am": 0, "a.m.": 0, "pm": 12, "p.m.": 12}

_WRITTEN: Final = re.compile(r"(\d\d?)\.(\d\d)|(\d\d)(\d\d)")
_FIRST_YEAR: Final = 1970  # four digits from here on may be a year


def written_time(reader: Reader, *, bare: bool, at: bool) -> tuple[int, bool] | None:
    """Read such a time as minutes of the day, and tell whether am or pm follows; nothing where it is none.

    8.05 may be a date and 2030 a year: these are times only where am, pm or `at` says so, or where a named day stands
    beside them.
    """
    token, after = reader.peek(), reader.peek(1).text
    match = _WRITTEN.fullmatch(token.text) if token.kind == "number" else None
    if match is None:
        return None
    hour, minute = (int(part) for part in match.groups() if part is not None)
    dotted, half = "." in token.text, after in HALVES
    if at and not dotted and after in ("hours", "hrs", "hour"):
        reader.i += 1
    elif after in UNITS or (len(reader.tokens) == 1 and not half):
        return None
    if hour > 23 or minute > 59:
        if half or at:
            reader.next()
            raise reader.refusal("is no time of day", "Times are 00:00 to 23:59", start=token)
        return None
    if not (half or at or (bare and dotted)):
        if dotted and 1 <= minute <= 12 and hour >= 1:
            raise _date_or_time(reader, token, hour=hour, minute=minute)
        if not dotted and hour * 100 + minute >= _FIRST_YEAR and not _beside_a_day(reader):
            return None
    reader.next()
    return hour * 60 + minute, half


def refuse_clock(reader: Reader, number: Token, unit: Token, *, ahead: bool) -> None:
    """Refuse the lengths "19.30h" and "0900 hours", which may be a time of day; `ahead`: "in" stands before them."""
    match = _WRITTEN.fullmatch(number.text)
    if match is None or UNITS.get(unit.text) != "hour":
        return
    hour, minute = (int(part) for part in match.groups() if part is not None)
    glued = unit.text == "h" or "." not in number.text
    if hour < 24 and minute < 60 and glued and (not ahead or number.text.startswith("0")):
        said = reader.instead(number, f"{hour}:{minute:02}", last=unit)
        length = reader.instead(number, f"in {number.text.lstrip('0')} hours", last=unit)
        remedy = f'Say "{said}"' + (f' or "{length}"' if not ahead and len(reader.tokens) == 2 else "")
        raise reader.refusal("may be a time or a length", remedy, start=number)


def _beside_a_day(reader: Reader) -> bool:
    return any(reader.peek(k).text in RELATIVE_DAYS for k in (-1, 1))


def _date_or_time(reader: Reader, token: Token, *, hour: int, minute: int) -> Exception:
    time, date = f"{hour}:{minute:02}", f"{hour} {MONTH_NAMES[minute - 1]}"
    reader.next()
    remedy = f'Write "{reader.instead(token, time)}", or the month by its name'
    return reader.refusal(f"is {time} to some and {date} to others", remedy, start=token)
