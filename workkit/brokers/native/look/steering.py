"""Steering a native schedule by hand: pauses, runs left out or run once now, its own limits, and what did not run.

Python reads and decides, one script moves. Everything here may be asked again.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit.brokers.native.codec import Codec, at, instant, is_once
from workkit.brokers.native.control_key import read_control, write_pause
from workkit.brokers.native.entry import Entry, due_ms, read_entry
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import PAUSED, Parked, parked_text, read_parked, under
from workkit.brokers.native.record import read_count
from workkit.brokers.native.settle import TO_THE_END, occurrence
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.broker import Missed
from workkit.errors import CorruptRecord, InvalidOptions, NotFound
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.recurrence import next_run, spread_offset_ms

PAGE = 500
STALE_MS = 5_000  # half of the default listener_timeout: an older beat says nothing of today
TRIES = 5  # of a step whose ground moves
JOB = "job:"
GLOB, GLOB_ESCAPED = re.compile(r"([*?\[\]\\^-])"), r"\\\1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """One schedule, to be steered. Targets are those of `Control`."""

    server: Server
    keys: Keys
    codec: Codec

    def control(self) -> Control:
        """What is paused, without what has lapsed, and the schedule's own limits."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.time()
            pipe.hgetall(self.keys.control)
            (seconds, micros), fields = pipe.execute()
        now = int(seconds) * 1000 + int(micros) // 1000
        _, control = read_control([part for pair in fields.items() for part in pair])
        standing = {t: p for t, p in control.paused.items() if p.until_ms is None or p.until_ms > now}
        return replace(control, paused=standing)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits, where they are not these."""
        args = ["" if limit is None else limit, "" if turn_ms is None else repr(float(turn_ms))]
        self._script("declare", args)

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target; what waits of a job is parked at once."""
        id = self._id(target) if target.startswith(JOB) else ""
        items = (standing(self.server, self.keys, id) or [plain_item(id)]) if id else []
        args: list[Any] = [target, write_pause(pause), id, len(items), *items]
        for entry in self._owed(id) if id else ():
            # It carries the chain. One occurrence, or one with a slot that others wait for, is parked when claimed
            if entry.kind == "r" and all(key.startswith(TO_THE_END) for key, _ in entry.slots):
                args += [entry.encode(), parked_text(PAUSED + target, occurrence(id, entry), entry)]
        self._script("pause", args)

    def resume(self, target: str, *, lapsed: bool = False) -> bool:
        """The inverse: what was parked comes back. False: it was not paused. `lapsed`: only where its time has passed.

        Where an earlier call was cut off, this one goes on.
        """
        return self._resume(target, "lapsed" if lapsed else "end")

    def put_back(self, target: str) -> bool:
        """Put back what is parked under a pause that does not stand. False: there was nothing, or it stands."""
        return self._resume(target, "rest")

    def _resume(self, target: str, mode: str) -> bool:
        key, has_resumed = (PAUSED + target).encode("utf-8", "surrogateescape"), False
        while True:
            moves = self._moves(target, self.parked(key, most=PAGE))
            packed = msgpack.packb(moves, use_bin_type=False)
            was, moved, left = self._script("resume", [target, mode, packed])
            has_resumed = has_resumed or bool(was) or bool(moved)
            if not left or (mode == "rest" and not moved):
                return has_resumed
            mode = "rest"

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job. Raises NotFound where it waits no more, InvalidOptions where no
        run comes after it.
        """
        now = self._now_ms()
        for _ in range(TRIES):
            for item, score in self._standing(job.id):
                due = _following(job, due_ms=due_ms(repr(score)), now_ms=now)
                if due is None:
                    raise InvalidOptions(
                        f"{_named(job)} has no run after the next one. "
                        f"Take it out: workkit cancel {job.schedule} {job.id[:8]}.",
                        given=job.id,
                    )
                if self._script("reschedule", [item, repr(score), job.id, due]):
                    return at(job, due, state="waiting", attempt=0, error=None, failure=None, progress=None)
            if not self._standing(job.id):
                break
        if self.parked(f"{PAUSED}{JOB}{job.terms.name or job.id}".encode("utf-8", "surrogateescape"), most=1):
            raise InvalidOptions(
                f"{_named(job)} is paused, and runs at its next time once it is resumed. "
                f"Resume it: workkit resume {job.schedule} {job.id[:8]}.",
                given=job.id,
            )
        raise NotFound(f"{_named(job)} waits no more in {job.schedule}: a listener has its next run.", given=job.id)

    def run(self, job: Job) -> Job:
        """Run a job once now. Raises NotFound where it is gone, or waits no more; InvalidOptions where it recurs and no
        listener can run it: a run of its own is for listeners only.
        """
        now = self._now_ms()
        if is_once(job) or job.trigger is None:
            owed = [entry.encode() for entry in self._owed(job.id)]
            items = standing(self.server, self.keys, job.id) or [plain_item(job.id)]
            args: list[Any] = [job.id, now, "", *items, *owed]
        else:
            if count := self._unable(job.id, now):
                them = "the listener" if count == 1 else f"any of the {count} listeners"
                raise InvalidOptions(
                    f"{_named(job)} cannot be run by {them}, and foreign peers run it at its own times only.",
                    given=job.id,
                )
            item = plain_item(job.id)
            entry = Entry(kind="o", due=str(now), flags=f"-#{secrets.token_hex(6)}", item=item)
            args = [job.id, now, occurrence(job.id, entry), entry.encode()]
        if not self._script("run", args):
            raise NotFound(f"{_named(job)} waits no more in {job.schedule}.", given=job.id)
        return at(job, now, state="due", attempt=0, error=None, failure=None, progress=None)

    def missed(self) -> Iterator[Missed]:
        """Occurrences that did not run, the last one first."""
        upto = "+"
        while True:
            with self.server.translated() as client:
                page = client.xrevrange(self.keys.missed, max=upto, count=PAGE)
            for number, fields in page:
                upto = f"({number.decode()}"
                if (missed := read_missed(fields)) is not None:
                    yield missed
            if len(page) < PAGE:
                return

    def parked(self, key: bytes, *, most: int) -> list[Parked]:
        """What is parked under a key, soonest first."""
        with self.server.translated() as client:
            texts = client.zrangebylex(self.keys.waiting, *under(key), start=0, num=most)
        return [parked for text in texts if (parked := read_parked(text)) is not None]

    def all_parked(self) -> Iterator[Parked]:
        """Everything that is parked, by key, of each the soonest first."""
        start = 0
        while True:
            with self.server.translated() as client:
                page = client.zrange(self.keys.waiting, start, start + PAGE - 1)
            yield from (parked for text in page if (parked := read_parked(text)) is not None)
            if len(page) < PAGE:
                return
            start += PAGE

    def _moves(self, target: str, page: Sequence[Parked]) -> list[tuple[bytes, bytes, int, str, int]]:
        """Where what is parked goes: what a listener had claimed, among our own; the item of a job, to the queue."""
        now, moves, is_job = self._now_ms(), [], target.startswith(JOB)
        jobs = self._jobs({id for p in page if (id := item_id(p.entry.item)) is not None})
        for p in page:
            entry, due_ms = p.entry, p.entry.due_ms
            job = jobs.get(item_id(entry.item) or b"")
            untouched = entry.is_regular and not entry.crashes and item_id(entry.item) is not None
            carries = is_job and entry.kind == "r" and job is not None and not is_once(job)
            if untouched or carries:
                due = _next_after(job, now) if carries and job is not None and due_ms <= now else None
                level = 0 if job is None else job.terms.priority or 0
                moves.append((p.text, entry.item, due_ms if due is None else due, "next", level))
            else:
                moves.append((p.text, entry.encode(), due_ms, "again", 0))
        return moves

    def _jobs(self, ids: set[bytes]) -> dict[bytes, Job]:
        """The jobs that can be read; the others are for a listener to bury."""
        order, found = sorted(ids), {}
        with self.server.translated() as client:
            payloads = client.hmget(self.keys.jobs, order) if order else []
        for id, payload in zip(order, payloads, strict=True):
            try:
                if payload is not None:
                    found[id] = self.codec.decode(id.decode("utf-8", "replace"), payload)
            except CorruptRecord:
                continue
        return found

    def _id(self, target: str) -> str:
        """The id of the job that a target means."""
        of = target.removeprefix(JOB)
        with self.server.translated() as client:
            named: bytes | None = client.hget(self.keys.names, of)
        return named.partition(b" ")[0].decode("utf-8", "replace") if named else of

    def _standing(self, id: str) -> list[tuple[bytes, float]]:
        """The items of a job in `S:next`, and their scores."""
        items = standing(self.server, self.keys, id) or [plain_item(id)]
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.next, items)
        return [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]

    def _owed(self, id: str) -> list[Entry]:
        """The entries of a job in `S:again`."""
        cursor, found, wanted = 0, {}, id.encode("utf-8", "surrogateescape")
        while True:
            with self.server.translated() as client:
                cursor, page = client.zscan(self.keys.again, cursor, count=PAGE)
            for text, _ in page:
                entry = read_entry(text)
                if entry is not None and item_id(entry.item) == wanted:
                    found[text] = entry
            if not cursor:
                return list(found.values())

    def _unable(self, id: str, now_ms: int) -> int:
        """How many listeners beat, where each of them has found that it cannot run this job; else 0."""
        k = self.keys
        with self.server.translated() as client:
            live = client.zrangebyscore(k.listeners, now_ms - STALE_MS, "+inf")
            pipe = client.pipeline(transaction=False)
            for name in live:
                pipe.sismember(k.skip("").encode() + name, id)  # a name may be any bytes
            return len(live) if live and all(pipe.execute()) else 0

    def _script(self, verb: str, args: Sequence[Any]) -> Any:
        script = load("native")[verb]
        return self.server.call(script, script.keys(self.keys), args)

    def _now_ms(self) -> int:
        with self.server.translated() as client:
            seconds, micros = client.time()
        return int(seconds) * 1000 + int(micros) // 1000


def read_missed(fields: Mapping[bytes, bytes]) -> Missed | None:
    """An entry of `S:missed`; None where it is none of ours."""
    said = {key: value.decode("utf-8", "replace") for key, value in fields.items()}
    due, times = instant(due_ms(said.get(b"due", ""))), read_count(fields.get(b"times", b"1"))
    if due is None or times is None or not {b"id", b"fn", b"reason", b"due"} <= said.keys():
        return None
    name = said.get(b"name") or None
    return Missed(id=said[b"id"], name=name, fn=said[b"fn"], due=due, reason=said[b"reason"], times=times)


def pause_of(job: Job, control: Control) -> Pause | None:
    """The pause under which a job waits, if there is one."""
    targets = ("schedule", f"{JOB}{job.terms.name or job.id}", f"fn:{job.fn}")
    return next((control.paused[target] for target in targets if target in control.paused), None)


def said_of(pause: Pause) -> str:
    """A pause in words, after the thing that is paused: ``paused until 2026-11-23 09:00:00 UTC: migration``."""
    until = None if pause.until_ms is None else instant(pause.until_ms)
    till = f" until {until:%Y-%m-%d %H:%M:%S} UTC" if until else ""
    return f"paused{till}" + (f": {pause.reason}" if pause.reason else "")


def plain_item(id: str) -> bytes:
    """The usual text of an item, whatever a foreign peer takes for an id."""
    return f'{{"id":"{id}"}}'.encode("utf-8", "surrogateescape")


def standing(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Other texts under which an item of a job stands, after a foreign peer has put it back; none where ours stands."""
    with server.translated() as client:
        if client.zscore(keys.next, plain_item(id)) is not None:
            return []
        like, wanted = f"*{GLOB.sub(GLOB_ESCAPED, id)}*", id.encode("utf-8", "surrogateescape")
        found = {text for text, _ in client.zscan_iter(keys.next, match=like, count=PAGE)}
        return sorted(text for text in found if item_id(text) == wanted)


def _next_after(job: Job, ms: int) -> int | None:
    """The first regular time of a job after another, its own part of its spread on top."""
    if job.trigger is None:
        return None
    offset = spread_offset_ms(job.terms, job.fn, job.args)
    found = job.trigger.next_after_ms(ms - offset)
    return None if found is None else found + offset


def _following(job: Job, *, due_ms: int, now_ms: int) -> int | None:
    """When the run after the one due at `due_ms` is due, as a listener would put it back."""
    if job.trigger is None:
        return None
    offset = spread_offset_ms(job.terms, job.fn, job.args)
    return next_run(job.trigger, due_ms=due_ms, now_ms=now_ms, terms=job.terms, offset_ms=offset).due_ms


def _named(job: Job) -> str:
    return f"{job.id[:8]} {shown(job.fn)}"
