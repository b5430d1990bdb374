"""The grammar of minutes of each hour (:15, half past, ten to every hour), and of times in digits alone (0930)."""

from __future__ import annotations

import re
from typing import Final

from workkit.text.wording import MONTH_NAMES
from workkit.triggers.english.numbers import integer
from workkit.triggers.english.reader import Parts, PhraseStep, Reader
from workkit.triggers.english.words import NAMED_TIMES, NUMBERS, RELATIVE_DAYS, TENS, UNITS, Token

FRACTIONS: Final = {"half": 30, "quarter": 15}
"""Minutes with the name of a part of the hour."""

_MINUTES: Final = ("minutes", "minute", "mins", "min")


def marks(reader: Reader) -> tuple[int, ...]:
    """Read minutes of each hour: ":15", ":15 and :45", "15 past", "half past the hour"."""
    found: list[int] = []
    mark = reader.i
    while (minute := _mark(reader)) is not None:
        found.append(minute)
        mark = reader.i
        if not reader.take_and():
            break
        reader.take("at")
    reader.i = mark
    return tuple(sorted(set(found)))


def hour_marks(reader: Reader, parts: Parts) -> Parts | None:
    """Read "quarter past every hour", "ten to every hour", "on the half hour": these alone say how often."""
    start = reader.peek()
    on_the = _on_the_hour(reader)
    if on_the is not None:
        if parts.every or _names_more(reader):
            return _hourly(reader, reader.put(parts, start, marks=(on_the,)))
        marked = f" at :{on_the:02}" if on_the else ""
        remedy = f'Say "every hour{marked}", or the time, for example "at 10:{on_the:02}"'
        raise reader.refusal("may mean the next hour, or each", remedy, start=start)
    reader.take("at")
    minutes = _minutes(reader)
    side = reader.take("past", "to", "after", "before") if minutes is not None else None
    which = reader.take("every", "each", "the") if side is not None else None
    if minutes is None or side is None or which is None or not reader.take("hour"):
        return None
    minute = minutes if side.text in ("past", "after") else (60 - minutes) % 60
    if which.text == "the" and not parts.every and not _names_more(reader):
        raise reader.refusal("does not say at which hour", f'Say "every hour at :{minute:02}"', start=start)
    return _hourly(reader, reader.put(parts, start, marks=(minute,)))


def _hourly(reader: Reader, parts: Parts) -> Parts:
    words = " ".join(token.text for token in reader.tokens[reader.i :])
    if parts.step is None and not any(often in words for often in ("every hour", "each hour", "hourly")):
        return reader.put(parts, reader.peek(-1), every=True, step=PhraseStep(n=1, unit="hour"))
    return parts


def _names_more(reader: Reader) -> bool:
    """Return whether another part of the phrase may give the frequency: "on the hour every weekday"."""
    words = [token.text for token in reader.tokens]
    return any(word in words for word in ("every", "each", "weekdays", "workdays", "daily", "from", "between"))


def _on_the_hour(reader: Reader) -> int | None:
    mark = reader.i
    reader.take("at", "on")
    if reader.take("the"):
        half = reader.take("half")
        if reader.take("hour"):
            return 30 if half else 0
    reader.i = mark
    return None


def _minutes(reader: Reader) -> int | None:
    """Read the number of minutes past or to the hour."""
    if reader.take("a"):
        return 15 if reader.take("quarter") else None
    minutes = FRACTIONS.get(reader.peek().text)
    if minutes is not None:
        reader.next()
        return minutes
    minutes = integer(reader)
    reader.take(*_MINUTES)
    return minutes if minutes is not None and minutes < 60 else None


def _mark(reader: Reader) -> int | None:
    mark, token = reader.i, reader.peek()
    if token.kind == "minute":
        reader.next()
        if int(token.text[1:]) > 59:
            raise reader.refusal("is no minute", "Minutes are :00 to :59", start=token)
        return int(token.text[1:])
    on_the = _on_the_hour(reader)
    if on_the is not None:
        return on_the
    minutes = _minutes(reader)
    side = reader.take("past", "to") if minutes is not None else None
    if minutes is not None and side is not None:
        hour = any(reader.take_all(word, "hour") for word in ("the", "each", "every"))
        if hour or not _hour_follows(reader):
            return minutes if side.text == "past" else (60 - minutes) % 60
    reader.i = mark
    return None


def _hour_follows(reader: Reader) -> bool:
    token = reader.peek()
    return token.kind in ("number", "clock") or token.text in NUMBERS or token.text in (*TENS, *NAMED_TIMES)


HALVES: Final = {"am": 0, "a.m.": 0, "pm": 12, "p.m.": 12}

_WRITTEN: Final = re.compile(r"(\d\d?)\.(\d\d)|(\d\d)(\d\d)")
_FIRST_YEAR: Final = 1970  # four digits from here on may be a year


def written_time(reader: Reader, *, bare: bool, at: bool) -> tuple[int, bool] | None:
    """Read a time in digits alone as minutes of the day, and whether am or pm follows; None if there is no such time.

    8.05 may be a date and 2030 a year: they are times only with am, pm or `at`, or beside a named day.
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
    """Refuse the lengths "19.30h" and "0900 hours", which may be a time of day; `ahead`: "in" comes before them."""
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
