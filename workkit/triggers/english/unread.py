"""Words that no clause reads, but that show what was meant: each is refused with the text to write instead."""

from __future__ import annotations

from typing import Final, NoReturn

from workkit.text.calendar import MONTH_NAMES
from workkit.text.nearest import nearest_words
from workkit.triggers.clock.zone import zone_names
from workkit.triggers.english.grammar.digits import HALVES
from workkit.triggers.english.grammar.numbers import amount
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import (
    ADVERBS,
    MONTHS,
    NUMBERS,
    PLURAL_WEEKDAYS,
    RELATIVE_DAYS,
    TENS,
    UNITS,
    VOCABULARY,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Token,
)

_REGIONS: Final = {
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "uk": "Europe/London",
    "zulu": "UTC",
}
_LONGEST: Final = 30  # letters of a place


def unread(reader: Reader, parts: Parts) -> Parts | None:
    """Refuse a place that is no zone's name, a month alone, hours without am and pm, and the like."""
    mark = reader.i
    reader.take("in", "the")
    start = reader.peek()
    before = reader.peek(-2 if reader.peek(-1).text == "at" else -1)
    if before.text in ("except", "but", "not"):
        remedy = 'Name the hours, days or months that are left, for example "every hour from 1am to 11pm"'
        raise reader.refusal("cannot be left out: only weekdays can", remedy)
    match start.kind:
        case "word":
            _minutes_to(reader)
            _next_group(reader, parts)
            _bounded(reader)
            _place(reader)
            _month(reader, parts)
            _group(reader, parts)
            _foreign_day(reader)
        case "number":
            _hours(reader, parts)
        case "clock" if reader.peek(-1).text == "in" and reader.i > mark:
            hour, minute = start.text.split(":")[:2]
            reader.next()
            length = reader.instead(start, f"{int(hour)}h{int(minute)}m")
            raise reader.refusal(
                "is no length of time", f'Say "{length}", or "at {start.text}" for the hour', start=start
            )
    reader.i = mark
    return None


def _minutes_to(reader: Reader) -> None:
    """Refuse "ten to 5", which may be a window."""
    start = reader.peek()
    if (start.text in NUMBERS or start.text in TENS) and reader.peek(1).text == "to":
        reader.next()
        said = reader.instead(start, f"{start.text} minutes")
        raise reader.refusal("may be minutes or an hour", f'Say "{said}" for the minutes', start=start)


def _next_group(reader: Reader, parts: Parts) -> None:
    """Refuse "every monday at 6pm and friday at 4pm", which must repeat "every"."""
    start = reader.peek()
    if parts.every and parts.times and reader.peek(-1).text == "and" and start.text in WEEKDAYS:
        _offer(reader, "does not say that it recurs too", f"every {start.text}")


def _bounded(reader: Reader) -> None:
    """Refuse "for 2 weeks" and "after 5pm" beside what recurs."""
    start = reader.peek()
    if start.text == "for":
        reader.next()
        if amount(reader) is None:
            reader.i = len(reader.tokens)
        said = reader.instead(start, "until 2027-01-31")
        raise reader.refusal("names no end", f'Say until when, for example "{said}"', start=start)
    if start.text == "after" and reader.text[reader.peek(1).start :][:1].isdigit():
        reader.next()
        hour = reader.peek()
        while reader.peek().kind in ("number", "clock") or reader.peek().text in HALVES:
            reader.next()
        said = reader.instead(start, f"from {reader.since(hour)} to 11pm")
        raise reader.refusal("does not say until when", f'Say for example "{said}"', start=start)


def _place(reader: Reader) -> None:
    """Refuse a region or city, with its zone."""
    start = reader.peek()
    two = f"{start.text} {reader.peek(1).text}"
    for words, count in ((two, 2), (start.text, 1)):
        zone = _REGIONS.get(words) or _city(words)
        if zone is None or (count == 1 and start.text in VOCABULARY):
            continue
        reader.i += count
        reader.take("standard", "daylight", "summer")
        reader.take("time")
        said = reader.instead(start, zone)
        raise reader.refusal("is not the name of a zone", f'Say "{said}"', start=start, suggestion=said)


def _city(words: str) -> str | None:
    if not 3 < len(words) <= _LONGEST or not words.replace(" ", "").isalpha():
        return None
    tail = f"/{words.replace(' ', '_')}"
    return next((name for low, name in zone_names().items() if low.endswith(tail)), None)


def _month(reader: Reader, parts: Parts) -> None:
    """Refuse "march", "march 2027": a span."""
    start, before = reader.peek(), reader.peek(-1)
    if start.text in MONTHS and not (parts.days or parts.months):
        reader.next()
        said = reader.instead(before if reader.i > 1 and before.text in ("next", "this") else start, f"1 {start.text}")
        raise reader.refusal("is a span, not an instant", f'Say a day of it, for example "{said}"', start=start)


