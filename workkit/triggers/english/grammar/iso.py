"""The grammar of numeric dates and instants: 2026-12-01, 2026-12-01T09:00:00+02:00, 20261201T090000Z, @1798761600."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

from workkit.triggers.english.grammar.dates import put_date
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import Token

_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])(\d\d?):?(\d\d)?")
_CLOCK = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d+))?)?")


def numeric(reader: Reader, parts: Parts) -> Parts | None:
    """Read a date with the year first, with what is glued to it; or epoch seconds."""
    start = reader.peek()
    match start.kind:
        case "epoch":
            return _epoch(reader, parts, reader.next())
        case "stamp":
            text = start.text
            token = reader.next()
            day, time = f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[9:11]}:{text[11:13]}:{text[13:15]}"
            return _put(reader, parts, token, day=day, time=time, zone=UTC if text.endswith("z") else None)
        case "date":
            return _date(reader, parts, reader.next())
    return None


def _date(reader: Reader, parts: Parts, token: Token) -> Parts:
    t = reader.peek().text == "t" and reader.peek().start == token.end and reader.peek(1).kind == "clock"
    clock = reader.peek(1 if t else 0)
    after = reader.peek(2 if t else 1)
    zoned = clock.kind == "clock" and (after.kind == "offset" or (after.text == "z" and after.start == clock.end))
    if not t and not zoned:
        return _put(reader, parts, token, day=token.text, time=None, zone=None)
    reader.i += 2 if t else 1
    return _put(reader, parts, token, day=token.text, time=clock.text, zone=timezone(offset(reader)) if zoned else None)


def _put(reader: Reader, parts: Parts, token: Token, *, day: str, time: str | None, zone: timezone | None) -> Parts:
    """Add a date; with a zone it is an instant. Raise PhraseError where there is no such date or time."""
    year, month, number = (int(part) for part in re.split("[-/]", day))
    if not 1970 <= year <= 9999 or not 1 <= month <= 12 or not 1 <= number <= 31:
        raise reader.refusal("is no date", "Dates are year-month-day, from 1970-01-01 to 9999-12-31", start=token)
    dated = put_date(reader, parts, start=token, days=(number,), months=(month,), year=year)
    if time is None:
        return dated
    match = _CLOCK.fullmatch(time)
    hour, minute, second, fraction = match.groups() if match else ("99", "0", "0", None)
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise reader.refusal("has no such time of day", "Times are 00:00 to 23:59:59", start=token)
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second or 0)
    if zone is None:
        if fraction and int(fraction):
            raise reader.refusal("has a fraction of a second", "Times are whole seconds", start=token)
        return reader.put(dated, token, times=(seconds,))
    micro = int(f"{fraction or '0':0<6.6}")
    try:
        moment = datetime.combine(date(year, month, number), datetime.min.time(), zone)
        moment = (moment + timedelta(seconds=seconds, microseconds=micro)).astimezone(UTC)
    except OverflowError:
        raise reader.refusal("is out of range", "Dates are from 1970-01-01 to 9999-12-31", start=token) from None
    return reader.put(parts, token, instant=moment)


def offset(reader: Reader) -> timedelta:
    """Take an offset from UTC: Z, +02:00, UTC+2, GMT-5:30."""
    token = reader.next()
    if token.text == "z":
        return timedelta()
    match = _OFFSET.fullmatch(token.text)
    assert match is not None  # the tokens have this form
    sign, hours, minutes = match[1], int(match[2]), int(match[3] or 0)
    if hours * 60 + minutes > (14 * 60 if sign == "+" else 12 * 60) or minutes > 59:
        raise reader.refusal("is no offset", "Offsets are -12:00 to +14:00", start=token)
    return (-1 if sign == "-" else 1) * timedelta(hours=hours, minutes=minutes)


def _epoch(reader: Reader, parts: Parts, token: Token) -> Parts:
    digits = token.text[1:]
    if len(digits) > 12 or int(digits) > 253_402_300_799:
        raise reader.refusal("is out of range", "Epoch seconds go up to 253402300799", start=token)
    return reader.put(parts, token, instant=datetime.fromtimestamp(int(digits), UTC))
