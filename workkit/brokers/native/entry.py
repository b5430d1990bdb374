"""An entry: our text for an occurrence that is not a regular item of `S:next`, in a queue or in a listener's record.

Its form is ``<kind> <due> <attempt> <crashes> <flags> <item>``. Kind ``r``: no listener has admitted it, so it carries
the chain of a recurring job. Kind ``o``: one occurrence. Flags are ``-``, or parts joined by ``;`` (``p``: its turns
are paid, ``b``: its run may have begun, ``t<ms>*<key>``: it waits for its turn of this rate, ``q<priority>``: with this
priority, ``g<limit>*<key>``: a slot that it has, ``w<times>@<ms>*<progress>``: its runs have asked to wait), then
``#<nonce>``. People can read it in redis-cli, and Lua can build it by concatenation.

Also the other texts of occurrences: regular items of `S:next`, and members of `S:waiting`, which are entries that wait
beside the queue for a slot or for the end of a pause. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from workkit import wire
from workkit.brokers.redis_server.control import FURTHEST_MS
from workkit.contract.listener import Waited
from workkit.errors import CorruptRecord
from workkit.jobs.names import shown
from workkit.jobs.option_readers import LONGEST_MS, rate_text

if TYPE_CHECKING:
    from workkit.jobs.terms import Terms

PAID, BEGUN = "p", "b"
PAUSED = "paused:"
OF_GROUPS = ("open:", "after:", "success:")  # prefixes of the keys of entries that wait for a group
PAUSES = ("[paused:", "(paused;")  # the lexical bounds of all entries that a pause has parked: ; comes after :
NO_LIMIT = ("paused:", "run:")  # prefixes of keys without a limit: paused entries, open runs
LEAST_TURN_MS = 1e-6
_PLAIN = "/:="  # characters of keys that flags have as they are
_RATE = re.compile(r"t(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\*(\S+)", re.ASCII)
_WAITED = re.compile(r"w(\d{1,9})(?:@(\d{1,16})\*(\S*))?", re.ASCII)
_SLOT = re.compile(r"g(\d{1,9})\*(\S+)", re.ASCII)
_DUE = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)", re.ASCII)  # as the server writes scores
_ENTRY = re.compile(rb"([ro]) (\S+) (\d{1,9}) (\d{1,9}) ([!-~]+) (.*)", re.DOTALL)
_PARKED = re.compile(rb"(.*?)\0(\d{16})\0([^\0]*)\0([ro] .*)", re.DOTALL)
ITEM = re.compile(rb'\{"id":"([0-9a-f]{40})"\}')  # as workkit writes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry. `due` is the text of the score as the server returned it; `item` the opaque bytes of the item."""

    kind: str = "r"
    due: str
    attempt: int = 0
    crashes: int = 0
    flags: str = "-"
    item: bytes

    @property
    def due_ms(self) -> int:
        """The due time in whole milliseconds. A text that is no finite number reads as 0, and a number beyond 9e15 as
        9e15.
        """
        return due_ms(self.due)

    @property
    def is_regular(self) -> bool:
        """Whether no listener has admitted it and it has no attempt. Its place is then `S:next`."""
        return self.kind == "r" and self.flags == "-" and not self.attempt

    def encode(self) -> bytes:
        """Write the text that the server stores."""
        return f"{self.head}{self.flags} ".encode("utf-8", "surrogatepass") + self.item

    @property
    def head(self) -> str:
        """The part before the flags."""
        return f"{self.kind} {self.due} {self.attempt} {self.crashes} "

    @property
    def nonce(self) -> str:
        """The part that distinguishes occurrences of the same time: ``#...``, or nothing."""
        return "".join(self.flags.partition("#")[1:])

    @property
    def is_paid(self) -> bool:
        """Whether its turns are paid."""
        return PAID in self._parts()

    @property
    def has_begun(self) -> bool:
        """Whether its run may have begun, and must not begin again."""
        return BEGUN in self._parts()

    @property
    def slots(self) -> tuple[tuple[str, int], ...]:
        """The limit keys under which it has a slot, each with its limit."""
        found = (_SLOT.fullmatch(part) for part in self._parts()) if self.flags != "-" else ()
        slots = ((unquote(slot[2]), int(slot[1])) for slot in found if slot)
        return tuple(slot for slot in slots if not slot[0].startswith(NO_LIMIT))

    @property
    def rate(self) -> tuple[str, float] | None:
        """The rate key that gives its next turn, with the milliseconds between two turns; None if no rate is named."""
        return next(iter(self.rates), None)

    @property
    def rates(self) -> list[tuple[str, float]]:
        """The rate keys that hold it, each with the milliseconds between two turns; first the one that gives its next
        turn.
        """
        found = (_RATE.fullmatch(part) for part in self._parts()) if self.is_paid else ()
        rates = ((unquote(rate[2]), float(rate[1])) for rate in found if rate)
        return [rate for rate in rates if LEAST_TURN_MS <= rate[1] <= LONGEST_MS]

    def place(self, key: str) -> tuple[bytes, bytes]:
        """Return the prefix of all members of `S:order` under a rate key, and its own member there. `parts/order.lua`
        has the same rule.
        """
        prefix = quote(key, safe=_PLAIN).encode() + b"\0"
        priority = next((int(part[1]) for part in self._parts() if part in ("q1", "q2", "q3")), 0)
        return prefix, prefix + b"%d%016d\0" % (3 - priority, max(0, self.due_ms)) + self.encode()

    @property
    def waited(self) -> Waited | None:
        """How often its runs have asked to wait, until when, and their progress; None if none has asked."""
        found = (_WAITED.fullmatch(part) for part in self._parts()) if "w" in self.flags else ()
        for times, until, said in (one.groups() for one in found if one):
            return Waited(min(int(times), self.attempt), None if until is None else int(until), unquote(said or ""))
        return None

    @property
    def failures(self) -> int:
        """The number of its failed attempts. Attempts that asked to wait do not count."""
        waited = self.waited
        return self.attempt if waited is None else self.attempt - waited.times

    @property
    def is_waiting(self) -> bool:
        """Whether its last run asked to wait."""
        waited = self.waited
        return waited is not None and waited.until_ms is not None

    def is_held(self, when: float, now: float) -> bool:
        """Whether a rate holds it in `S:again` at this score: its turn is paid, and has not come yet."""
        return when > now and self.is_paid

    def _parts(self) -> list[str]:
        return self.flags.partition("#")[0].split(";")

    def with_flags(
        self, *, slots: Iterable[tuple[str, int]] = (), is_paid: bool = False, has_begun: bool = False
    ) -> str:
        """Write its flags with these slots and turns. The flag of its waits stays. `has_begun`: its run may begin from
        now on.
        """
        parts = [waited_flag(self.waited)] * (self.waited is not None)
        parts += [PAID] * is_paid + [BEGUN] * has_begun + [slot_flag(key, limit) for key, limit in slots]
        return (";".join(parts) or "-") + self.nonce


