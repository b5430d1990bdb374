"""A calendar as text: events at instants, by RFC 5545. Pure.

Lines end in CR LF and are folded at 75 bytes; in texts, backslashes, commas, semicolons and line ends are escaped, and
what could hide text is spelled out. Instants are UTC, so no zone is needed. An event takes no time from a reader's day
(TRANSP), since a machine is busy then, and not a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from workkit._version import __version__
from workkit.text.wording import printable

LONGEST_LINE: Final = 75
"""Bytes of a line, without its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that is planned at an instant. `of`: what it belongs to; an event keeps its identity as long as that
    and the instant stay.
    """

    of: str
    at: datetime
    title: str
    more: str = ""

    @property
    def uid(self) -> str:
        """A name of its own, which stays the same in every answer and says nothing of what it names."""
        text = f"{self.of}\0{_instant(self.at)}"
        return f"{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}@workkit"


def calendar(events: Iterable[Event], *, title: str, about: str, made: datetime) -> bytes:
    """Write a calendar. `made` (aware) stands in each event as the time of this answer."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//workkit//workkit {__version__}//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        f"X-WR-CALNAME:{escaped(title)}",
        f"X-WR-CALDESC:{escaped(about)}",
        *(line for event in events for line in _lines(event, made)),
        "END:VCALENDAR",
    ]
    return b"".join(folded(line) for line in lines)


def _lines(event: Event, made: datetime) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{event.uid}"
    yield f"DTSTAMP:{_instant(made)}"
    yield f"DTSTART:{_instant(event.at)}"
    yield f"SUMMARY:{escaped(event.title)}"
    if event.more:
        yield f"DESCRIPTION:{escaped(event.more)}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def escaped(text: str) -> str:
    """Write a text as the value of a property."""
    lines = (printable(line) for line in text.split("\n"))
    return "\\n".join(line.replace("\\", r"\\").replace(";", r"\;").replace(",", r"\,") for line in lines)


def folded(line: str) -> bytes:
    """Write a line in pieces of at most 75 bytes, of which the further ones begin with a blank. No character is cut."""
    rest, parts = line.encode("utf-8", "replace"), list[bytes]()
    while len(rest) > (room := LONGEST_LINE - bool(parts)):
        end = room
        while rest[end] & 0xC0 == 0x80:  # the middle of a character
            end -= 1
        parts.append(rest[:end])
        rest = rest[end:]
    return b"\r\n ".join([*parts, rest]) + b"\r\n"


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
