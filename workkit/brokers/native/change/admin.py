"""Change a native schedule by hand. This file changes the dead set: it puts jobs back to run again, or removes them.
`runs.py` changes runs and pauses.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from workkit import wire
from workkit.brokers.native.change.runs import Pauses, Runs, put_back
from workkit.brokers.native.changes import DEAD, Act, job_target, packed_change, pause_act
from workkit.brokers.native.codec import Codec, at_due, is_once
from workkit.brokers.native.entry import Entry, plain_item, read_entry, read_parked
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.dead_set import NAME_TEXT, read_grave
from workkit.brokers.native.look.listing import other_items, parked_items
from workkit.brokers.native.look.past import history_keys
from workkit.brokers.native.results import write_fields
from workkit.brokers.native.settle import log_name, occurrence
from workkit.brokers.redis_server.control import pack
from workkit.brokers.redis_server.pages import piped, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import (
    MARK,
    Acknowledged,
    Arguments,
    At,
    Author,
    Forgotten,
    Later,
    Limited,
    Marked,
    NewTime,
    NextRun,
    Paused,
    Quieted,
    Remembered,
    Resumed,
    Revival,
    Steer,
    Undo,
    Undoable,
    dead_refusal,
)  # fmt: skip
from workkit.errors import CorruptRecord, NotFound
from workkit.jobs.admission import SCHEDULE
from workkit.jobs.job import Job, JobState
from workkit.jobs.marks import imported_options
from workkit.jobs.outcome import of_cancelled
from workkit.jobs.run_options import UNSAID
from workkit.jobs.terms import PLAIN, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeAdmin:
    """Changes one schedule. Each method may be repeated. `author`: the person named in `S:changes`, if any. `undos`:
    collects how to undo each change, if the caller wants to know.
    """

    server: Server
    keys: Keys
    codec: Codec
    author: Author | None = None
    undos: list[Undo] | None = None

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> NativeAdmin:
        """Change it in somebody's name: see `Admin.by`."""
        return replace(self, author=author, undos=undos)

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record a change of several steps: see `Admin.note`."""
        if self.author is not None:
            target = SCHEDULE if job is None else job_target(job)
            self._call("note", [self._change(Act(verb=verb, target=target, job=job, after=after, times=times)), ""])

    def steer(self, change: Steer) -> bool:
        """Change the schedule, a target or a listener: see `Admin.steer`."""
        match change:
            case Paused(target, pause):
                self._pauses.pause(target, pause, change=self._change(pause_act(target, pause)))
            case Resumed(target, lapsed):
                act = Act(verb="resume", target=target)
                return self._pauses.resume(target, lapsed=lapsed, change=self._change(act))
            case Limited(limit=limit, turn_ms=turn_ms):
                turn = "" if turn_ms is None else repr(float(turn_ms))
                self._set({"limit": "" if limit is None else str(limit), "turn_ms": turn})
            case Remembered(history):
                self._set({"history": "" if history == "full" else history})
            case Forgotten():
                keys = history_keys(self.server, self.keys)
                self.note("forget history", {})
                with self.server.translated() as client:
                    client.unlink(*keys)
            case Acknowledged():
                act = Act(verb="acknowledge", target=DEAD)
                self._call("declare", [self._change(act), "known_dead", str(server_ms(self.server))])
            case Quieted(listener, on):
                return self._quiet(listener, on)
            case Marked(text):
                self._call("note", [self._change(Act(verb=MARK, target=SCHEDULE, after={"text": text})), 1])
            case Undo(verb=verb, job=job):
                act = Act(verb=f"undo {verb}", target=job_target(job), job=job, after={"due": job.due})
                put_back(change, server=self.server, keys=self.keys, change=self._change(act))
        return True

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Remove a waiting job, or mark a running one, or only one run: see `Admin.cancel`."""
        if listener is not None:
            return self._interrupt(job, listener)
        k = self.keys
        recurs = 0 if is_once(job) or job.trigger is None else 1
        parked = parked_items(self.server, k, job.id)
        has_chain = any((one := read_parked(member)) is not None and one.entry.kind == "r" for member in parked)
        texts = {plain_item(job.id), *(() if has_chain else other_items(self.server, k, job.id))}
        keep_ms = job.options.over(imported_options(job.fn) or UNSAID).keep_ms
        args = [
            job.id,
            recurs,
            job.name or "",
            job.terms.unique_key or "",
            "" if keep_ms is None else keep_ms,
            b"" if keep_ms is None else _cancelled_fields(keep_ms, server_ms(self.server)),
            self._change(_act("cancel", job, before={"due": job.due})),
            "" if self.undos is None else 1,
            len(texts),
            *texts,
            *parked,
        ]
        reply, undoing = self._call("cancel", args, which=job.id)
        if reply == b"unknown" and job.state == "dead":
            raise dead_refusal(job)
        if reply == b"unknown":
            raise NotFound(f'no job "{job.id}" in {self.codec.schedule}: it ended meanwhile.', given=job.id)
        self._keep("cancel", job, undoing)
        state: JobState = "cancelling" if reply == b"marked" or job.state == "running" else job.state
        return replace(job, state=state)

    def _set(self, settings: Mapping[str, str]) -> None:
        act = Act(verb="declare", target=SCHEDULE, after=settings)
        self._call("declare", [self._change(act), *(text for pair in settings.items() for text in pair)])

    def _quiet(self, listener: str, on: bool) -> bool:
        act = Act(verb="quiet" if on else "listen", target=f"listener:{listener}")
        reply = self._call("quiet", [listener.encode("utf-8", "surrogateescape"), 1 if on else "", self._change(act)])
        if reply == b"unknown":
            remedy = f"See who listens: workkit listeners {self.codec.schedule}."
            raise NotFound.about(listener, f"does not listen to {self.codec.schedule}", remedy, given=listener)
        return bool(reply)

    def _keep(self, verb: Undoable, job: Job, undoing: bytes, *, until_ms: int | None = None) -> None:
        if self.undos is not None and undoing:
            undo = Undo(verb=verb, job=job, kept=undoing, place=self.keys.schedule, until_ms=until_ms)
            self.undos.append(undo)

    def _call(self, verb: str, args: Sequence[Any], **of: str | tuple[str, ...]) -> Any:
        return self.server.run(self.keys, verb, args, **of)

    def _change(self, act: Act) -> bytes:
        return packed_change(self.author, act)

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Give jobs another time: see `Admin.reschedule`."""
        match to:
            case Later(ms):
                return self._runs.snooze(jobs, ms, author=self.author, dry_run=dry_run)
            case At(trigger=trigger, due_ms=due_ms):
                moved = self._runs.reschedule(
                    jobs[0], trigger=trigger, due_ms=due_ms, author=self.author, dry_run=dry_run
                )
                return [] if moved is None else [moved]
            case NextRun():
                after, stood_ms, undoing = self._runs.skip(jobs[0], author=self.author, undoable=self.undos is not None)
                self._keep("skip", at_due(jobs[0], stood_ms), undoing, until_ms=stood_ms)
                return [after]

    def run(self, job: Job) -> Job:
        """Run a job once now: see `Admin.run`."""
        after, undoing = self._runs.run(job, change=self._change(_act("run", job)), undoable=self.undos is not None)
        self._keep("run", job, undoing)
        return after

    def _interrupt(self, job: Job, listener: str) -> Job:
        change = self._change(_act("interrupt", job, before={"due": job.due}))
        if not self._runs.interrupt(job, listener, change=change):
            raise NotFound(f"{listener} does not run {job.id[:8]} any more: that run has ended.", given=job.id)
        return replace(job, state="cancelling")

    @property
    def _pauses(self) -> Pauses:
        return Pauses(server=self.server, keys=self.keys, codec=self.codec)

    @property
    def _runs(self) -> Runs:
        return Runs(server=self.server, keys=self.keys, codec=self.codec)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, whole: bool = False, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again: see `Admin.retry`."""
        names = [(job.dead_id or "").encode(*NAME_TEXT) for job in dead]
        if not names:
            return []
        k = self.keys
        stands, graves = piped(self.server, lambda pipe: (pipe.zmscore(k.dead, names), pipe.hmget(k.graves, names)))
        answers: list[Revival] = ["gone"] * len(names)
        asked: dict[int, dict[str, Any]] = {}
        over: list[str] = []  # ids of one-shots that run again: their kept records are no results any more
        for place, name in enumerate(names):
            if stands[place] is None:
                continue
            revived = self._revived(read_grave(graves[place]), args, whole=whole)
            if revived is None:
                answers[place] = "unreadable"
            else:
                asked[place] = {"dead": name, "delay": delays_ms[place] if delays_ms else 0, **revived}
                if args is None and "item" in revived:
                    asked[place]["result"] = len(over)
                    over.append(revived["id"])
        if asked:
            change = self._change(_of_dead("retry", dead))
            states = self._call("revive", [pack([*asked.values()]), change], revived=tuple(over))
            for place, state in zip(asked, states, strict=True):
                answers[place] = state.decode()
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set: see `Admin.discard`."""
        known = [(job.dead_id, job.attempt) for job in dead if job.dead_id]
        if not known:
            return 0
        names = [dead_id.encode(*NAME_TEXT) for dead_id, _ in known]
        logs = [log_name(dead_id, attempt).encode(*NAME_TEXT) for dead_id, attempt in known]
        return int(self._call("discard", [self._change(_of_dead("discard", dead)), len(names), *names, *logs]))

    def _revived(self, grave: Mapping[str, Any], args: Arguments | None, *, whole: bool) -> dict[str, Any] | None:
        """Make the map of one grave for `revive.lua`; None if it holds no job that can run."""
        id, payload = (grave.get("id") or b"").decode("utf-8", "replace"), grave.get("payload")
        if grave.get("reason") == "corrupt" or not payload or not id:
            return None
        if args is not None:
            return self._anew(id, payload, args, whole=whole)
        due, item = str(grave.get("due", 0)), grave.get("member") or wire.item(id)
        entry = Entry(kind=grave.get("kind", "r"), due=due, flags=grave.get("flags", "-"), item=item)
        entry = replace(entry, flags=entry.with_flags())  # other occurrences may have its slots now
        if read_entry(entry.encode()) is None:
            return None
        if entry.kind == "r":
            terms = PLAIN
            with suppress(CorruptRecord):  # a listener judges it
                terms = self.codec.decode(id, payload).terms
            return {"id": id, "payload": payload, "item": entry.item, **_holds(terms)}
        return {"id": id, "payload": payload, "entry": entry.encode(), "occurrence": occurrence(id, entry)}

    def _anew(self, id: str, payload: bytes, args: Arguments, *, whole: bool) -> dict[str, Any] | None:
        """Make a new job with other arguments, due now. Raises InvalidArguments."""
        now_ms, nonce = server_ms(self.server), secrets.token_hex(8)
        try:
            terms = self.codec.decode(id, payload).terms
            new_id, new = self.codec.with_other_arguments(payload, args, whole=whole, now_ms=now_ms, nonce=nonce)
        except CorruptRecord:
            return None
        return {"id": new_id, "payload": new, "item": wire.item(new_id), **_holds(terms)}


def _holds(terms: Terms) -> dict[str, Any]:
    """Return what a one-shot has again when it runs again: its name, its unique key, its priority."""
    held = {"name": terms.name, "key": terms.unique_key, "first": terms.priority}
    return {what: value for what, value in held.items() if value is not None}


def _cancelled_fields(keep_ms: int, now_ms: int) -> bytes:
    """Write the result of a job that is removed before it runs."""
    return pack(write_fields(of_cancelled(keep_ms, "cancelled before it started"), occurrence="", due_ms=now_ms))


def _act(verb: str, job: Job, *, before: Mapping[str, Any] | None = None) -> Act:
    return Act(verb=verb, target=job_target(job), job=job, before=before)


def _of_dead(verb: str, dead: Sequence[Job]) -> Act:
    return _act(verb, dead[0]) if len(dead) == 1 else Act(verb=verb, target=DEAD)
