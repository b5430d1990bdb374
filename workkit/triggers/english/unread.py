"""Words that no clause reads, but that show what was meant: each is refused with the text to write instead."""

from __future__ import annotations

from typing import Final

from workkit.triggers.clock.zone import nearest_zone
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.reader import Reader
from workkit.triggers.english.grammar.words import VOCABULARY

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
    """Refuse a place that is no zone's name, hours without am and pm, and a year that may be an hour."""
    del parts
    start = reader.peek()
    if start.kind == "word" and (zone := _zone_of(start.text)) is not None:
        reader.next()
        reader.take("standard", "daylight", "summer")
        reader.take("time")
        said = reader.instead(start, zone)
        raise reader.refusal("is not the name of a zone", f'Say "{said}"', start=start, suggestion=said)
    if start.kind == "number" and start.text.isdigit():
        _hours(reader, int(start.text))
    return None


def _zone_of(word: str) -> str | None:
    """Find the zone of a region or city."""
    if word in _REGIONS:
        return _REGIONS[word]
    if word in VOCABULARY or not 3 < len(word) <= _LONGEST:
        return None
    near = nearest_zone(word)
    return near if near is not None and near.lower().endswith(f"/{word}") else None


def _hours(reader: Reader, first: int) -> None:
    """Refuse "9-5", and "2030" that may be an hour."""
    start, last = reader.peek(), reader.peek(2)
    if reader.peek(1).text in ("-", "to") and last.text.isdigit() and first < 24 and int(last.text) < 24:
        reader.i += 3
        hours = [f"{first}:00", last.text + ":00"]
        if int(last.text) <= first <= 12:
            hours = [f"{first}am", f"{last.text}pm"]
        said = reader.instead(start, f"from {hours[0]} to {hours[1]}")
        raise reader.refusal("does not say that these are hours", f'Say "{said}"', start=start)
    if len(start.text) == 4 and first // 100 < 24 and first % 100 < 60 and len(reader.tokens) > 1:
        reader.next()
        said = reader.instead(start, f"at {first // 100}:{first % 100:02}")
        raise reader.refusal("may be an hour or a year", f'Say "{said}" for the hour', start=start)
