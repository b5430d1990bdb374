"""Check the two published keys: the walker reads them, the judge names the faults, and each fault that stops a job or
an item is a finding. A job that only moves during the check is no fault. Late work is a finding, and so is a pause that
holds it back.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import Any, Literal

from workkit import wire
from workkit.brokers.doctor import tally
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.doctor.judge import CRON, ITEM, NO_ITEM, NO_JOB, OF_ITEMS, OTHER_DIALECT, judge, why_unread
from workkit.brokers.native.doctor.tags import may_have_tags, untagged
from workkit.brokers.native.entry import PAUSED, Entry, due_ms, item_id, read_entry, under
from workkit.brokers.native.look.listing import score_text
from workkit.brokers.native.look.published import SUSPECTS, Pair, Places, Published
from workkit.brokers.native.settle import occurrence, write_grave
from workkit.brokers.redis_server.control import LAST_MS, standing_control
from workkit.brokers.redis_server.pages import PAGE, scored_pages
from workkit.contract.doctor import Advice, CommandLine, Fault, Finding, Kind
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Control, pause_text
from workkit.jobs.names import shown
from workkit.jobs.outcome import Failure
from workkit.text.cells import brief_bytes, bytes_text, id_word
from workkit.text.wording import age_text

MOST_UNREAD = 500  # unreadable jobs that are kept in memory with their payloads
LATE_MS = 60_000  # work that has been due for longer than this is a finding
CUT_OFF = "The program that added it or ran it was interrupted, or still runs it. It may have run already."
OVER = (
    "If a foreign peer added it for the current second, it never ran: such a peer stores the payload, finds no later "
    "time, and queues no item. Otherwise the program that added it or ran it was interrupted, or still runs it. It may "
    "have run already."
)


@dataclass(slots=True, kw_only=True)
class Inventory:
    """One check of `S:jobs` and `S:next`. `skipped`: jobs that no listener can run. They do not count as late here."""

    places: Places
    patience_ms: int
    skipped: frozenset[bytes] = frozenset()
    _left: dict[Kind, _Left] = field(default_factory=dict)
    _unread: dict[bytes, tuple[Fault, bytes]] = field(default_factory=dict)  # a repair buries them: fault and payload

    def findings(self) -> Iterator[Finding]:
        """Name, for each job and for each item, the first fault that stops it."""
        late, tagged = Late(places=self.places), list[bytes]()
        walker = Published(places=self.places, finds_unlisted=False)
        for pair in walker.pairs(soonest_first=False):
            of_job, of_item = self._stops(pair)
            if of_item is not None:
                yield self._of_item(pair, of_item)
            elif pair.item is not None and pair.payload is not None and pair.id not in self.skipped:
                late.count(int(pair.score))
            if of_job is not None:
                yield from self._of_job(pair, of_job, wide=walker.is_wide(pair.id))
            if pair.payload is not None and of_job is None and may_have_tags(pair.payload):
                tagged.append(pair.id)
            if len(tagged) == PAGE:
                yield from untagged(self.places, tagged)
                tagged.clear()
        yield from untagged(self.places, tagged)
        yield from self._unreadable()
        for _, left in sorted(self._left.items(), key=lambda pair: pair[0].name):
            yield self._aggregated(left)
        yield from late.findings()

    def _stops(self, pair: Pair) -> tuple[Fault | None, Fault | None]:
        """Find the first fault that stops the job, and the first that stops the item."""
        dialect, now_ms = self.places.codec.dialect, self.places.now_ms
        of_job = of_item = None
        for fault in judge(pair, dialect=dialect, now_ms=now_ms, patience_ms=self.patience_ms, thorough=False):
            if fault.stops and fault.of in OF_ITEMS:
                of_item = of_item or fault
            elif fault.stops:
                of_job = of_job or fault
        return of_job, of_item

    # Items: the job and the due time of each.

    def _of_item(self, pair: Pair, fault: Fault) -> Finding:
        member, k, reason = pair.item or b"", self.places.keys, ""
        if fault.of is ITEM:
            reason = why_unread(member)
            what = f"item {brief_bytes(member)} in {k.next} cannot be read: {reason}"
            why = "No listener can tell which job it names. The next one that claims it moves it to the dead set."
        elif fault.of is NO_JOB:
            what = f"item {brief_bytes(member)} in {k.next} points to no job: {k.jobs} has no {brief_bytes(pair.id)}"
            why = f"{NO_JOB.why} A person, or a program that left the item, removed the job."
        else:
            never = "It is never due." if pair.score > LAST_MS else "It runs at once, whatever its job says."
            what = f"job {brief_bytes(pair.id)} is in {k.next} with the due time {pair.score:g}"
            why = f"A due time is in whole milliseconds, from 1970 to the year 9999. {never}"
        subject = Misplaced(item=member, score=pair.score, is_absent=fault.of is NO_JOB, reason=reason)
        return fault.of.found(what, why=why, subject=subject, about=(bytes_text(pair.id or member),))

    # Jobs: whether each can be read, and whether anything refers to it.

    def _of_job(self, pair: Pair, fault: Fault, *, wide: bool) -> Iterator[Finding]:
        if fault.of is NO_ITEM:
            yield self._no_item(pair, wide=wide)
        elif fault.repairs:
            self._unread[pair.id] = fault, pair.payload or b""
            if len(self._unread) >= MOST_UNREAD:
                yield from self._unreadable()
        else:
            left = self._left.setdefault(fault.of, _Left(kind=fault.of, reason=fault.what))
            left.count += 1
            if len(left.ids) < SUSPECTS:
                left.ids.append(pair.id)

    def _no_item(self, pair: Pair, *, wide: bool) -> Finding:
        id, payload = pair.id, pair.payload or b""
        read = wire.read_payload(payload)
        due = due_again(self.places.codec, id, payload, now_ms=self.places.now_ms)
        cron = f'its cron "{brief_bytes(read.cron.encode("utf-8", "replace"))}"'
        at_once = f"at once, because {cron} names no later time"
        when = at_once if due is None else f"in {age_text(due - self.places.now_ms)}"
        stray = {"id": id, "next": [queue_text(id), "" if due is None else due]}
        return NO_ITEM.found(
            f"job {brief_bytes(id)} {shown(read.job)} waits nowhere, and no listener has it; after a repair, it runs "
            f"{when}",
            why=OVER if due is None else CUT_OFF,
            subject=Loose(stray=stray, wide=wide, lost=self.places.lost),
            about=(bytes_text(id),),
        )

    def _unreadable(self) -> Iterator[Finding]:
        unread, self._unread = self._unread, {}
        items: dict[bytes, list[tuple[bytes, float]]] = {id: [] for id in unread}
        for page in scored_pages(self.places.server, self.places.keys.next) if unread else ():
            for member, score in page:
                if (id := item_id(member)) in items and id is not None:
                    items[id].append((member, score))
        for id, (fault, payload) in unread.items():
            digest = sha1(payload, usedforsecurity=False).hexdigest()
            yield fault.of.found(
                f"job {brief_bytes(id)} cannot be read: {fault.what}",
                why=f"It can never run. Its {len(payload):,} bytes are not lost: a listener that claims it moves them "
                "to the dead set.",
                subject=Unreadable(id=id, digest=digest, items=tuple(items[id]), reason=fault.what),
                about=(bytes_text(id),),
            )

    def _aggregated(self, left: _Left) -> Finding:
        """Report a fault that no repair removes once, for all jobs that have it."""
        name, dialect = self.places.keys.schedule, self.places.codec.dialect
        first = brief_bytes(left.ids[0])
        show = CommandLine(verb="show", schedule=name, which=(id_word(left.ids[0]),))
        advice: tuple[Advice, ...] = (show, "; if nobody should run it: workkit cancel")
        why = (
            "Such a job may be for a foreign peer. A listener without its function leaves it in "
            f"{self.places.keys.next}. A listener with its function moves it to the dead set."
        )
        jobs = tally(left.count, "job", "is", "are")
        what = f"of {tally(left.count, 'job')}, only the function can be read, such as of {first}: {left.reason}"
        if left.kind is OTHER_DIALECT:
            what = f"{jobs} in the other dialect, such as {first}: {left.reason}"
            why = f"Listeners with the dialect {dialect} leave them alone."
            other = "cuckoo" if dialect == "published" else "published"
            again = CommandLine(verb="doctor", schedule=name, options=(("dialect", other),))
            advice = (again, ", and the same for listeners")
        elif left.kind is CRON:
            what = f"{jobs} at times that this dialect cannot read, such as {first}: {left.reason}"
        return left.kind.found(what, *advice, why=why, about=tuple(bytes_text(id) for id in left.ids))


@dataclass(slots=True, kw_only=True)
class _Left:
    """Jobs with the same fault that no repair removes: how many, some of them, and the reason for the first."""

    kind: Kind
    reason: str
    count: int = 0
    ids: list[bytes] = field(default_factory=list)


# Work that is late, and pauses that hold it back.

OVERDUE = Kind(
    "overdue", "hazard", "Work has been due for more than a minute.",
    "No listener is there, or the listeners cannot keep up.",
)  # fmt: skip
PAUSED_WORK = Kind(
    "paused", "hazard", "Work under a pause has been due for more than a minute.",
    "None of them starts before somebody resumes it.",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Late:
    """Counts the work of one schedule that has been due for a long time."""

    places: Places
    late: int = 0
    oldest_ms: int = 0

    def count(self, due_ms: int) -> None:
        """Count an item of `S:next` if it is late."""
        if due_ms < self.places.now_ms - LATE_MS:
            self.oldest_ms = min(self.oldest_ms or due_ms, due_ms)
            self.late += 1

    def findings(self) -> Iterator[Finding]:
        """Add late work of `S:again` and of pauses, and report what is late."""
        k, before = self.places.keys, self.places.now_ms - LATE_MS
        with self.places.server.translated() as client:
            first = client.zrange(k.again, 0, 0, withscores=True)
            again = client.zcount(k.again, "-inf", before)
        if again:
            self.late += again
            self.oldest_ms = min(self.oldest_ms or LAST_MS, max(0, due_ms(repr(first[0][1]))))
        control = standing_control(self.places.server, k.control)
        yield from self._paused(control, before)
        if self.late and "schedule" not in control.paused:
            late = tally(self.late, "job", "is", "are")
            oldest = age_text(self.places.now_ms - self.oldest_ms)
            yield OVERDUE.found(
                f"{late} due for more than a minute; the oldest for {oldest}",
                CommandLine(verb="listen", schedule=k.schedule),
                ", on more machines or with more --threads",
            )

    def _paused(self, control: Control, before: int) -> Iterator[Finding]:
        """Name the pauses under which something is late."""
        k = self.places.keys
        for target, pause in sorted(control.paused.items()):
            with self.places.server.translated() as client:
                bounds = under(f"{PAUSED}{target}".encode("utf-8", "surrogateescape"), before_ms=before)
                late = client.zlexcount(k.waiting, *bounds) + (self.late if target == "schedule" else 0)
            if late:
                kind, _, of = target.partition(":")
                what = {"schedule": k.schedule, "fn": shown(of)}.get(kind, f"job {brief_bytes(of.encode())}")
                which = (of,) if kind not in ("schedule", "fn") else ()
                options = (("fn", of),) if kind == "fn" else ()
                jobs = tally(late, "job", "has", "have")
                yield PAUSED_WORK.found(
                    f"{what} is {pause_text(pause)}; {jobs} been due for more than a minute",
                    CommandLine(verb="resume", schedule=k.schedule, which=which, options=options),
                    about=(target,),
                )


# Repairs.


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A job, an occurrence or a mark to which nothing refers. `stray` is its map for `repair.lua`. `lost`: unlisted
    listeners that hold records. `wide`: see `Places.repair`.
    """

    stray: Mapping[str, Any]
    wide: bool = False
    lost: tuple[str, ...] = ()

    def repair(self, places: Places) -> bool:
        """Put a job back, or remove a mark."""
        return replace(places, lost=self.lost).repair([self.stray], wide=self.wide)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A job with an unreadable payload, the digest of that payload, and the job's items in `S:next`."""

    id: bytes
    digest: str
    items: tuple[tuple[bytes, float], ...] = ()
    reason: str

    def repair(self, places: Places) -> bool:
        """Move it with its items to the dead set."""
        payload = places.payload(self.id)
        if payload is None:
            return False
        if not self.items and not places.repair([{"id": self.id}], wide=True)[0]:
            return self._hurried(places)
        item, score = self.items[0] if self.items else (b"", 0.0)
        entry = Entry(due=score_text(score), item=item)
        dead_id = occurrence(self.id.decode("utf-8", "replace"), entry)
        grave = _grave(self.id, payload, entry, self.reason)
        return _buried(places, [self.id, self.digest, dead_id, grave, *(member for member, _ in self.items)])

    def _hurried(self, places: Places) -> bool:
        """Make the entries of a job in `S:again` due now: a listener that claims one buries it. Return False if no
        entry waits there and a listener holds the job.
        """
        key, any_waits = places.keys.again, False
        for page in scored_pages(places.server, key):
            for text, score in page:
                entry = read_entry(text)
                if entry is not None and item_id(entry.item) == self.id and score > places.now_ms:
                    any_waits = tidy(places, key, ["due", text, repr(score)]) or any_waits
        return any_waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Misplaced:
    """An item of `S:next` that a listener cannot claim as it should. `is_absent`: its job is gone. `reason`: why it
    cannot be read.
    """

    item: bytes
    score: float
    is_absent: bool = False
    reason: str = ""

    def repair(self, places: Places) -> bool:
        """Give an item of a job another due time, remove one without a job, and bury one that cannot be read."""
        id = item_id(self.item)
        if id is None:
            dead_id = sha1(self.item, usedforsecurity=False).hexdigest()
            grave = _grave(b"", None, Entry(due=score_text(self.score), item=self.item), self.reason)
            return _buried(places, ["", "", dead_id, grave, self.item])
        if self.is_absent:
            return self._reschedule(places, id, "-")
        payload = places.payload(id)
        if payload is None:
            return False
        try:
            due = due_again(places.codec, id, payload, now_ms=places.now_ms)
        except CorruptRecord as error:
            if wire.job_of(payload) is not None:  # a foreign peer's job; only a listener with its function may judge it
                whole: int | Literal[""] = math.floor(self.score) if 0 <= self.score <= LAST_MS else ""
                return self._reschedule(places, id, whole)
            digest, items = sha1(payload, usedforsecurity=False).hexdigest(), ((self.item, self.score),)
            return Unreadable(id=id, digest=digest, items=items, reason=str(error)).repair(places)
        return self._reschedule(places, id, "" if due is None else due)

    def _reschedule(self, places: Places, id: bytes, due: int | str) -> bool:
        args = [self.item, repr(self.score), id, due, "", "", "", ""]
        return bool(places.server.run(places.keys, "reschedule", args))


