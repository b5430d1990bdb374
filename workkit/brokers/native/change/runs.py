"""Change the runs of a native schedule's jobs: leave out the next run, give it another time, run a job once more now,
or undo such a change. Pause and resume a schedule, a function or a job.

Python reads and decides; one script makes the change. A pause may be repeated.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workkit.brokers.native.additions import Additions
from workkit.brokers.native.changes import Act, job_target, packed_change
from workkit.brokers.native.codec import Codec, at_due, is_once
from workkit.brokers.native.entry import PAUSED, Entry, Parked, due_ms, item_id, parked_text, plain_item
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import (
    JOB,
    other_items,
    owed_entries,
    parked_under,
    record_rows,
    standing_items,
)
from workkit.brokers.native.results import skip_row
from workkit.brokers.native.settle import TO_THE_END, deadline_name, occurrence
from workkit.brokers.redis_server.control import pack, read_history, write_pause
from workkit.brokers.redis_server.pages import PAGE, piped, server_ms
from workkit.brokers.redis_server.server import Server, ServerClock
from workkit.contract.admin import Author, Undo
from workkit.contract.producer import NewJob
from workkit.contract.record import words_of
from workkit.errors import ChangedMeanwhile, CorruptRecord, InvalidOptions, NotFound
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown
from workkit.jobs.terms import deadline_ms, instant_of, next_run, spread_offset_ms
from workkit.triggers import Trigger

STALE_MS = 5_000  # half of the default listener_timeout: a listener with an older heartbeat may be dead
TRIES = 5  # tries of one step, if its job moves meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Changes the runs of one schedule's jobs."""

    server: Server
    keys: Keys
    codec: Codec

    def skip(self, job: Job, *, author: Author | None, undoable: bool = False) -> tuple[Job, int, bytes]:
        """Skip the next run of a recurring job: see `NextRun`. Return the job as it waits afterwards, the due time of
        that run in ms, and with `undoable` the value that undoes it.

        Raises InvalidOptions if no run comes after it.
        """
        k, now = self.keys, server_ms(self.server)
        for _ in range(TRIES):
            for item, score in standing_items(self.server, k, job.id):
                due = _following(job, due_ms=due_ms(repr(score)), now_ms=now)
                if due is None:
                    raise InvalidOptions(
                        f"{_named(job)} has no run after the next one. "
                        f"Take it out: workkit cancel {job.schedule} {job.id[:8]}.",
                        given=job.id,
                    )
                stood = due_ms(repr(score))
                act = Act(verb="skip", target=job_target(job), job=job, before={"due": stood}, after={"due": due})
                ran, change = self._left_out(job, stood), packed_change(author, act)
                args: list[Any] = [item, repr(score), job.id, due, ran, change, 1 if undoable else "", _by(job, due)]
                if reply := self.server.run(self.keys, "reschedule", args):
                    after = at_due(job, due, state="waiting", attempt=0, error=None, failure=None, progress=None)
                    return after, stood, _undoing(reply)
            if not standing_items(self.server, k, job.id):
                break
        raise self._gone(job)

    def snooze(self, jobs: Sequence[Job], time_ms: int, *, author: Author | None, dry_run: bool) -> list[Job]:
        """Put off the next run of each job, all in one step: see `Later`."""
        k, args = self.keys, list[Any]()
        for _ in range(TRIES):
            now, rows, moved = server_ms(self.server), list[list[Any]](), list[Job]()
            for job in jobs:
                standing = next(iter(standing_items(self.server, k, job.id)), None)
                if standing is None:
                    raise self._gone(job)
                item, score = standing
                stood = due_ms(repr(score))
                due = max(stood, now) + time_ms
                act = Act(verb="snooze", target=job_target(job), job=job, before={"due": stood}, after={"due": due})
                rows.append([item, repr(score), job.id, due, packed_change(author, act), _by(job, due)])
                moved.append(at_due(job, due, state="waiting"))
            if dry_run:
                return moved
            *place, change, by = rows[0]
            args = [*place, b"", change, "", by, *(part for row in rows[1:] for part in row)]
            if self.server.run(self.keys, "reschedule", args):
                return moved
        raise self._gone(jobs[0])

    def _gone(self, job: Job) -> InvalidOptions | NotFound:
        """Make the error for a job without an item in `S:next`."""
        k = self.keys
        key = f"{PAUSED}{JOB}{job.terms.name or job.id}".encode("utf-8", "surrogateescape")
        if parked_under(self.server, k, key, most=1):
            return InvalidOptions(
                f"{_named(job)} is paused. It runs at its next time after somebody resumes it. "
                f"Resume it: workkit resume {job.schedule} {job.id[:8]}.",
                given=job.id,
            )
        return NotFound(f"{_named(job)} no longer waits in {job.schedule}: a listener has its next run.", given=job.id)

    def reschedule(
        self, job: Job, *, trigger: Trigger | None, due_ms: int | None, author: Author | None, dry_run: bool
    ) -> Job | None:
        """Give a job another time: see `At`."""
        with self.server.translated() as client:
            payload = client.hget(self.keys.jobs, job.id)
        if payload is None:
            raise NotFound(f"{_named(job)} is not in {job.schedule} any more: it ended meanwhile.", given=job.id)
        new = NewJob(
            fn=job.fn, args=job.args, kwargs=job.kwargs, trigger=trigger, due_ms=due_ms, options=job.options,
            terms=job.terms, seen=None if job.terms.name is None else job.id,
        )  # fmt: skip
        now, nonce = server_ms(self.server), secrets.token_hex(12)
        stored = self.codec.at_another_time(payload, new, over=job, now_ms=now, nonce=nonce)
        payloads = {stored.id: stored.payload, stored.second_id: stored.second}
        if job.id in payloads:
            return replace(job, new=False)
        id = stored.id if job.terms.unique_key is None else stored.second_id
        due = now if due_ms is None else due_ms
        if not dry_run:
            times = [words_of(one) for one in (job, self.codec.decode(id, payloads[id]))]
            before, after = ({"time": text, "due": at} for text, at in zip(times, (job.due, due), strict=True))
            act = Act(verb="reschedule", target=job_target(job), job=job, before=before, after={**after, "id": id})
            additions = Additions(self.server, keys=self.keys, codec=self.codec, clock=ServerClock(self.server))
            added = additions.replace(new, stored=stored, change=packed_change(author, act))
            if added.is_other:
                return None
            if added.id not in payloads:
                return replace(job, new=False)
            id, due = added.id, due if added.due_ms is None else added.due_ms
        moved = self.codec.decode(id, payloads[id])
        state: JobState = "paused" if job.state == "paused" else "waiting"
        return at_due(
            moved, due, state=state, why=job.why if state == "paused" else None, new=True, replaced=job.id,
            trigger=moved.trigger if trigger is None else trigger,
        )  # fmt: skip

    def run(self, job: Job, *, change: bytes, undoable: bool = False) -> tuple[Job, bytes]:
        """Run a job once now: see `Admin.run`. `change`: who does so, for the script. Return the job as it waits
        afterwards, and with `undoable` the value that undoes it.

        Raises InvalidOptions if the job recurs and no listener can run it, because foreign peers never see such a run.
        """
        k, now = self.keys, server_ms(self.server)
        if is_once(job) or job.trigger is None:
            owed = [entry.encode() for entry in owed_entries(self.server, k, job.id)]
            items = other_items(self.server, k, job.id) or [plain_item(job.id)]
            args: list[Any] = [job.id, now, "", change, 1 if undoable else "", *items, *owed]
        else:
            if count := self._unable(job.id, now):
                them = "the listener" if count == 1 else f"any of the {count} listeners"
                raise InvalidOptions(
                    f"{_named(job)} cannot be run by {them}, and foreign peers run it only at its own times.",
                    given=job.id,
                )
            item = plain_item(job.id)
            entry = Entry(kind="o", due=str(now), flags=f"-#{secrets.token_hex(6)}", item=item)
            args = [job.id, now, occurrence(job.id, entry), change, 1 if undoable else "", entry.encode()]
        if not (reply := self.server.run(self.keys, "run", args)):
            raise NotFound(f"{_named(job)} no longer waits in {job.schedule}.", given=job.id)
        after = at_due(job, now, state="due", attempt=0, error=None, failure=None, progress=None)
        return after, _undoing(reply)

    def interrupt(self, job: Job, listener: str, *, change: bytes) -> bool:
        """Cancel one run of a job: see `Admin.cancel`. Return False if the listener no longer has it."""
        due = job.due
        with self.server.translated() as client:
            records = client.hgetall(self.keys.running(listener))
        for row in record_rows("", records, {}):
            if row.id == job.id and due is not None and instant_of(row.entry.due_ms) == due:
                args = [row.member, row.occurrence, change]
                if self.server.run(self.keys, "interrupt", args, listener=listener):
                    return True
        return False

    def _left_out(self, job: Job, stood_ms: int) -> bytes:
        """Write the record of the occurrence that is left out; empty if no record is kept."""
        with self.server.translated() as client:
            history = read_history(client.hget(self.keys.control, "history") or b"")
        return pack(skip_row(job, due_ms=stood_ms)) if history == "full" else b""

    def _unable(self, id: str, now_ms: int) -> int:
        """Count the live listeners if none of them can run this job; otherwise return 0."""
        k = self.keys
        with self.server.translated() as client:
            live = client.zrangebyscore(k.listeners, now_ms - STALE_MS, "+inf")
        keys = [k.skip("").encode() + name for name in live]  # a name may be any bytes
        return len(live) if live and all(piped(self.server, lambda p: [p.sismember(key, id) for key in keys])) else 0


