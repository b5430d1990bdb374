"""The grammar of times of day: 7pm, 17:30, 19.30, at 0930, half past 7, at 9 and 17:00, from 9am to 5pm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from workkit.text.wording import clock_text
from workkit.triggers.english.marks import FRACTIONS, HALVES, marks, written_time
from workkit.triggers.english.numbers import integer
from workkit.triggers.english.reader import Parts, Reader
from workkit.triggers.english.words import (
    NAMED_TIMES,
    PARTS,
    RELATIVE_DAYS,
    UNITS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
)

_PART_HOURS: Final[dict[str, Sequence[int]]] = {
    "morning": range(12),
    "afternoon": range(12, 19),
    "evening": range(17, 24),
    "night": (*range(18, 24), 0, 1, 2, 3, 4, 5),
}
_DAY_WORDS: Final = frozenset(("every", "each", "on", "this", "and", ",", *RELATIVE_DAYS, *WEEKDAYS, *WEEKDAY_GROUPS))
"""Words that may come between an hour and its part of the day: 7 every friday evening."""
_DAY: Final = 24 * 3600
_AT_NUMBERS: Final = re.compile(r"\bat \d\d?(?:(?:,? and|,) \d\d?)*", re.IGNORECASE)

Form = Literal["bare", "half", "hour", "minute", "second"]
"""The written form of a time: 9, 9am (or noon), 9:30, 9:30:00."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A time of day in seconds, and its written form: `named` is noon or midnight, `halved` has am or pm."""

    seconds: int
    form: Form
    named: bool = False
    halved: bool = False
    alone: bool = False
    """The hour was a number alone: at 5, half past 5."""


def times(reader: Reader, parts: Parts) -> Parts | None:
    """Read "at 9", "7pm", "at 9am, 1pm and 5pm", "at :15", or a window without its "from": "9am-5pm"."""
    start = reader.peek()
    at = reader.take("at")
    if (at or start.kind == "minute") and (found := marks(reader)):
        return reader.put(parts, start, marks=found)
    first = time(reader, bare=bool(at), at=bool(at))
    if first is None:
        if at:
            raise reader.stuck()
        return None
    if len(reader.tokens) == 1 and "h" in reader.text.lower() and start.kind == "clock":
        remedy = f'Say "at {start.text}", or for a length "in {reader.text.strip()}m"'
        raise reader.refusal("may be a time or a length", remedy, start=start)
    if not at and reader.peek().text in ("to", "-", "through"):
        reader.next()
        return _window(reader, parts, start=start, first=first)
    found_all = [first]
    while (more := _another(reader, bare=bool(at))) is not None:
        found_all.append(more)
    if len({t.halved for t in found_all if not t.named}) > 1:
        raise reader.refusal(
            "leaves open which hours are am and which pm", "Write am or pm at each, or 17:00", start=start
        )
    seconds = tuple(dict.fromkeys(t.seconds for t in found_all))
    halved, alone = (any(marked) for marked in zip(*((t.halved, t.alone) for t in found_all), strict=True))
    noon = any(t.named and t.seconds for t in found_all)
    return reader.put(parts, start, times=seconds, halved=halved, bare=alone, noon=noon)


def _is_open(end: Time, other: Time) -> bool:
    """Return whether only the other end of a window has am or pm, and this end may have it too: from 9 to 5pm."""
    return other.halved and not end.halved and not end.named and 3600 <= end.seconds < 13 * 3600


def _another(reader: Reader, *, bare: bool) -> Time | None:
    mark = reader.i
    if reader.take_and():
        reader.take("at")
        found = time(reader, bare=bare, at=bare)
        if found is not None and not (found.form == "bare" and reader.peek().text in UNITS):
            return found
    reader.i = mark
    return None