def due_again(codec: Codec, id: bytes, payload: bytes, *, now_ms: int) -> int | None:
    """Find when a job to which nothing refers should run: its next time, or None (at once) if it has none.

    Raises CorruptRecord.
    """
    trigger = codec.decode(id.decode("utf-8", "replace"), payload).trigger
    return None if trigger is None else trigger.next_after_ms(now_ms)


def queue_text(id: bytes) -> bytes:
    """Write the item of a job, even for an id that workkit would not write. Raises UnicodeDecodeError if the id is no
    text.
    """
    return json.dumps({"id": id.decode("utf-8")}, separators=(",", ":")).encode("ascii")


def tidy(places: Places, key: str, args: list[Any]) -> bool:
    """Remove a field or member that has not changed since it was read, or make it due."""
    return bool(places.server.run(places.keys, "tidy", args, key=key))


def _buried(places: Places, args: list[Any]) -> bool:
    return bool(places.server.run(places.keys, "bury", args))


def _grave(id: bytes, payload: bytes | None, entry: Entry, reason: str) -> bytes:
    """Write the record of the dead set, as `settle` writes it for a job that a listener cannot read."""
    failure = Failure(type="CorruptRecord", message=reason)
    return write_grave(id, payload, entry, failure=failure, reason="corrupt")
