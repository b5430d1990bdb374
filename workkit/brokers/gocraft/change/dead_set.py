"""Change the dead set of a namespace: put jobs back to run again, or remove them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.places import SORTED_SETS, SortedSet
from workkit.brokers.gocraft.text import JobText, read, rewrite, write
from workkit.brokers.gocraft.unique_key import BY_CONTENT, unique_key, unique_key_of
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import Arguments, Revival
from workkit.errors import CorruptRecord, InvalidArguments
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSetChange:
    """Changes the dead set of one namespace."""

    server: Server
    keys: Keys

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, delays_ms: Sequence[int]) -> list[Revival]:
        """See `Admin.retry`. The bytes of a job stay as they are, but for `t` and what its failures left."""
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
                    move = Move("dead", raw, text.name, _anew(text.name, args, now_ms // 1000), due_s)
            except CorruptRecord:
                continue
            if text.name:
                moves[place] = move
        for place, state in zip(moves, requeue(self.server, self.keys, [*moves.values()]), strict=True):
            answers[place] = state
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """See `Admin.discard`."""
        records = [_record(job) for job in dead]
        if not records:
            return 0
        with self.server.translated() as client:
            return int(client.zrem(self.keys.dead, *records))


@dataclass(frozen=True, slots=True)
class Move:
    """A member of a sorted set as `requeue.lua` takes it. `due_s` None: into its queue now. `key`: the unique key that
    it takes, with what it holds then; `has_key`: it has it already.
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
    script = load("gocraft")["requeue"]
    states: list[bytes] = server.call(script, script.keys(keys), args)
    return [state.decode() for state in states]  # type: ignore[misc]  # what `requeue.lua` answers is a Revival


def revival(keys: Keys, raw: bytes, text: JobText, *, now_s: int, due_s: int | None = None) -> Move:
    """Move a dead job as one that has not failed. A unique one takes its key again, which its first start freed; one
    that was buried before that has it still. Raises CorruptRecord.
    """
    new = rewrite(raw, t=now_s, fails=0, err="", failed_at=0)
    key = unique_key_of(keys, text) or ""
    if not key.startswith(keys.unique(text.name, "")):  # a text may name any key
        return Move("dead", raw, text.name, new, due_s)
    value = BY_CONTENT if key == unique_key(keys, text.name, text.args) else new
    return Move("dead", raw, text.name, new, due_s, key, value, not text.fails)


def _anew(name: str, args: Mapping[str, Any], now_s: int) -> bytes:
    """Write a new job with other arguments. Raises InvalidArguments."""
    return write(JobText(name=name, id=os.urandom(12).hex(), t=now_s, args=args))


def _record(job: Job) -> bytes:
    """The exact bytes of a dead job."""
    return (job.dead_id or "").encode("utf-8", "surrogateescape")
