"""Check the two published keys: the walker reads them, the judge names the faults, and this module says what to do
about each fault that stops a job. A job that only moves during the check is no fault. Work that is late is a finding
too, and so is a pause that holds it back.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha1

from workkit import wire
from workkit.brokers.native.doctor.fault import Fault
from workkit.brokers.native.doctor.judge import judge, why_unread
from workkit.brokers.native.doctor.repair import Loose, Misplaced, Trouble, Unreadable, due_again, queue_text
from workkit.brokers.native.entry import PAUSED, due_ms, item_id, under
from workkit.brokers.native.look.published import SUSPECTS, Pair, Places, Published
from workkit.brokers.redis_server.control import LAST_MS, standing_control
from workkit.contract.doctor import Finding
from workkit.jobs.admission import Control, pause_text
from workkit.jobs.names import shown
from workkit.text.duration import age_text
from workkit.text.raw import brief_bytes, bytes_text

MOST_UNREAD = 500  # kept in memory with their payloads
CUT_OFF = "The program that added it or ran it was interrupted, or still runs it. It may have run already."
OVER = (
    "If a foreign peer added it for the current second, it never ran: such a peer stores the payload, finds no later "
    "time, and queues no item. Otherwise the program that added it or ran it was interrupted, or still runs it. It may "
    "have run already."
)
LATE_MS = 60_000  # work that has been due for longer than this is a finding


@dataclass(slots=True, kw_only=True)
class Overdue:
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
        """Add what waits in `S:again` and under pauses, and name what is late."""
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
            late = "1 job is" if self.late == 1 else f"{self.late:,} jobs are"
            oldest = age_text(self.places.now_ms - self.oldest_ms)
            yield Finding(
                kind="overdue",
                what=f"{late} due for more than a minute; the oldest for {oldest}",
                why="No listener is there, or the listeners cannot keep up.",
                remedy=f"workkit listen {k.schedule}, on more machines or with more --threads",
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
                which = {"schedule": "", "fn": f" --fn {shlex.quote(of)}"}.get(kind, f" {shlex.quote(of)}")
                jobs = "1 job has" if late == 1 else f"{late:,} jobs have"
                yield Finding(
                    kind="paused",
                    what=f"{what} is {pause_text(pause)}; {jobs} been due for more than a minute",
                    why="None of them starts before somebody resumes it.",
                    remedy=f"workkit resume {k.schedule}{which}",
                    about=(target,),
                )


@dataclass(slots=True, kw_only=True)
class _Left:
    """Jobs with the same fault that no repair removes: how many, some of them, and the reason for the first."""

    reason: str
    count: int = 0
    ids: list[bytes] = field(default_factory=list)

    @property
    def jobs(self) -> str:
        return "1 job" if self.count == 1 else f"{self.count:,} jobs"


@dataclass(slots=True, kw_only=True)
class Inventory:
    """One check of `S:jobs` and `S:next`. `skipped`: jobs that no listener can run. They do not count as late here."""

    places: Places
    patience_ms: int
    skipped: frozenset[bytes] = frozenset()
    _left: dict[str, _Left] = field(default_factory=dict)  # by the kind of the fault
    _unread: dict[bytes, tuple[Fault, bytes]] = field(default_factory=dict)  # a repair buries them: fault and payload

    @property
    def _fix(self) -> str:
        return f"workkit doctor {self.places.keys.schedule} --fix"

    def findings(self) -> Iterator[Finding]:
        """Name, for each job and for each item, the first fault that stops it."""
        overdue = Overdue(places=self.places)
        walker = Published(places=self.places, finds_unlisted=False)
        for pair in walker.pairs(soonest_first=False):
            stops = self._stops(pair)
            if (fault := stops.get("item")) is not None:
                yield self._of_item(pair, fault)
            elif pair.item is not None and pair.payload is not None and pair.id not in self.skipped:
                overdue.count(int(pair.score))
            if (fault := stops.get("job")) is not None:
                yield from self._of_job(pair, fault, wide=walker.is_wide(pair.id))
        yield from self._unreadable()
        yield from self._aggregated()
        yield from overdue.findings()

    def _stops(self, pair: Pair) -> dict[str, Fault]:
        """Find the first fault that stops the job, and the first that stops the item."""
        faults = judge(
            pair,
            dialect=self.places.codec.dialect,
            now_ms=self.places.now_ms,
            patience_ms=self.patience_ms,
            thorough=False,
        )
        found: dict[str, Fault] = {}
        for fault in faults:
            if fault.stops:
                found.setdefault(fault.half, fault)
        return found

    # Items: the job and the due time of each.

    def _of_item(self, pair: Pair, fault: Fault) -> Finding:
        member, k, reason = pair.item or b"", self.places.keys, ""
        match fault.kind:
            case "item":
                reason = why_unread(member)
                what = f"item {brief_bytes(member)} in {k.next} cannot be read: {reason}"
                why = "No listener can tell which job it names. The next one that claims it moves it to the dead set."
            case "no-job":
                what = (
                    f"item {brief_bytes(member)} in {k.next} points to no job: {k.jobs} has no {brief_bytes(pair.id)}"
                )
                why = "It has no job that could run. A person, or a program that left the item, removed the job."
            case _:
                never = "It is never due." if pair.score > LAST_MS else "It runs at once, whatever its job says."
                what = f"job {brief_bytes(pair.id)} is in {k.next} with the due time {pair.score:g}"
                why = f"A due time is in whole milliseconds, from 1970 to the year 9999. {never}"
        return Finding(
            kind=fault.kind,
            what=what,
            why=why,
            remedy=self._fix,
            repairs=True,
            subject=Misplaced(item=member, score=pair.score, trouble=_TROUBLES.get(fault.kind, "score"), reason=reason),
            about=(bytes_text(pair.id or member),),
        )

    # Jobs: whether they can be read, and whether anything refers to them.

    def _of_job(self, pair: Pair, fault: Fault, *, wide: bool) -> Iterator[Finding]:
        if fault.kind == "no-item":
            yield self._no_item(pair, wide=wide)
        elif fault.repairs:
            self._unread[pair.id] = fault, pair.payload or b""
            if len(self._unread) >= MOST_UNREAD:
                yield from self._unreadable()
        else:
            left = self._left.setdefault(fault.kind, _Left(reason=fault.what))
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
        return Finding(
            kind="no-item",
            what=f"job {brief_bytes(id)} {shown(read.job)} waits nowhere, and no listener has it; "
            f"after a repair, it runs {when}",
            why=OVER if due is None else CUT_OFF,
            remedy=self._fix,
            repairs=True,
            subject=Loose(
                stray={"id": id, "next": [queue_text(id), "" if due is None else due]},
                wide=wide,
                lost=self.places.lost,
            ),
            about=(bytes_text(id),),
        )

    def _unreadable(self) -> Iterator[Finding]:
        unread, self._unread = self._unread, {}
        items = self._items_of(set(unread))
        for id, (fault, payload) in unread.items():
            yield Finding(
                kind=fault.kind,
                what=f"job {brief_bytes(id)} cannot be read: {fault.what}",
                why=f"It can never run. Its {len(payload):,} bytes are not lost: a listener that claims it moves them "
                "to the dead set.",
                remedy=self._fix,
                repairs=True,
                subject=Unreadable(
                    id=id,
                    digest=sha1(payload, usedforsecurity=False).hexdigest(),
                    items=tuple(items.get(id, ())),
                    reason=fault.what,
                ),
                about=(bytes_text(id),),
            )

    def _items_of(self, ids: set[bytes]) -> dict[bytes, list[tuple[bytes, float]]]:
        found: dict[bytes, list[tuple[bytes, float]]] = {}
        for page in self.places.scored_pages(self.places.keys.next) if ids else ():
            for member, score in page:
                if (id := item_id(member)) in ids and id is not None:
                    found.setdefault(id, []).append((member, score))
        return found

    def _aggregated(self) -> Iterator[Finding]:
        """Name each fault that no repair removes once, for all jobs that have it."""
        name, dialect = self.places.keys.schedule, self.places.codec.dialect
        other = "cuckoo" if dialect == "published" else "published"
        for kind, left in sorted(self._left.items()):
            first = brief_bytes(left.ids[0])
            show = f"workkit show {name} {first}; if nobody should run it: workkit cancel"
            foreign = (
                "Such a job may be for a foreign peer. A listener without its function leaves it in "
                f"{self.places.keys.next}. A listener with its function moves it to the dead set."
            )
            verb = "is" if left.count == 1 else "are"
            what, why, remedy = {
                "other-dialect": (
                    f"{left.jobs} {verb} in the other dialect, such as {first}: {left.reason}",
                    f"Listeners with the dialect {dialect} leave them alone.",
                    f"workkit doctor {name} --dialect {other}, and the same for listeners",
                ),
                "cron": (
                    f"{left.jobs} {verb} at times that this dialect cannot read, such as {first}: {left.reason}",
                    foreign,
                    show,
                ),
            }.get(
                kind,
                (f"of {left.jobs}, only the function can be read, such as of {first}: {left.reason}", foreign, show),
            )
            yield Finding(kind=kind, what=what, why=why, remedy=remedy, about=tuple(bytes_text(id) for id in left.ids))


_TROUBLES: Mapping[str, Trouble] = {"item": "unreadable", "no-job": "absent"}
