"""The grammar of days counted from another day: a week from monday, 3 days before christmas, the day after monday."""

from __future__ import annotations

from workkit.text.calendar import clock_text
from workkit.triggers.english.grammar.clock import time
from workkit.triggers.english.grammar.dates import dated
from workkit.triggers.english.grammar.days import relative
from workkit.triggers.english.grammar.iso import numeric
from workkit.triggers.english.grammar.parts import Amount, Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import RELATIVE_DAYS, WEEKDAYS, Token

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
    """Read what an amount is counted from: "from monday", "on tuesday", "before 24 december", "today"."""
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