def rate_flag(key: str, turn_ms: float) -> str:
    """Write the flag of the rate that holds an entry."""
    return f"t{turn_ms:.15g}*{quote(key, safe=_PLAIN)}"


def waited_flag(waited: Waited | None) -> str:
    """Write the flag of an occurrence that has asked to wait; empty if it has not."""
    if waited is None:
        return ""
    until = "" if waited.until_ms is None else f"@{waited.until_ms}*{quote(waited.progress, safe=_PLAIN)}"
    return f"w{waited.times}{until}"


def slot_flag(key: str, limit: int) -> str:
    """Write the flag of a slot."""
    return f"g{limit}*{quote(key, safe=_PLAIN)}"


def due_ms(text: str) -> int:
    """Read a due time that any program may have written: see `Entry.due_ms`. `parts/entry.lua` has the same rule."""
    score = float(text) if _DUE.fullmatch(text) else 0.0
    return math.floor(max(-FURTHEST_MS, min(FURTHEST_MS, score))) if math.isfinite(score) else 0


def read_entry(data: bytes) -> Entry | None:
    """Read an entry; None if the text is no entry."""
    found = _ENTRY.fullmatch(data)
    if found is None or not _DUE.fullmatch(due := found[2].decode("latin-1")):
        return None
    kind, _, attempt, crashes, flags, item = found.groups()
    return Entry(
        kind=kind.decode(),
        due=due,
        attempt=int(attempt),
        crashes=int(crashes),
        flags=flags.decode(),
        item=item,
    )


def regular(item: bytes, *, due: bytes) -> Entry:
    """Make the entry of a regular item, or of bytes that are no entry. Only the due time is known."""
    text = due.decode("ascii", "replace")
    return Entry(due=text if _DUE.fullmatch(text) else "0", item=item)


def is_ours(member: bytes) -> bool:
    """Say whether an item of `S:next` has the text that workkit writes."""
    return ITEM.fullmatch(member) is not None


def item_id(member: bytes) -> bytes | None:
    """Read the id in an item as the scripts read it; None if they find none."""
    if found := ITEM.fullmatch(member):
        return found[1]
    try:
        return wire.read_item(member).id.encode("utf-8")
    except (CorruptRecord, UnicodeEncodeError):
        return None


def plain_item(id: str) -> bytes:
    """Write the usual text of an item, also for an id that only a foreign peer writes."""
    return f'{{"id":"{id}"}}'.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """One parked entry: the key under which it waits, its occurrence, and the whole text."""

    text: bytes
    key: bytes
    occurrence: bytes
    entry: Entry

    @property
    def pause(self) -> str | None:
        """The target of the pause that has parked it; None if it waits for a slot, or for a group."""
        key = self.key.decode("utf-8", "replace")
        return key.removeprefix(PAUSED) if key.startswith(PAUSED) else None

    def why(self, terms: Terms) -> str:
        """Say why it waits for a slot or for a group, as a sentence without a full stop. `terms`: those of its job."""
        kind, _, of = self.key.decode("utf-8", "replace").partition(":")
        limit = self.entry.slots[-1][1] if self.entry.slots else 1
        member, follows = (f'the batch "{name}"' if name else "its batch" for name in (terms.batch, terms.then_of))
        match kind:
            case "open":
                return f"{member} has not released its jobs"
            case "after":
                return f"{follows} has not ended" if terms.then_of else "jobs that it runs after have not ended"
            case "success":
                return f"{follows} has not ended, or has dead jobs"
            case "over":
                return "another run of it has not ended"
            case "unique":
                return f'another job with the unique key "{of}" has not ended'
        who, for_value = _counted(self.key.decode("utf-8", "replace"))
        return f"{who} is at its limit of {limit}{for_value}"


def why_of_rate(entry: Entry) -> str:
    """Say which rate holds an entry, as a sentence without a full stop."""
    if entry.rate is None:  # an entry of an earlier version
        return "held by its rate"
    key, turn_ms = entry.rate
    who, for_value = _counted(key)
    return f"{who} is held by its rate {rate_text(turn_ms)}{for_value}"


def _counted(key: str) -> tuple[str, str]:
    """Describe the subject of a limit or a rate: a function or the schedule, and the value that it counts."""
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
