"""The members of `S:waiting`: entries that wait beside the queue, for a slot or for the end of a pause. Also why an
entry is held, there or in `S:again`. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workkit.brokers.native.entry import Entry, read_entry
from workkit.jobs.names import shown
from workkit.jobs.option_readers import rate_text

PAUSED = "paused:"
PAUSES = ("[paused:", "(paused;")  # the lexical bounds of all entries that a pause has parked: ; comes after :
_PARKED = re.compile(rb"(.*?)\0(\d{16})\0([^\0]*)\0([ro] .*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """One parked entry: the key under which it waits, its occurrence, and the whole text."""

    text: bytes
    key: bytes
    occurrence: bytes
    entry: Entry

    @property
    def pause(self) -> str | None:
        """The target whose pause has parked it; None if it waits for a slot."""
        key = self.key.decode("utf-8", "replace")
        return key.removeprefix(PAUSED) if key.startswith(PAUSED) else None

    @property
    def why(self) -> str:
        """The reason why it waits for a slot, as a sentence without a full stop."""
        kind, _, of = self.key.decode("utf-8", "replace").partition(":")
        limit = self.entry.slots[-1][1] if self.entry.slots else 1
        match kind:
            case "over":
                return "another run of it has not ended"
            case "unique":
                return f'another job with the unique key "{of}" has not ended'
        who, for_value = _counted(self.key.decode("utf-8", "replace"))
        return f"{who} is at its limit of {limit}{for_value}"


def why_of_rate(entry: Entry) -> str:
    """Say which rate holds an entry, as a sentence without a full stop."""
    if entry.rate is None:  # of an earlier version
        return "held by its rate"
    key, turn_ms = entry.rate
    who, for_value = _counted(key)
    return f"{who} is held by its rate {rate_text(turn_ms)}{for_value}"


def _counted(key: str) -> tuple[str, str]:
    """Name what a limit or a rate counts: a function or the schedule; and for which value."""
    kind, _, of = key.partition(":")
    if kind != "fn":
        return "the schedule", ""
    name, equals, value = of.partition("=")
    return shown(name), f" for {value}" if equals else ""


def read_parked(text: bytes) -> Parked | None:
    """Read a member of `S:waiting`; None if it cannot be read."""
    found = _PARKED.fullmatch(text)
    entry = read_entry(found[4]) if found else None
    if found is None or entry is None:
        return None
    return Parked(text=text, key=found[1], occurrence=found[3], entry=entry)


def parked_text(key: str, occurrence: str, entry: Entry) -> bytes:
    """Write the member of `S:waiting` of an entry that waits under `key`."""
    due = min(max(entry.due_ms, 0), 9 * 10**15)
    return b"\0".join((_bytes(key), b"%016d" % due, _bytes(occurrence), entry.encode()))


def under(key: bytes, *, before_ms: int | None = None) -> tuple[bytes, bytes]:
    """Compute the lexical bounds of the entries parked under a key, or of those that were due before a time."""
    until = key + b"\1" if before_ms is None else key + b"\0%016d" % max(0, before_ms)
    return b"[" + key + b"\0", b"(" + until


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