def _following(job: Job, *, due_ms: int, now_ms: int) -> int | None:
    """Compute when the run after the one due at `due_ms` is due, as a listener would."""
    if job.trigger is None:
        return None
    offset = spread_offset_ms(job.terms, job.fn, job.args)
    return next_run(job.trigger, due_ms=due_ms, now_ms=now_ms, terms=job.terms, offset_ms=offset).due_ms


def _by(job: Job, due_ms: int) -> str:
    """Write the deadline of a run at another time as `reschedule.lua` takes it; empty if it has none."""
    by = deadline_ms(job.terms, due_ms)
    return "" if by is None else f"{deadline_name(job.id, due_ms, recurs=not is_once(job))} {by}"


def _undoing(reply: Any) -> bytes:
    """Read how to undo a step; empty if the caller did not ask, or the step changed nothing."""
    return reply if isinstance(reply, bytes) else b""


def _named(job: Job) -> str:
    return f"{job.id[:8]} {shown(job.fn)}"


def put_back(undo: Undo, *, server: Server, keys: Keys, change: bytes) -> None:
    """Undo the change. Raises ChangedMeanwhile. `change`: who does so, for the script."""
    until = "" if undo.until_ms is None else undo.until_ms
    reply = server.run(keys, "undo", [undo.kept, until, change], which=undo.job.id)
    if reply != b"done":
        trouble = _trouble(
            undo, reply.decode().rpartition(":")[2], is_waiting=bool(standing_items(server, keys, undo.job.id))
        )
        name = undo.job.name or f"{undo.job.short_id} {shown(undo.job.fn)}"
        raise ChangedMeanwhile.about(name, trouble, given=undo.job.id)


