"""An entry: our text for an occurrence that is not a regular item of `S:next`, in a queue or in a listener's record.

Its form is ``<kind> <due> <attempt> <crashes> <flags> <item>``. Kind ``r``: no listener has admitted it, so it carries
the chain of a recurring job. Kind ``o``: one occurrence. Flags are ``-``, or parts joined by ``;`` (``p``: its turns
are paid, ``b``: its run may have begun, ``t<ms>*<key>``: the rate for whose turn it waits, ``g<limit>*<key>``: a slot
that it has, ``w<times>@<ms>*<progress>``: its runs have asked to wait), then ``#<nonce>``.
People can read it in redis-cli, and Lua can build it by concatenation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from workkit.brokers.redis_server.packed import FURTHEST_MS
from workkit.contract.claim import Waited
from workkit.jobs.option_readers import LONGEST_MS

PAID, BEGUN = "p", "b"
NO_LIMIT = ("paused:", "run:")  # keys under which entries wait or runs are open, without a limit
LEAST_TURN_MS = 1e-6
_RATE = re.compile(r"t(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\*(\S+)", re.ASCII)
_WAITED = re.compile(r"w(\d{1,9})(?:@(\d{1,16})\*(\S*))?", re.ASCII)
_SLOT = re.compile(r"g(\d{1,9})\*(\S+)", re.ASCII)
_DUE = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf)", re.ASCII)  # as the server writes scores
_ENTRY = re.compile(rb"([ro]) (\S+) (\d{1,9}) (\d{1,9}) ([!-~]+) (.*)", re.DOTALL)


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
        """The due time in whole milliseconds. A text that is no finite number reads as 0, one beyond 9e15 as 9e15."""
        return due_ms(self.due)

    @property
    def is_regular(self) -> bool:
        """Whether no listener has admitted it, and it has no attempt: then its place is `S:next`."""
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
        """The rate key for whose turn it waits, with the milliseconds between two turns; None where none is named."""
        found = (_RATE.fullmatch(part) for part in self._parts()) if self.is_paid else ()
        rates = ((unquote(rate[2]), float(rate[1])) for rate in found if rate)
        return next((rate for rate in rates if LEAST_TURN_MS <= rate[1] <= LONGEST_MS), None)

    @property
    def waited(self) -> Waited | None:
        """How often its runs have asked to wait, until when, and how far they were; None where none has."""
        found = (_WAITED.fullmatch(part) for part in self._parts()) if "w" in self.flags else ()
        for times, until, said in (one.groups() for one in found if one):
            return Waited(min(int(times), self.attempt), None if until is None else int(until), unquote(said or ""))
        return None

    @property
    def failures(self) -> int:
        """How many of its attempts failed: the others asked to wait."""
        return self.attempt if self.waited is None else self.attempt - self.waited.times

    @property
    def is_waiting(self) -> bool:
        """Whether its last run asked to wait."""
        return self.waited is not None and self.waited.until_ms is not None

    def is_held(self, when: float, now: float) -> bool:
        """Whether a rate holds it, where it stands in `S:again` at this score: its turn is paid, and has not come."""
        return when > now and self.is_paid

    def _parts(self) -> list[str]:
        return self.flags.partition("#")[0].split(";")

    def with_flags(
        self, *, slots: Iterable[tuple[str, int]] = (), is_paid: bool = False, has_begun: bool = False
    ) -> str:
        """Write the flags that it has with these slots and turns; how it waited stays. `has_begun`: its run may begin
        from now on.
        """
        parts = [waited_flag(self.waited)] * (self.waited is not None)
        parts += [PAID] * is_paid + [BEGUN] * has_begun + [slot_flag(key, limit) for key, limit in slots]
        return (";".join(parts) or "-") + self.nonce


def rate_flag(key: str, turn_ms: float) -> str:
    """Write the flag of the rate that holds an entry."""
    return f"t{turn_ms:.15g}*{quote(key, safe='/:=')}"


def waited_flag(waited: Waited | None) -> str:
    """Write the flag of an occurrence whose runs have asked to wait; nothing where none has."""
    if waited is None:
        return ""
    until = "" if waited.until_ms is None else f"@{waited.until_ms}*{quote(waited.progress, safe='/:=')}"
    return f"w{waited.times}{until}"


def slot_flag(key: str, limit: int) -> str:
    """Write the flag of a slot."""
    return f"g{limit}*{quote(key, safe='/:=')}"


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
    """Make the entry of a regular item, or of bytes that are no entry: only the due time is known."""
    text = due.decode("ascii", "replace")
    return Entry(due=text if _DUE.fullmatch(text) else "0", item=item)