def time(reader: Reader, *, bare: bool = False, at: bool = False) -> Time | None:
    """Read one time of day, or nothing; read a number alone only if `bare`. After `at`, 2130 is no year."""
    token = reader.peek()
    if token.text in NAMED_TIMES:
        reader.next()
        return Time(seconds=NAMED_TIMES[token.text], form="hour", named=True)
    if token.kind == "clock":
        return _clock(reader, reader.next())
    if (past := _past(reader)) is not None:
        return past
    if (written := written_time(reader, bare=bare, at=at)) is not None:
        minute, half = written
        seconds = _half(reader, minute, start=token) if half else minute * 60
        return Time(seconds=seconds, form="minute", halved=half)
    mark = reader.i
    hour = integer(reader)
    if hour is None:
        return None
    if (small := _minute_and_half(reader)) is not None:
        return Time(seconds=_twelve(reader, hour, small * 60, start=token), form="minute", halved=True)
    small = _spelled_minute(reader) if token.kind == "word" and hour <= 12 else 0
    if small and (bare or _part_follows(reader)):
        return Time(seconds=hour * 3600 + small * 60, form="minute", alone=True)
    if reader.peek().text in HALVES:
        return Time(seconds=_twelve(reader, hour, 0, start=token), form="half", halved=True)
    if hour == 12 and (named := reader.take_from(NAMED_TIMES)) is not None:
        return Time(seconds=named, form="hour", named=True)
    if reader.take("o'clock"):
        if reader.peek().text in HALVES:
            return Time(seconds=_twelve(reader, hour, 0, start=token), form="half", halved=True)
    elif at and reader.take("h"):
        pass
    elif not (bare or _part_follows(reader)) or reader.peek().text in UNITS or reader.peek(-1).kind == "ordinal":
        reader.i = mark
        return None
    if hour > 999:
        reader.i = mark
        return None
    if hour > 23:
        remedy = "Hours are 0-23, or 1-12 with am or pm"
        if 100 <= hour <= 959 and hour % 100 < 60:
            remedy = f'Say "{reader.instead(token, f"{hour // 100}:{hour % 100:02}")}"'
        elif hour < 60 and "hour" in reader.text.lower():
            minutes = _AT_NUMBERS.sub(
                lambda list_: re.sub(r"\d+", lambda d: f":{int(d[0]):02}", list_[0]), reader.text.strip()
            )
            remedy = f'Say "{minutes}" for the minute'
        raise reader.refusal("is no hour", remedy, start=token)
    return Time(seconds=hour * 3600, form="bare", alone=True)


def _part_follows(reader: Reader) -> bool:
    """Return whether a part of the day follows, which turns a number alone into a time: 7 every morning."""
    first, second, third = (reader.peek(k).text for k in range(3))
    if (
        first == "tonight"
        or (first, second) == ("at", "night")
        or ((first, second) == ("in", "the") and third in PARTS)
    ):
        return True
    ahead = 0
    while reader.peek(ahead).text in _DAY_WORDS:
        ahead += 1
    return ahead > 0 and reader.peek(ahead).text in PARTS


def _spelled_minute(reader: Reader) -> int:
    """Take the minute of "nine thirty"; return 0 if none follows."""
    mark = reader.i
    minute = integer(reader) if reader.peek().kind == "word" else None
    if minute is not None and 10 <= minute < 60 and reader.peek().text not in (*UNITS, "past", "to", "times"):
        return minute
    reader.i = mark
    return 0


def _clock(reader: Reader, token: Token) -> Time:
    hour, minute, *rest = token.text.split(":")
    second = rest[0] if rest else "0"
    if "." in second:
        raise reader.refusal("has a fraction of a second", "Times are whole seconds", start=token)
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise reader.refusal("is no time of day", "Times are 00:00 to 23:59:59", start=token)
    small = int(minute) * 60 + int(second)
    form: Form = "second" if rest else "minute"
    if reader.peek().text in HALVES:
        return Time(seconds=_twelve(reader, int(hour), small, start=token), form=form, halved=True)
    reader.take("o'clock", "h", "hrs", "hours")
    return Time(seconds=int(hour) * 3600 + small, form=form)