def _trouble(undo: Undo, key: str, *, is_waiting: bool) -> str:
    """Describe the present state of the key that differs."""
    if key == "past":
        return "is past the time that was left out"
    if undo.verb == "cancel":
        taken: dict[str, Any] = {
            "jobs": "was added again meanwhile, and is as it was added",
            "names": "is the name of another job by now",
            "unique": f'is not unique any more: another job has the key "{undo.job.terms.unique_key}" by now',
            "control": "was paused meanwhile",
        }
        return str(taken.get(key, "is another job by now"))
    if undo.verb == "run":
        return "has begun its run, or has ended it"
    return "has another next run by now" if is_waiting else "no longer waits: a listener has its next run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Pauses and resumes the targets of one schedule: see `Control`."""

    server: Server
    keys: Keys
    codec: Codec

    def pause(self, target: str, pause: Pause, *, change: bytes) -> None:
        """Pause a target: see `Paused`. `change`: who does so, for the script."""
        k = self.keys
        id = self._id(target) if target.startswith(JOB) else ""
        items = (other_items(self.server, k, id) or [plain_item(id)]) if id else []
        args: list[Any] = [target, write_pause(pause), id, change, len(items), *items]
        for entry in owed_entries(self.server, k, id) if id else ():
            # An `r` entry carries the chain. `o` entries, and entries with a limit slot, are parked when claimed
            if entry.kind == "r" and all(key.startswith(TO_THE_END) for key, _ in entry.slots):
                args += [entry.encode(), parked_text(PAUSED + target, occurrence(id, entry), entry)]
        self.server.run(self.keys, "pause", args)

    def resume(self, target: str, *, lapsed: bool = False, change: bytes = b"") -> bool:
        """End a pause: see `Resumed`. `lapsed`: only if the pause is over by its own time.

        If an earlier call was interrupted, this one completes it.
        """
        return self._resume(target, "lapsed" if lapsed else "end", change)

    def put_back(self, target: str) -> bool:
        """Put back the jobs that are parked under a pause that has ended. Return False if nothing is parked, or the
        pause lasts.
        """
        return self._resume(target, "rest")

    def _resume(self, target: str, mode: str, change: bytes = b"") -> bool:
        key, has_resumed = (PAUSED + target).encode("utf-8", "surrogateescape"), False
        while True:
            moves = self._moves(target, parked_under(self.server, self.keys, key, most=PAGE))
            was, moved, left = self.server.run(self.keys, "resume", [target, mode, change, pack(moves)])
            has_resumed = has_resumed or bool(was) or bool(moved)
            if not left or (mode == "rest" and not moved):
                return has_resumed
            mode = "rest"

    def _moves(self, target: str, page: Sequence[Parked]) -> list[tuple[bytes, bytes, int, str, int]]:
        """Say where each parked entry goes: to `S:again` if a listener had claimed it, else to `S:next`."""
        now, moves, is_job = server_ms(self.server), [], target.startswith(JOB)
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
        """Read the jobs that can be read; a listener buries the others."""
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
        """Find the id of the job that a target names."""
        of = target.removeprefix(JOB)
        with self.server.translated() as client:
            named: bytes | None = client.hget(self.keys.names, of)
        return named.partition(b" ")[0].decode("utf-8", "replace") if named else of


def _next_after(job: Job, ms: int) -> int | None:
    """Compute the first regular time of a job after another time, including the job's offset in its spread."""
    if job.trigger is None:
        return None
    offset = spread_offset_ms(job.terms, job.fn, job.args)
    found = job.trigger.next_after_ms(ms - offset)
    return None if found is None else found + offset
