"""The grammar of recurring times: every 5 minutes, every other friday, daily, twice a day, every march."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from workkit.errors import PhraseError
from workkit.triggers.crons.field import MAX_STEP
from workkit.triggers.english.dates import dated, each, month_list, plurals, weekday_item
from workkit.triggers.english.marks import marks
from workkit.triggers.english.months import ends, month_of, place_of_month
from workkit.triggers.english.numbers import amount, integer, ordinal_number, pieces
from workkit.triggers.english.reader import Parts, PhraseStep, Reader
from workkit.triggers.english.words import (
    ADVERBS,
    MONTHS,
    NAMED_TIMES,
    ORDINALS,
    PARTS,
    SECONDS,
    UNITS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
    Unit,
)

_PER: Final[dict[str, Unit]] = {"daily": "day", "hourly": "hour", "weekly": "week", "monthly": "month"}
_SHORT: Final = ("sec", "min", "hr")
_SINGLE: Final[dict[str, Unit]] = {name: unit for name, unit in UNITS.items() if name == unit or name in _SHORT}


def adverb(reader: Reader, parts: Parts) -> Parts | None:
    """Read hourly, daily, weekly, monthly, quarterly, yearly."""
    start = reader.peek()
    found = reader.take_from(ADVERBS)
    return None if found is None else _stepped(reader, parts, n=found[0], unit=found[1], start=start)


def times_a(reader: Reader, parts: Parts) -> Parts | None:
    """Read "once a day", "twice an hour", "three times a day", "twice daily"."""
    mark, start = reader.i, reader.peek()
    n = 1 if reader.take("once") else 2 if reader.take("twice") else None
    if n is None:
        n = integer(reader)
        if n is None or not reader.take("times"):
            reader.i = mark
            return None
    unit = reader.take_from(_PER)
    if unit is None and reader.take("a", "an", "per", "each", "every"):
        unit = reader.take_from(_SINGLE)
    if unit is None:
        reader.i = mark
        return None
    if n < 1:
        raise reader.refusal("never comes", "Say at least once", start=start)
    parts = _stepped(reader, parts, n=1, unit=unit, start=start)
    return parts if n == 1 else reader.put(parts, start, count=PhraseStep(n=n, unit=unit))


def every(reader: Reader, parts: Parts) -> Parts | None:
    """Read "every" or "each", and the words that follow it."""
    if not reader.take("every", "each"):
        return None
    parts = replace(parts, every=True)
    if (days := plurals(reader)) is not None:
        return reader.put(parts, reader.peek(-1), weekdays=each(days))
    _refuse_plural(reader)
    for read in (ends, _marks, _unit, _month, _place, _nth, _weekdays, _interval, _part, _noon):
        mark = reader.i
        found = read(reader, parts)
        if found is not None:
            return found
        reader.i = mark
    raise reader.stuck()


def _refuse_plural(reader: Reader) -> None:
    """Refuse "every days" and "every 15th", with their possible meanings."""
    start, after = reader.peek(), reader.peek(1)
    if start.text in UNITS and start.text.endswith("s") and len(start.text) > 3:
        reader.next()
        raise reader.refusal("names no number", f'Say "{reader.instead(start, start.text[:-1])}"', start=start)
    if start.kind == "ordinal" and (after.kind == "end" or after.text == "at"):
        reader.next()
        said = reader.instead(start, f"{start.text} of the month")
        raise reader.refusal("may be a day of the month, or count something", f'Say for example "{said}"', start=start)


def _stepped(reader: Reader, parts: Parts, *, n: int, unit: Unit, start: Token) -> Parts:
    if unit in ("quarter", "fortnight"):
        n, unit = (n * 3, "month") if unit == "quarter" else (n * 2, "week")
    if unit == "second" and n > 60 and n % 60 == 0:  # minutes stay minutes: the ids of jobs depend on it
        n, unit = (n // 60, "minute") if n % 3600 else (n // 3600, "hour")
    if n < 1:
        raise reader.refusal("never comes", "Say an interval of at least one", start=start)
    if n > MAX_STEP:
        raise reader.refusal("is out of range", f"Intervals go up to {MAX_STEP:,}", start=start)
    parts = reader.put(parts, start, every=True, step=PhraseStep(n=n, unit=unit))
    if unit == "hour" and (found := marks(reader)):
        return reader.put(parts, start, marks=found)
    return parts


def _marks(reader: Reader, parts: Parts) -> Parts | None:
    """Read "quarter past the hour", "10 to"."""
    start = reader.peek()
    found = marks(reader)
    return reader.put(parts, start, step=PhraseStep(n=1, unit="hour"), marks=found) if found else None


def _unit(reader: Reader, parts: Parts) -> Parts | None:
    """Read day, hour, month; "second" only if it is not the ordinal of the next word."""
    start, after = reader.peek(), reader.peek(1).text
    if start.text == "second" and (after in UNITS or after in WEEKDAYS or after in WEEKDAY_GROUPS or after in MONTHS):
        return None
    if start.text == "second" and after in ("of", "and", ","):
        return None
    if start.text == "quarter" and after == "of":
        return None
    if start.text in ("hour", "minute") and (after, reader.peek(2).text) == ("and", "a"):
        return None
    unit = reader.take_from(_SINGLE)
    return None if unit is None else _stepped(reader, parts, n=1, unit=unit, start=start)


def _month(reader: Reader, parts: Parts) -> Parts | None:
    """Read "march", "march and june", "january 1st", "25 december", "4th of july"."""
    mark = reader.i
    if reader.peek(1).kind == "ordinal":
        reader.take("the")
    start = reader.peek()
    if start.text in ORDINALS and reader.peek(1).text in MONTHS:
        reader.i += 2
        raise reader.refusal("may be a day, or count months", 'Say for example "every 2nd of march"', start=start)
    found = dated(reader, parts) if start.text != "the" else None
    if found is not None and not found.months:
        several = len(found.days) > 1 and start.kind == "ordinal"
        found = month_of(reader, found) or (replace(found, monthly=True) if several else None)
    if found is not None:
        return found
    reader.i = mark
    months = month_list(reader)
    return reader.put(parts, start, months=each(months)) if months else None


def _place(reader: Reader, parts: Parts) -> Parts | None:
    """Read "first sunday of january", "last friday of the month", "1st and 3rd monday of the month".

    Reads nothing if an ordinal alone means every nth such day: "every 3rd monday", "every 3rd day". "Of march" always
    names one day within the month; "in march" has both meanings. With a year, "every 2nd sunday of march 2027" counts
    such days.
    """
    ahead = 0
    while (token := reader.peek(ahead)).kind == "ordinal" or token.text in (*ORDINALS, "last", "and", ",", "&", "the"):
        ahead += 1
    day, joint, which, unit = (reader.peek(ahead + k).text for k in range(4))
    if not ahead or (day not in WEEKDAYS and day != "day"):
        return None
    within = joint in ("of", "in") and which in ("the", "each", "every") and unit in ("month", "quarter", "year")
    if within or ahead > 1 or reader.peek().text in ("first", "1st", "last"):
        return place_of_month(reader, parts)
    if day == "day" and joint == "of":
        reader.i += ahead + 1
        n = reader.peek(-2).text
        raise reader.refusal(f"may be a date, or every {n} day", 'Say for example "on the 3rd of every month"')
    if joint not in ("of", "in", "during") or (which not in MONTHS and which not in ("each", "every")):
        return None
    mark = reader.i
    found = place_of_month(reader, parts)
    if found is None or found.years is not None:
        return None
    if joint != "of":
        reader.i = mark
        raise _either_place(reader, ahead)
    return found


def _either_place(reader: Reader, ahead: int) -> PhraseError:
    """Make the error about "every second wednesday in january", with the text for each of its meanings."""
    every, ordinal, weekday = reader.peek(-1), reader.peek().text, reader.peek(ahead).text
    joint, n = reader.peek(ahead + 1), ordinal_number(reader)
    often = "every other" if n == 2 else f"every {n} weeks on"
    readings = f"the {ordinal} {weekday} of", f"{often} {weekday} in"
    texts = " or ".join(f'"{reader.instead(every, text, last=joint)}"' for text in readings)
    reader.i += ahead + 1
    trouble = f"may be the {ordinal} {weekday} of that month, or every {ordinal} one that falls into it"
    return reader.refusal(trouble, f"Say {texts}", start=every)


def _nth(reader: Reader, parts: Parts) -> Parts | None:
    """Read "other day", "3rd hour", "second week"; weekdays are read as a list."""
    start = reader.peek()
    n = 2 if reader.take("other") else ordinal_number(reader)
    unit = reader.take_from(_SINGLE) if n is not None else None
    if n is None or unit is None:
        return None
    if unit == "second":
        raise reader.refusal("may be a time or an interval", f'Say for example "every {n} seconds"', start=start)
    if (unit == "month" and n > 12) or (unit == "hour" and n > 24):
        raise reader.refusal(f"names a {unit} that there is not", f'Say "every {n} {unit}s"', start=start)
    return _stepped(reader, parts, n=n, unit=unit, start=start)


def _weekdays(reader: Reader, parts: Parts) -> Parts | None:
    """Read a list of weekdays, each with its own "every", "other" or ordinal; and "friday the 13th"."""
    start, mark = reader.peek(), reader.i
    found: list[tuple[int, int]] = []
    nth, counted = 1, False
    while True:
        again = bool(found) and bool(reader.take("every", "each"))
        begin = reader.peek()
        here = 2 if reader.take("other") else ordinal_number(reader)
        days = weekday_item(reader)
        if days is None:
            break
        if here is None and nth > 1 and not again:
            raise reader.refusal(
                "may be meant every time, or every other", 'Repeat "every", or "every other"', start=begin
            )
        if here is not None and len(days) > 2:
            raise reader.refusal("counts several days as one", 'Say for example "every other monday"', start=begin)
        nth = here or 1
        counted = counted or (nth > 1 and begin.text != "other")
        found += [(day, nth) for day in days]
        mark = reader.i
        if not reader.take_and() and reader.peek().text not in WEEKDAYS:
            break
    reader.i = mark
    if not found:
        return None
    parts = reader.put(parts, start, weekdays=tuple(dict.fromkeys(found)), counted=counted)
    if reader.take("the") and (day := ordinal_number(reader)) is not None:
        return reader.put(parts, start, days=(day,), both=True)
    reader.i = mark
    return parts


def _interval(reader: Reader, parts: Parts) -> Parts | None:
    """Read "5 minutes", "half hour", "2 weeks", "1h30m", "hour and a half"."""
    start = reader.peek()
    if reader.take_all("hour", "and", "a", "half"):
        return _stepped(reader, parts, n=90, unit="minute", start=start)
    if start.kind == "period" and (length := amount(reader)) and not (length.days or length.months):
        return _stepped(reader, parts, n=int(length.seconds), unit="second", start=start)
    if reader.take_all("minute", "and", "a", "half"):
        return _stepped(reader, parts, n=90, unit="second", start=start)
    found = pieces(reader)
    if not found:
        return None
    value, unit = found[0]
    if len(found) == 1 and value.denominator == 1:
        return _stepped(reader, parts, n=int(value), unit=unit, start=start)
    if any(name not in SECONDS for _, name in found):
        raise reader.refusal("is no whole number of one unit", "Say it in one unit", start=start)
    seconds = sum(value * SECONDS[name] for value, name in found)
    if seconds % 1:
        raise reader.refusal("is no whole number of seconds", "Say it in whole seconds", start=start)
    name = next(name for name in ("hour", "minute", "second") if seconds % SECONDS[name] == 0)
    return _stepped(reader, parts, n=int(seconds) // SECONDS[name], unit=UNITS[name], start=start)


def _part(reader: Reader, parts: Parts) -> Parts | None:
    """Read "every morning at 7", "every night at 10"."""
    start = reader.peek()
    if start.text not in PARTS:
        return None
    word = reader.next().text
    if reader.take_and() and (other := reader.take(*PARTS)):
        remedy = f'Say "every {word} at 8:00 and every {other.text} at 8:00", with the hour of each'
        raise reader.refusal("names two parts of the day", remedy, start=start)
    reader.i = reader.tokens.index(start) + 1
    return reader.put(parts, start, step=PhraseStep(n=1, unit="day"), day_part=word)


def _noon(reader: Reader, parts: Parts) -> Parts | None:
    """Read "every noon", "every midnight"."""
    start = reader.peek()
    seconds = reader.take_from(NAMED_TIMES)
    return None if seconds is None else reader.put(parts, start, step=PhraseStep(n=1, unit="day"), times=(seconds,))