def _minute_and_half(reader: Reader) -> int | None:
    """Take the minute of "7 30 pm", up to am or pm."""
    mark, token = reader.i, reader.peek()
    minute = integer(reader) if token.kind == "word" or len(token.text) == 2 else None
    if minute is not None and 10 <= minute < 60 and reader.peek().text in HALVES:
        return minute
    reader.i = mark
    return None


def _half(reader: Reader, minute: int, *, start: Token) -> int:
    return _twelve(reader, minute // 60, minute % 60 * 60, start=start)


def _twelve(reader: Reader, hour: int, small: int, *, start: Token) -> int:
    half = reader.next()
    if not 1 <= hour <= 12:
        remedy = "Before am and pm, hours are 1-12"
        if 100 <= hour <= 1259 and hour % 100 < 60 and 1 <= hour // 100 <= 12:
            remedy = f'Say "{reader.instead(start, f"{hour // 100}:{hour % 100:02}{half.text}")}"'
        raise reader.refusal("is no time of day", remedy, start=start)
    return (hour % 12 + HALVES[half.text]) * 3600 + small


def _past(reader: Reader) -> Time | None:
    """Read "half past 7", "quarter to 8pm", "ten past seven", "5 minutes to 9"."""
    mark, start = reader.i, reader.peek()
    minutes = FRACTIONS.get(start.text)
    if minutes is not None:
        reader.next()
    else:
        if reader.take("a"):
            minutes = 15 if reader.take("quarter") else None
        elif start.kind in ("word", "number"):
            minutes = integer(reader)
        named = minutes is not None and bool(reader.take("minutes", "minute", "mins", "min"))
        if minutes is None or not (named or (reader.peek().text == "past") or minutes == 15):
            reader.i = mark
            return None
    side = reader.take("past", "to")
    hour = time(reader, bare=True) if side and 0 < minutes < 60 else None
    if (
        side is None
        or hour is None
        or hour.form in ("minute", "second")
        or (start.text == "half" and side.text == "to")
    ):
        reader.i = mark
        return None
    moved = hour.seconds + (minutes if side.text == "past" else -minutes) * 60
    return Time(seconds=moved % _DAY, form="minute", halved=hour.halved, alone=hour.alone)


def window(reader: Reader, parts: Parts) -> Parts | None:
    """Read "from 9am to 5pm" or "between 9 and 17"; nothing if no time of day follows."""
    mark, start = reader.i, reader.peek()
    if not (word := reader.take("from", "between")):
        return None
    first = time(reader, bare=True)
    joint = ("and",) if word.text == "between" else ("to", "until", "till", "through", "-")
    to = reader.take(*joint) if first is not None else None
    if first is None or to is None:
        reader.i = mark
        return None
    return _window(reader, parts, start=start, first=first, until=to.text in ("until", "till"))


def _window(reader: Reader, parts: Parts, *, start: Token, first: Time, until: bool = False) -> Parts:
    last = time(reader, bare=True)
    if last is None:
        raise reader.stuck()
    a, b = first.seconds, last.seconds
    if _is_open(first, last) or _is_open(last, first):
        later = b + _DAY // 2 if b < a < _DAY // 2 and not last.halved else b
        window = f"from {clock_text(a)} {'until' if until else 'to'} {clock_text(later)}"
        remedy = f'Say "{reader.instead(start, window)}"'
        raise reader.refusal("leaves open which hours are am and which pm", remedy, start=start)
    if b < a < 13 * 3600 and not (first.halved or last.named or first.named):
        ends, said = f"{clock_text(a)} to {clock_text(b)}", [_with_half(t, k) for t, k in ((a, "am"), (b, "pm"))]
        joint = "until" if until else "to"
        remedy = f'Say "{reader.instead(start, f"from {said[0]} {joint} {said[1]}")}"'
        raise reader.refusal(f"is {ends} on the 24-hour clock", remedy, start=start)
    if last.named and b == 0:
        raise reader.refusal("may end before or after that hour", 'Say the last hour: "to 11pm"', start=start)
    if until:
        return reader.put(parts, start, window=(a, b))
    end = _last_second(reader, first, last, start=start)
    return reader.put(parts, start, window=(a, end), named_end=b if end > b else None)


def _with_half(seconds: int, half: str) -> str:
    hour, minute = seconds // 3600, seconds // 60 % 60
    return f"{hour}{f':{minute:02}' if minute else ''}{half if 1 <= hour <= 11 else 'pm' if hour == 12 else ''}"


def _last_second(reader: Reader, first: Time, last: Time, *, start: Token) -> int:
    """Return the last second of a window. It includes the whole last hour if both ends are hours, else the whole last
    minute or second.
    """
    if last.form == "second":
        return last.seconds
    if first.seconds % 3600 == 0 and first.form != "second" and last.seconds % 3600 == 0:
        return last.seconds + 3599
    if last.seconds % 3600 == 0:
        sharp, whole = f"{clock_text(last.seconds)}:00", clock_text(last.seconds + 3599)
        raise reader.refusal(
            f"may end at {clock_text(last.seconds)} or with that hour", f'Say "to {sharp}" or "to {whole}"', start=start
        )
    return last.seconds + 59


def part(reader: Reader, parts: Parts) -> Parts | None:
    """Read the part of the day, which replaces am and pm: "in the morning", "at night", "tomorrow morning"."""
    mark, start = reader.i, reader.peek()
    if reader.take("at"):
        found = "night" if reader.take("night") else None
    elif reader.take_all("in", "the"):
        found = reader.next().text if reader.peek().text in PARTS[:3] else None
    elif reader.take("this"):
        found = reader.next().text if reader.peek().text in PARTS[:3] else None
        if found:
            parts = reader.put(parts, start, day=0)
    elif reader.peek().text in PARTS and (
        parts.every or parts.days or reader.peek(-1).text in (*WEEKDAYS, *RELATIVE_DAYS)
    ):
        found = reader.next().text
    else:
        found = None
    if found is None:
        reader.i = mark
        return None
    return reader.put(parts, start, day_part=found)


def in_part(reader: Reader, parts: Parts) -> Parts:
    """Move the hours into the part of the day that the phrase names: 7 in the evening is 19:00.

    The caller has read the whole group of clauses, so that the order of the words does not matter. Raise PhraseError
    for an hour outside the part of the day.
    """
    if parts.day_part is None or not parts.times:
        return parts
    hours = _PART_HOURS[parts.day_part]
    moved: list[int] = []
    for seconds in parts.times:
        later = (seconds + _DAY // 2) % _DAY
        first = 1 if parts.bare else 3600  # ten to 1 is 0:50
        is_open = first <= seconds < 13 * 3600 and not (parts.halved or (parts.noon and seconds == _DAY // 2))
        if seconds // 3600 in hours:
            moved.append(seconds)
        elif is_open and later // 3600 in hours and parts.day_part != "morning":
            moved.append(later)
        else:
            raise _outside(reader, parts.day_part, *((seconds, later) if is_open else (seconds,)))
    return replace(parts, times=tuple(moved))


def _outside(reader: Reader, word: str, *readings: int) -> Exception:
    """Make the error about an hour outside the part of the day, with each possible reading of the hour."""
    mark, reader.i = reader.i, 1
    start = reader.peek(-1)
    while reader.i < len(reader.tokens) and not start.text.startswith((word, f"to{word}")):
        start = reader.next()
    hours = " or ".join(clock_text(seconds) for seconds in sorted(readings))
    remedy = f"Say {hours}, without the part of the day"
    error = reader.refusal(f"contradicts the hour {clock_text(readings[0])}", remedy, start=start)
    reader.i = mark
    return error