def _group(reader: Reader, parts: Parts) -> None:
    """Refuse "weekday at 9" without every, and days that would be counted: 3 business days, next working day."""
    start, before = reader.peek(), reader.peek(-1)
    if start.text.removesuffix("s") not in WEEKDAY_GROUPS or parts.weekdays:
        return
    reader.next()
    if reader.i > 1 and (before.kind == "number" or before.text in ("next", "every", "each", "other")):
        raise reader.refusal(
            "is not counted", 'Say it in days, for example "in 3 days at 9am", or the date', start=start
        )
    said = reader.instead(start, f"every {reader.since(start)}")
    if parts.every:  # "every 5 minutes on the weekend"
        the = before if before.text == "the" else start
        on = reader.peek(-3) if the is before and reader.peek(-3).text == "on" else the
        said = reader.instead(on, f"on {reader.since(start).removesuffix('s')}s")
    raise reader.refusal("does not say that it recurs", f'Say "{said}"', start=start)


def _foreign_day(reader: Reader) -> None:
    """Refuse a day that has a name of its own: groundhog day."""
    start = reader.peek()
    if start.text not in VOCABULARY and reader.peek(1).text == "days":
        reader.i += 2
        said = reader.instead(start, "every weekday")
        raise reader.refusal("does not say which days", f'Say for example "{said}"', start=start)
    if start.text not in VOCABULARY and reader.peek(1).text == "day" and not _is_slip(start.text):
        reader.i += 2
        raise reader.refusal("is not known", f'Write its date: "{reader.instead(start, "YYYY-MM-DD")}"', start=start)


def _is_slip(word: str) -> bool:
    return bool(nearest_words(word, sorted(VOCABULARY), most=1, alike=0.7))


def _hours(reader: Reader, parts: Parts) -> None:
    """Refuse "9-5", "monday 9", "24.12", and "2030" that may be an hour."""
    start, joint, last = reader.peek(), reader.peek(1).text, reader.peek(2)
    whole, _, part = start.text.partition(".")
    first = int(whole) if len(whole) <= _LONGEST else 0
    if part:
        if 1 <= first <= 31 and part.isdigit() and 1 <= int(part) <= 12:
            _offer(reader, "is no date as read here", f"{first} {MONTH_NAMES[int(part) - 1]}")
        return
    if joint in ("-", "to", "until", "till") and last.text.isdigit() and first < 24 and int(last.text) < 24:
        hours = [f"{first}:00", last.text + ":00"]
        if int(last.text) <= first <= 12:
            hours = [f"{first}am", f"{last.text}pm"]
        reader.i += 2
        often = "" if any(token.text in ("every", "each", "hourly") for token in reader.tokens) else "every hour "
        to = "to" if joint == "-" else joint
        _offer(reader, "does not say that these are hours", f"{often}from {hours[0]} {to} {hours[1]}", start=start)
    if whole == "2400":
        _offer(reader, "is no hour", "at 23:59", tail=", or 0:00 of the next day")
    if joint in PLURAL_WEEKDAYS and (last.text, reader.peek(3).text) == ("from", "now") and first > 0:
        reader.i += 3
        day = joint.removesuffix("s")
        weeks = "" if first == 1 else "a week from " if first == 2 else f"{first - 1} weeks from "
        _offer(reader, "is counted in weeks", f"{weeks}{day}", start=start)
    if reader.peek(-1).text in ("in", "every", "each") or joint.startswith("-"):
        return
    if len(whole) == 4 and first // 100 < 24 and first % 100 < 60 and len(reader.tokens) > 1:
        _offer(reader, "may be an hour or a year", f"at {first // 100}:{first % 100:02}", tail=" for the hour")
    if len(whole) == 3 and first // 100 > 0 and first % 100 < 60 and len(reader.tokens) > 1:
        _offer(reader, "is no hour as read here", f"at {first // 100}:{first % 100:02}")
    if len(whole) == 8:
        _offer(reader, "is no date as read here", f"{whole[:4]}-{whole[4:6]}-{whole[6:]}")
    named = parts != Parts() or joint in (*RELATIVE_DAYS, *WEEKDAYS, *ADVERBS, "every", "each")
    named = named or (joint in ("and", "&", ",") and last.kind == "number")
    if first < 24 and named and not parts.times and joint not in UNITS and reader.peek(-1).text != "in":
        _offer(reader, "does not say that it is an hour", f"at {first}")


def _offer(reader: Reader, trouble: str, other: str, *, start: Token | None = None, tail: str = "") -> NoReturn:
    """Refuse the next piece, or what was read since `start`, with the text in which `other` takes its place."""
    reader.next()
    start = start or reader.peek(-1)
    raise reader.refusal(trouble, f'Say "{reader.instead(start, other)}"{tail}', start=start)
