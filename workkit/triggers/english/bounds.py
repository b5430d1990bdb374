"""The grammar of numeric dates, of days counted from another day, and of the start, end and zone of a recurrence."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

from workkit.text.wording import clock_text
from workkit.triggers.english.clock import time
from workkit.triggers.english.dates import dated, each, month_list, put_date, relative, year_number
from workkit.triggers.english.marks import HALVES
from workkit.triggers.english.reader import Amount, Parts, Reader
from workkit.triggers.english.words import PARTS, RELATIVE_DAYS, TO, WEEKDAYS, Token
from workkit.triggers.zone import known_zone, nearest_zone

_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])(\d\d?):?(\d\d)?")
_CLOCK = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d+))?)?")


def numeric(reader: Reader, parts: Parts) -> Parts | None:
    """Read a date with the year first, with a time or zone attached to it; or epoch seconds."""
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
    """Add a date; with a zone it is an instant. Raise PhraseError if there is no such date or time."""
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


_TO: Final = (*TO, "until", "till")


def start(reader: Reader, parts: Parts) -> Parts | None:
    """Read "starting tomorrow", "from 2027-01-01", "from now on", "from 1 march 2027 to 31 march 2027"; and, without
    the hour that follows, "starting at 3am", "starting tomorrow at 3am".
    """
    token = reader.peek()
    mark = reader.i
    word = reader.take("starting", "beginning", "from", "between")
    if word is None:
        return None
    plain = word.text not in ("from", "between")
    if plain:
        reader.take("from", "on", "in")
    first = _moment(reader)
    if first is None:
        if word.text != "between" and (hour := _time_follows(reader)):
            if plain:
                return replace(parts, from_time=True)
            if not any(other.text in ("every", "each") for other in reader.tokens):
                raise reader.refusal("does not recur", f'Say for example "every hour starting at {hour}"', start=token)
            remedy = (
                f'Say "{reader.instead(token, "starting at")}", or name the end of a window: "from {hour} until ..."'
            )
            raise reader.refusal("leaves open whether it is a window", remedy, start=token)
        if plain:
            raise reader.stuck()
        reader.i = mark
        return None
    parts = reader.put(parts, token, start=first)
    if (not reader.peek(1).text and reader.take("on")) or (first.now and reader.take("on")):
        return parts
    if plain or not reader.take(*(("and",) if word.text == "between" else _TO)):
        if word.text == "between":
            raise reader.stuck()
        return parts
    last = _moment(reader)
    if last is None:
        raise reader.stuck()
    if not last.years and last.instant is None:
        raise reader.refusal("leaves open which year is meant", "Give the dates their year", start=token)
    return reader.put(parts, token, end=last)


def _time_follows(reader: Reader) -> str:
    """Return the text of a time of day if one is next, else an empty text; take nothing."""
    mark = reader.i
    at = reader.take("at")
    start = reader.peek()
    text = "" if time(reader, bare=at is not None) is None else reader.since(start)
    reader.i = mark
    return text


def end(reader: Reader, parts: Parts) -> Parts | None:
    """Read "until 2026-12-15", "through march", "until the end of 2026", "before 2027"."""
    token = reader.peek()
    word = reader.take("until", "till", "through", "before", "ending")
    if word is None:
        return None
    whole = reader.take_all("the", "end", "of") or reader.take_all("end", "of")
    if whole and reader.take_all("the", "month"):
        return reader.put(parts, token, end=Parts(monthly=True))
    if whole and reader.take_all("the", "year"):
        return reader.put(parts, token, end=Parts(monthly=True, months=((12, 1),)))
    reader.take("on")
    last = _moment(reader)
    if last is None:
        if (hour := time(reader, bare=True)) is not None:
            raise _hour_refused(reader, parts, token, last=hour.seconds)
        raise reader.stuck()
    if last.days or last.day is not None or last.weekdays or last.instant is not None or last.now:
        if whole:
            raise reader.refusal("names no year or month", 'Say for example "until the end of 2027"', start=token)
    elif not whole and word.text in ("until", "till", "ending"):
        what = reader.text[reader.peek(-1).start : reader.peek(-1).end]
        raise reader.refusal(
            "may leave that time out or in", f'Say "before {what}" or "until the end of {what}"', start=token
        )
    return reader.put(parts, token, end=last, before=word.text == "before")


def _hour_refused(reader: Reader, parts: Parts, start: Token, *, last: int) -> Exception:
    """Make the error about "until 5pm": an hour ends a window, not a recurrence."""
    said = reader.since(start)[len(start.text) :]
    first = time(reader, bare=True) if reader.take("from") else None
    if first is not None:
        window = f"from {clock_text(first.seconds)} until {clock_text(last)}"
        return reader.refusal("names its end first", f'Say "{reader.instead(start, window)}"', start=start)
    begin = next((token for token in reader.tokens if token.text in ("starting", "beginning")), None)
    if parts.from_time and parts.times and begin is not None and begin.start < start.start:
        window = f"from {clock_text(parts.times[0])} until {clock_text(last)}"
        return reader.refusal("ends what is no window", f'Say "{reader.instead(begin, window)}"', start=start)
    if not parts.every and not any(token.text in ("every", "each", "at") for token in reader.tokens):
        return reader.refusal("is no exact time", f'Say when it runs: "{reader.instead(start, said)}"', start=start)
    window = f"from 0:00 until{said}" if last else "from 0:00 to 23:59:59"
    hint = f'Say "{reader.instead(start, window)}" for each day, or name the day: "until 2027-01-31"'
    return reader.refusal("may mean that hour of each day, or of one", hint, start=start)


def _moment(reader: Reader) -> Parts | None:
    """Read a day, a month, a year, or an instant."""
    if reader.take("now"):
        return Parts(now=True)
    mark = reader.i
    near = reader.take("next", "this")
    weekday = reader.take_from(WEEKDAYS)
    if weekday is not None and reader.peek().text not in _TO:
        reader.take(",")
        day = numeric(reader, Parts()) or dated(reader, Parts())
        _refuse_part(reader)
        if day is not None:
            return reader.put(day, reader.peek(-1), weekdays=((weekday, 1),))
        return Parts(weekdays=((weekday, 1),))
    reader.i = mark
    if near:
        return None
    for read in (numeric, relative, dated):
        found = read(reader, Parts())
        if found is not None:
            _refuse_part(reader)
            return found
    months = month_list(reader)
    if len(months) > 1:
        reader.i = mark
        return None
    year = year_number(reader)
    if not months and year is None:
        return None
    return Parts(months=each(months), years=None if year is None else (year, year))


def _refuse_part(reader: Reader) -> None:
    """Refuse "until friday evening": the part of the day would be that of each run."""
    if reader.peek().text in PARTS:
        start = reader.next()
        raise reader.refusal("is no bound", "Bound it by whole days", start=start)


def zone_clause(reader: Reader, parts: Parts) -> Parts | None:
    """Read UTC or an IANA name, with or without "in" before it."""
    mark, token = reader.i, reader.peek()
    reader.take("in")
    name = reader.peek()
    if name.kind == "offset" or (
        name.text == "z" and (reader.peek(-1).text[-1:].isdigit() or reader.peek(-1).text in HALVES)
    ):
        found = offset(reader)
        if parts.zone is not None or parts.instant is not None:
            raise reader.refusal("would be a second zone", "Say one", start=name)
        return reader.put(parts, token, zone="UTC") if name.text == "z" else reader.put(parts, token, offset=found)
    if parts.offset is not None and (name.text == "utc" or name.kind == "zone"):
        reader.next()
        raise reader.refusal("would be a second zone", "Say one", start=name)
    if name.text == "utc":
        reader.next()
        return reader.put(parts, token, zone="UTC")
    if name.kind != "zone":
        reader.i = mark
        return None
    reader.next()
    known = known_zone(reader.text[name.start : name.end])
    if known is None:
        near = nearest_zone(name.text)
        hint = f'Did you mean "{near}"?' if near else "Accepted: an IANA name such as Europe/Paris, or UTC"
        suggestion = reader.text[: name.start] + near + reader.text[name.end :] if near else None
        raise reader.refusal("is not a zone", hint, start=name, suggestion=suggestion)
    return reader.put(parts, token, zone=known)


_DAY = 24 * 3600


def next_day(reader: Reader, parts: Parts) -> Parts | None:
    """Read "the day before christmas", "day after monday"; "day after tomorrow" is read elsewhere."""
    start = reader.peek()
    reader.take("on")
    reader.take("the")
    side = reader.peek(1).text
    if side not in ("before", "after") or not reader.take("day"):
        return None
    reader.next()
    return _counted(reader, parts, start, days=1 if side == "after" else -1)


def from_a_day(reader: Reader, parts: Parts, found: Amount, *, start: Token, ahead: bool) -> Parts | None:
    """Read the day from which an amount is counted: "from monday", "on tuesday", "before 24 december", "today"."""
    mark = reader.i
    side = reader.take("from", "after", "before")
    weeks = bool(found.days) and found.days % 7 == 0
    if side is None and weeks and reader.peek().text in RELATIVE_DAYS:
        side = reader.peek()
    if side is None and weeks and reader.take("on") and reader.peek().text in WEEKDAYS:
        side = reader.peek(-1)
    if side is None:
        reader.i = mark
        return None
    if found.seconds and not (found.days or found.months):
        _refuse_from_hour(reader, found, start=start, before=side.text == "before")
        reader.i = mark
        return None
    if found.months and not found.days and reader.peek().text == "today":
        said = reader.text[start.start : reader.tokens[mark - 1].end].lower().removeprefix("in ")
        reader.next()
        raise reader.refusal("is a length", f'Say "{reader.instead(start, f"in {said}")}"', start=start)
    if found.seconds or found.months:
        remedy = 'Say it in weeks or days, for example "4 weeks from monday", or write the date'
        raise reader.refusal("counts from a day", remedy, start=start)
    if ahead and side.text == "on":
        reader.next()
        said = reader.text[start.start : reader.tokens[mark - 1].end].lower().removeprefix("in ")
        near = reader.instead(start, f"{said} from {reader.peek(-1).text}")
        raise reader.refusal("may name that day, or count from it", f'Say "{near}", or write the date', start=start)
    return _counted(reader, parts, start, days=-found.days if side.text == "before" else found.days)


def _counted(reader: Reader, parts: Parts, start: Token, *, days: int) -> Parts:
    reader.take("on")
    mark = reader.i
    reader.take("next", "this")
    weekday = reader.take_from(WEEKDAYS)
    reader.i = mark if weekday is None else reader.i
    if weekday is not None:
        return reader.put(parts, start, weekdays=((weekday, 1),), moved=days)
    for read in (numeric, relative, dated):
        found = read(reader, Parts())
        if found is not None and found.instant is None and not found.times:
            new: dict[str, object] = {"day": found.day} if found.day is not None else {"days": found.days}
            if found.months:
                new["months"] = found.months
            if found.years:
                new["years"] = found.years
            return reader.put(parts, start, moved=days, **new)
    raise reader.stuck()


def _refuse_from_hour(reader: Reader, found: Amount, *, start: Token, before: bool) -> None:
    """Refuse "1 hour before midnight", with the hour that it is."""
    hour = time(reader, bare=True)
    if hour is not None:
        moved = (hour.seconds + (-1 if before else 1) * int(found.seconds)) % _DAY
        remedy = f'Say "{reader.instead(start, clock_text(moved))}"'
        raise reader.refusal("is counted from an hour", remedy, start=start)
