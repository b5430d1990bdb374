"""Looking over the two published keys: jobs that nothing refers to, what cannot be read, items without a job or without
a usable due time, and work that is late. Nothing is called wrong that was only on its way while we looked.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1

from workkit import wire
from workkit.brokers.native.care.repair import Loose, Misplaced, Unreadable, queue_text
from workkit.brokers.native.entry import LAST_MS, due_ms
from workkit.brokers.native.look.location import Places, is_ours, is_text, item_id
from workkit.brokers.native.look.parked import PAUSED, under
from workkit.brokers.native.look.steering import Steering, said_of
from workkit.contract.broker import Finding
from workkit.errors import CorruptRecord, OtherDialect
from workkit.jobs.admission import Control
from workkit.jobs.names import shown
from workkit.text.duration import age_text

LATE_MS = 60_000  # due for longer than this is worth a finding
MOMENT = 1.0  # seconds between two looks: a foreign peer takes an item and puts the next one back in two steps
SUSPECTS = 20_000  # kept in mind at once
CUT_OFF = "Whoever added or ran it was cut off in the middle, or still has it; it may have run already."
OVER = (
    "It never ran where a foreign peer added it for the current second: such a peer stores the payload, finds no later "
    "time, and queues no item. Else whoever added or ran it was cut off in the middle, or still has it; then it may "
    "have run already."
)
_FIXED = re.compile(r"(\d{4}) (\d\d?) (\d\d?) \* (\d\d?) (\d\d?) (\d\d?)")


@dataclass(slots=True, kw_only=True)
class Inventory:
    """One look over `S:jobs` and `S:next`. `skipped` are jobs that no listener can run: not counted as late here."""

    places: Places
    patience_ms: int
    skipped: frozenset[bytes] = frozenset()
    late: int = 0
    oldest_ms: int = 0
    wide: bool = False  # whether S:next holds items under other texts than ours
    _foreign: int = 0  # jobs whose cron stands in the other order, the last of them with this reason
    _reason: str = ""
    _unclear: int = 0  # jobs of which only the function can be read; some of them, and why not the first
    _unclear_ids: list[bytes] = field(default_factory=list)
    _why: str = ""
    _unread: dict[bytes, str] = field(default_factory=dict)  # why a job cannot be read
    _loose: dict[bytes, int | None] = field(default_factory=dict)  # when a job without an item of ours is due next

    @property
    def _fix(self) -> str:
        return f"workkit doctor {self.places.keys.schedule} --fix"

    def findings(self) -> Iterator[Finding]:
        """Items first, then jobs, then what is late."""
        for page in self.places.scored_pages(self.places.keys.next):
            yield from self._items(page)
        for jobs in self.places.hash_pages(self.places.keys.jobs):
            self._jobs(jobs)
            if len(self._unread) + len(self._loose) >= SUSPECTS:
                yield from self._judged()
        yield from self._judged()
        yield from self._in_the_other_order()
        yield from self._understood_in_part()
        yield from self._overdue()

    # Items: what they point to, and when.

    def _items(self, page: list[tuple[bytes, float]]) -> Iterator[Finding]:
        ids = [item_id(member) for member, _ in page]
        known = self.places.piped(lambda pipe: [pipe.hexists(self.places.keys.jobs, id or b"") for id in ids])
        for (member, score), id, exists in zip(page, ids, known, strict=True):
            self.wide = self.wide or not is_ours(member)
            if id is None:
                yield self._unreadable_item(member, score)
            elif not exists:
                yield from self._absent(member, score, id)
            elif not (0 <= score <= LAST_MS and score == int(score)):
                yield self._odd(member, score, id)
            elif score < self.places.now_ms - LATE_MS and id not in self.skipped:
                self._count_late(int(score))

    def _unreadable_item(self, member: bytes, score: float) -> Finding:
        try:
            wire.read_item(member)
            reason = "queue item: no id that the server can read"
        except CorruptRecord as error:
            reason = str(error)
        return Finding(
            kind="unreadable",
            what=f"item {brief(member)} in {self.places.keys.next} cannot be read: {reason}",
            why="No listener can tell which job it means. The next one that comes to it moves it to the dead set.",
            remedy=self._fix,
            repairs=True,
            subject=Misplaced(item=member, score=score, trouble="unreadable", reason=reason),
            about=(text(member),),
        )

    def _absent(self, member: bytes, score: float, id: bytes) -> Iterator[Finding]:
        """An item whose payload is gone, unless the job merely ended between our two reads."""
        k = self.places.keys
        stands, exists = self.places.piped(lambda p: (p.zscore(k.next, member), p.hexists(k.jobs, id)), whole=True)
        if stands is None or exists:
            return
        yield Finding(
            kind="no-payload",
            what=f"item {brief(member)} in {k.next} points to no job: {k.jobs} has no {brief(id)}",
            why="Nothing can be run for it. Its job was removed by hand, or by a program that left the item behind.",
            remedy=self._fix,
            repairs=True,
            subject=Misplaced(item=member, score=score, trouble="absent"),
            about=(text(id),),
        )

    def _odd(self, member: bytes, score: float, id: bytes) -> Finding:
        never = "It never comes to be due." if score > LAST_MS else "It runs at once, whatever its job says."
        return Finding(
            kind="score",
            what=f"job {brief(id)} stands in {self.places.keys.next} with {score:g} as its due time",
            why=f"That is no time in whole milliseconds since 1970. {never}",
            remedy=self._fix,
            repairs=True,
            subject=Misplaced(item=member, score=score, trouble="score"),
            about=(text(id),),
        )

    def _count_late(self, due_ms: int) -> None:
        self.oldest_ms = min(self.oldest_ms or due_ms, due_ms)
        self.late += 1

    def _overdue(self) -> Iterator[Finding]:
        k, before = self.places.keys, self.places.now_ms - LATE_MS
        with self.places.server.translated() as client:
            first = client.zrange(k.again, 0, 0, withscores=True)
            again = client.zcount(k.again, "-inf", before)
        if again:
            self.late += again
            self.oldest_ms = min(self.oldest_ms or LAST_MS, max(0, due_ms(repr(first[0][1]))))
        control = Steering(server=self.places.server, keys=k, codec=self.places.codec).control()
        yield from self._paused(control, before)
        if self.late and "schedule" not in control.paused:
            late = "1 job is" if self.late == 1 else f"{self.late:,} jobs are"
            oldest = age_text(self.places.now_ms - self.oldest_ms)
            yield Finding(
                kind="overdue",
                what=f"{late} due for more than a minute; the oldest for {oldest}",
                why="Either no listener is there, or those that are cannot keep up.",
                remedy=f"workkit listen {k.schedule}, on more machines or with more --threads",
            )

    def _paused(self, control: Control, before: int) -> Iterator[Finding]:
        """Pauses under which something has been due for long."""
        k = self.places.keys
        for target, pause in sorted(control.paused.items()):
            with self.places.server.translated() as client:
                bounds = under(f"{PAUSED}{target}".encode("utf-8", "surrogateescape"), before_ms=before)
                late = client.zlexcount(k.waiting, *bounds) + (self.late if target == "schedule" else 0)
            if late:
                kind, _, of = target.partition(":")
                what = {"schedule": k.schedule, "fn": shown(of)}.get(kind, f"job {brief(of.encode())}")
                which = {"schedule": "", "fn": f" --fn {shlex.quote(of)}"}.get(kind, f" {shlex.quote(of)}")
                jobs = "1 job has" if late == 1 else f"{late:,} jobs have"
                yield Finding(
                    kind="paused",
                    what=f"{what} is {said_of(pause)}; {jobs} been due for more than a minute",
                    why="Nothing of it starts before it is resumed.",
                    remedy=f"workkit resume {k.schedule}{which}",
                    about=(target,),
                )

    def _in_the_other_order(self) -> Iterator[Finding]:
        if not self._foreign:
            return
        other = "cuckoo" if self.places.codec.dialect == "published" else "published"
        jobs = "1 job is" if self._foreign == 1 else f"{self._foreign:,} jobs are"
        yield Finding(
            kind="other-dialect",
            what=f"{jobs} written for listeners of another dialect: {self._reason}",
            why=f"Listeners with the dialect {self.places.codec.dialect} leave them alone.",
            remedy=f"workkit doctor {self.places.keys.schedule} --dialect {other}, and the same for listeners",
        )

    def _understood_in_part(self) -> Iterator[Finding]:
        if not self._unclear:
            return
        id = self._unclear_ids[0]
        jobs = "1 job" if self._unclear == 1 else f"{self._unclear:,} jobs"
        yield Finding(
            kind="unclear",
            what=f"{jobs} can be read by function only, {brief(id)} for one: {self._why}",
            why="Such a job may be for a foreign peer: a listener without its function leaves it in "
            f"{self.places.keys.next}. A listener with its function moves it to the dead set.",
            remedy=f"workkit show {self.places.keys.schedule} {brief(id)}; if nobody is to run it: workkit cancel",
            about=tuple(text(id) for id in self._unclear_ids),
        )

    # Jobs: whether they can be read, and whether anything refers to them.

    def _jobs(self, page: dict[bytes, bytes]) -> None:
        ids = list(page)
        with self.places.server.translated() as client:
            scores = client.zmscore(self.places.keys.next, [b'{"id":"%b"}' % id for id in ids])
        for id, score in zip(ids, scores, strict=True):
            try:
                times = self._times(id, page[id])
            except OtherDialect as error:
                self._foreign, self._reason = self._foreign + 1, str(error)
                continue
            except CorruptRecord as error:
                if is_text(id) and wire.job_of(page[id]) is not None:
                    self._unclear, self._why = self._unclear + 1, self._why or str(error)
                    if len(self._unclear_ids) < SUSPECTS:
                        self._unclear_ids.append(id)
                else:
                    self._unread[id] = str(error)
                continue
            if score is None:
                due = times(self.places.now_ms)
                if due is not None or times(self.places.now_ms - self.patience_ms) is None:
                    self._loose[id] = due  # later, a foreign peer may have it in hand

    def _times(self, id: bytes, payload: bytes) -> Callable[[int], int | None]:
        """When a job runs next after a time. Raises CorruptRecord where it cannot be read."""
        try:
            name = id.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptRecord("its id is not text, so that no item can point to it") from error
        read = wire.read_payload(payload)
        fixed = _FIXED.fullmatch(read.cron)
        if fixed and not read.extra and self.places.codec.dialect == "published":
            with suppress(ValueError):  # no such day: the codec has the last word
                year, month, day, hour, minute, second = map(int, fixed.groups())
                ms = round(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() * 1000)
                return lambda after: ms if ms > after else None
        trigger = self.places.codec.decode(name, payload).trigger
        assert trigger is not None
        return trigger.next_after_ms

    def _judged(self) -> Iterator[Finding]:
        unread, loose = self._unread, self._loose
        self._unread, self._loose = {}, {}
        yield from self._told(unread)
        yield from self._orphans(loose)

    def _told(self, unread: dict[bytes, str]) -> Iterator[Finding]:
        items = self._items_of(set(unread))
        for id, reason in unread.items():
            payload = self.places.payload(id)
            if payload is None:  # buried meanwhile
                continue
            yield Finding(
                kind="unreadable",
                what=f"job {brief(id)} cannot be read: {reason}",
                why=f"It can never run. Its {len(payload):,} bytes are not lost: a listener that comes to it moves "
                "them to the dead set.",
                remedy=self._fix,
                repairs=True,
                subject=Unreadable(
                    id=id,
                    digest=sha1(payload, usedforsecurity=False).hexdigest(),
                    items=tuple(items.get(id, ())),
                    reason=reason,
                ),
                about=(text(id),),
            )

    def _items_of(self, ids: set[bytes]) -> dict[bytes, list[tuple[bytes, float]]]:
        found: dict[bytes, list[tuple[bytes, float]]] = {}
        for page in self.places.scored_pages(self.places.keys.next) if ids else ():
            for member, score in page:
                if (id := item_id(member)) in ids and id is not None:
                    found.setdefault(id, []).append((member, score))
        return found

    def _orphans(self, loose: dict[bytes, int | None]) -> Iterator[Finding]:
        """Two looks, each in one step and a moment apart, at what still seems to stand nowhere."""
        left = set(loose)
        self.places.referred(ids=left, runs=set())
        wide = self.wide or any(len(id) != 40 for id in left)
        left = self._unreferred(left, wide=wide)
        if left:
            time.sleep(MOMENT)
        for id in sorted(self._unreferred(left, wide=wide)):
            yield self._orphan(id, loose[id], wide=wide)

    def _unreferred(self, ids: set[bytes], *, wide: bool) -> set[bytes]:
        asked = sorted(ids)
        answers = self.places.mend([{"id": id} for id in asked], wide=wide)
        return {id for id, is_loose in zip(asked, answers, strict=True) if is_loose}

    def _orphan(self, id: bytes, due: int | None, *, wide: bool) -> Finding:
        payload = self.places.payload(id) or b"{}"
        try:
            read = wire.read_payload(payload)
            fn, cron = shown(read.job), f'its cron "{brief(read.cron.encode("utf-8", "replace"))}"'
        except CorruptRecord:
            fn, cron = "?", "its cron"
        when = f"at once, as {cron} names no later time" if due is None else f"in {age_text(due - self.places.now_ms)}"
        return Finding(
            kind="orphan",
            what=f"job {brief(id)} {fn} waits nowhere, and no listener has it; put back, it runs {when}",
            why=OVER if due is None else CUT_OFF,
            remedy=self._fix,
            repairs=True,
            subject=Loose(
                stray={"id": id, "next": [queue_text(id), "" if due is None else due]},
                wide=wide,
                lost=self.places.lost,
            ),
            about=(text(id),),
        )


def text(data: bytes) -> str:
    """Bytes as text that can be read and told apart, at most 200 characters of it."""
    return data[:200].decode("utf-8", "backslashreplace")


def brief(data: bytes) -> str:
    """Bytes in a sentence: an id by its beginning, anything else by up to 60 characters."""
    said = text(data)
    if re.fullmatch(r"[0-9a-f]{40}", said):
        return said[:8]
    return said if len(said) <= 60 else said[:57] + "..."
