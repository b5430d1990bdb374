"""The grammar of where a recurrence begins and ends, and of the zone it is read in."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from workkit.text.calendar import clock_text
from workkit.triggers.clock.zone import known_zone, nearest_zone
from workkit.triggers.english.grammar.clock import time
from workkit.triggers.english.grammar.dates import dated, month_list, year_number
from workkit.triggers.english.grammar.days import each, relative
from workkit.triggers.english.grammar.digits import HALVES
from workkit.triggers.english.grammar.iso import numeric, offset
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import PARTS, TO, WEEKDAYS, Token

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
    """Give the text of a time of day if one is next, else none; take nothing."""
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
