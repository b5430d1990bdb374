"""Pause and resume a native schedule, a function or a job. Python reads and decides, one script moves. Each call may be
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from workkit.brokers.native.codec import Codec, is_once
from workkit.brokers.native.entry import PAUSED, Parked, item_id, parked_text, plain_item
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import JOB, other_items, owed_entries, parked_under
from workkit.brokers.native.settle import TO_THE_END, occurrence
from workkit.brokers.redis_server.control import write_pause
from workkit.brokers.redis_server.pages import PAGE, server_ms
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.terms import spread_offset_ms


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
        self._script("pause", args)

    def resume(self, target: str, *, lapsed: bool = False, change: bytes = b"") -> bool:
        """End a pause: see `Resumed`. `lapsed`: only if its time has passed.

        If an earlier call was interrupted, this one completes it.
        """
        return self._resume(target, "lapsed" if lapsed else "end", change)

    def put_back(self, target: str) -> bool:
        """Put back what is parked under a pause that has ended. False: nothing is parked, or the pause lasts."""
        return self._resume(target, "rest")

    def _resume(self, target: str, mode: str, change: bytes = b"") -> bool:
        key, has_resumed = (PAUSED + target).encode("utf-8", "surrogateescape"), False
        while True:
            moves = self._moves(target, parked_under(self.server, self.keys, key, most=PAGE))
            packed = msgpack.packb(moves, use_bin_type=False)
            was, moved, left = self._script("resume", [target, mode, change, packed])
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

    def _script(self, verb: str, args: Sequence[Any]) -> Any:
        script = load("native")[verb]
        return self.server.call(script, script.keys(self.keys), args)


def _next_after(job: Job, ms: int) -> int | None:
    """Compute the first regular time of a job after another time, with the job's part of its spread."""
    if job.trigger is None:
        return None
    offset = spread_offset_ms(job.terms, job.fn, job.args)
    found = job.trigger.next_after_ms(ms - offset)
    return None if found is None else found + offset
