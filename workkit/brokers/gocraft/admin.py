"""Change a namespace by hand: pause and resume, cancel and run one job, retry and discard dead ones.

Python finds the texts of a job and decides; a script moves them. Each change is one script, and may be repeated.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.look import NO_REASON
from workkit.brokers.gocraft.places import SORTED_SETS, Places, SortedSet, Standing
from workkit.brokers.gocraft.text import BY_CONTENT, JobText, read, rewrite, unique_key, unique_key_of, write
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import (
    Acknowledged,
    Arguments,
    Author,
    Forgotten,
    Limited,
    NewTime,
    NextRun,
    Paused,
    Resumed,
    Revival,
    Steer,
    Undo,
    dead_refusal,
    not_one_run,
    unmoved,
    unsteered,
)  # fmt: skip
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions, NotFound, Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.jobs.job import Job
from workkit.jobs.names import shown

TRIES = 5  # tries of one step, if its job moves meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class GocraftAdmin:
    """Changes one namespace. Each method may be repeated."""

    server: Server
    keys: Keys
    schedule: str

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> GocraftAdmin:
        """Return itself: this layout records no changes, and can undo none."""
        return self

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record nothing."""

    def steer(self, change: Steer) -> bool:
        """Pause or resume a name or the whole namespace: see `Admin.steer`. Raises Unsupported for one job, and for all
        other changes.
        """
        match change:
            case Paused(target, pause):  # until an instant: it ends by itself, for Go pools too
                at = "" if pause.until_ms is None else pause.until_ms
                self.server.run(self.keys, "pause", [self.keys.prefix, _name(target), pause.reason or NO_REASON, at])
                return True
            case Resumed(target):
                return bool(self.server.run(self.keys, "resume", [self.keys.prefix, _name(target)]))
            case Limited():
                trouble, remedy = "is not known to gocraft pools", "Give each name its limit: @job(NAME, limit=5)."
                raise Unsupported.about("a limit or a rate of a whole namespace", trouble, remedy)
            case Acknowledged():
                trouble = "cannot be kept in a gocraft namespace"
                raise Unsupported.about("acknowledging dead jobs", trouble, "Retry or discard them.")
            case Forgotten():
                raise Unsupported.about("history", "is not kept in a gocraft namespace", "There is nothing to remove.")
        raise unsteered(change)

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Remove a waiting job, or mark a job that one of our pools runs: see `Admin.cancel`. Raises Unsupported for a
        job that a Go pool runs, and for one run of a job. A waiting job frees the unique key that it holds.
        """
        if listener is not None:
            raise not_one_run(job)
        for _ in range(TRIES):
            found = [one for one in self._found(job.id) if one.place != "dead"]
            states = self._cancel(found)
            if "foreign" in states:
                remedy = "Wait until it has ended. If it fails, cancel its next attempt."
                raise Unsupported.about(_named(job), "runs in a Go pool, which cannot be told", remedy, given=job.id)
            if "marked" in states:
                return replace(job, state="cancelling")
            if "removed" in states:
                return job
            if not found:
                break
        if job.state == "dead":
            raise dead_refusal(job)
        raise NotFound(f'no job "{job.id}" in {self.schedule}: it ended meanwhile.', given=job.id)

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Raise Unsupported: a job keeps its time, and none recurs."""
        if isinstance(to, NextRun):
            remedy = f"Take it out: workkit cancel {self.schedule} {jobs[0].short_id}."
            trouble = "is something no gocraft job has: each runs once"
            raise Unsupported.about("a next run to leave out", trouble, remedy)
        raise unmoved(jobs[0], to)

    def run(self, job: Job) -> Job:
        """Put a waiting or dead job into its queue now: see `Admin.run`. A job that is in its queue stays there. A dead
        job counts its failures from 0 again.
        """
        for _ in range(TRIES):
            found = [one for one in self._found(job.id) if one.place != "running"]
            if any(one.place == "queue" for one in found):
                return self._due(job, server_ms(self.server))
            now_ms = server_ms(self.server)
            moves = [self._move(one, now_ms // 1000) for one in found if one.text is not None and one.text.name][:1]
            states = requeue(self.server, self.keys, moves)
            if "revived" in states:
                return self._due(job, now_ms)
            if "waits" in states:
                trouble = "is dead, and an equal job waits that has its unique key"
                raise InvalidOptions.about(_named(job), trouble, "Run that one.", given=job.id)
            if not moves:
                break
        raise NotFound(f"{_named(job)} no longer waits in {self.schedule}.", given=job.id)

    def _found(self, id: str) -> list[Standing]:
        """Find the texts of a job. Usually there is one."""
        found = [one for one in Places(self.server, self.keys, about=id).everywhere() if one.id == id]
        return found or [one for one in Places(self.server, self.keys).everywhere() if one.id == id]

    def _cancel(self, found: Sequence[Standing]) -> set[str]:
        args: list[Any] = [self.keys.prefix]
        for one in found:
            match one.place:
                case "running":
                    args += ["p", one.name, one.raw, one.pool]
                case "queue":
                    args += ["q", one.name, one.raw, one.holds_key(self.keys)]
                case place:
                    args += [1 + SORTED_SETS.index(place), one.name, one.raw, one.holds_key(self.keys)]
        if not found:
            return set()
        return {state.decode() for state in self.server.run(self.keys, "cancel", args)}

    def _move(self, one: Standing, now_s: int) -> Move:
        assert one.place != "queue"
        assert one.place != "running"
        assert one.text is not None
        if one.place == "dead":
            return revival(self.keys, one.raw, one.text, now_s=now_s)
        return Move(one.place, one.raw, one.text.name, rewrite(one.raw, t=now_s))

    def _due(self, job: Job, now_ms: int) -> Job:
        due, is_dead = datetime.fromtimestamp(now_ms // 1000, UTC), job.state == "dead"
        anew: dict[str, Any] = {"attempt": 0, "error": None, "dead_id": None} if is_dead else {}
        return replace(job, state="due", due=due, **anew)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, whole: bool = False, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again: see `Admin.retry`. `args`: an object of keyword arguments. The
        bytes of a job stay as they are, except `t` and the fields of its failures.
        """
        if args is not None and not isinstance(args, Mapping):
            remedy = 'Write them as an object: {"address": "tracy@domain.com"}.'
            trouble = "is given by position: a gocraft job takes keyword arguments"
            raise InvalidArguments.about(f"args={list(args)!r}", trouble, remedy, where="args", given=args)
        now_ms = server_ms(self.server)
        answers: list[Revival] = ["unreadable"] * len(dead)
        moves: dict[int, Move] = {}
        for place, job in enumerate(dead):
            raw = _record(job)
            due_ms = now_ms + delays_ms[place] if delays_ms and delays_ms[place] else None
            due_s = None if due_ms is None else -(-due_ms // 1000)
            try:
                text = read(raw)
                if args is None:
                    move = revival(self.keys, raw, text, now_s=now_ms // 1000, due_s=due_s)
                else:
                    new = JobText(name=text.name, id=os.urandom(12).hex(), t=now_ms // 1000, args=args)
                    move = Move("dead", raw, text.name, write(new), due_s)
            except CorruptRecord:
                continue
            if text.name:
                moves[place] = move
        for place, state in zip(moves, requeue(self.server, self.keys, [*moves.values()]), strict=True):
            answers[place] = state
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set: see `Admin.discard`."""
        records = [_record(job) for job in dead]
        if not records:
            return 0
        with self.server.translated() as client:
            return int(client.zrem(self.keys.dead, *records))


def _name(target: str) -> str:
    """The job name of a target; empty for the whole namespace. Raises Unsupported for one job."""
    kind, _, of = target.partition(":")
    if kind == "job":
        remedy = "Pause all jobs of its name (fn=), or cancel this one."
        raise Unsupported.about(f"a pause of the one job {of[:8]}", "is not known to gocraft pools", remedy, given=of)
    return "" if target == SCHEDULE else of


@dataclass(frozen=True, slots=True)
class Move:
    """A member of a sorted set as `requeue.lua` takes it. `due_s` None: into its queue now. `key`: the unique key that
    it takes, with the new value of the key. `has_key`: it has the key already.
    """

    place: SortedSet
    raw: bytes
    name: str
    text: bytes
    due_s: int | None = None
    key: str = ""
    value: bytes = b""
    has_key: bool = False


def requeue(server: Server, keys: Keys, moves: Sequence[Move]) -> list[Revival]:
    """Move members of sorted sets in one step. Return the new state of each."""
    if not moves:
        return []
    args: list[Any] = [keys.prefix]
    for move in moves:
        due = "" if move.due_s is None else move.due_s
        args += [1 + SORTED_SETS.index(move.place), move.raw, move.name, move.text, due]
        args += [move.key, move.value, int(move.has_key)]
    states: list[bytes] = server.run(keys, "requeue", args)
    return [state.decode() for state in states]  # type: ignore[misc]  # what `requeue.lua` answers is a Revival


def revival(keys: Keys, raw: bytes, text: JobText, *, now_s: int, due_s: int | None = None) -> Move:
    """Move a dead job as one that has not failed. Its first start freed its unique key, so a unique job takes the key
    again. A job that was buried before its start still has the key. Raises CorruptRecord.
    """
    new = rewrite(raw, t=now_s, fails=0, err="", failed_at=0)
    key = unique_key_of(keys, text) or ""
    if not key.startswith(keys.unique(text.name, "")):  # a text may name any key
        return Move("dead", raw, text.name, new, due_s)
    value = BY_CONTENT if key == unique_key(keys, text.name, text.args) else new
    return Move("dead", raw, text.name, new, due_s, key, value, not text.fails)


def _record(job: Job) -> bytes:
    """The exact bytes of a dead job."""
    return (job.dead_id or "").encode("utf-8", "surrogateescape")


def _named(job: Job) -> str:
    return f"{job.short_id} {shown(job.fn)}"
