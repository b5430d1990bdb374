"""A pool in a namespace, as one listener: one number for each turn, one outstanding request.

If a reply is lost, the session repeats the request under its number, and the request has one effect. If other pools
took this pool for dead, all its claims are fenced, and it registers as another pool. Normative:
spec/layouts/gocraft.md, sections 7 to 9.
"""

from __future__ import annotations

import json
import random
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from workkit.brokers.gocraft.codec import Receipt, as_job, ending_row, read_claim
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import Observer, hand_back
from workkit.brokers.gocraft.text import read, rewrite, unique_key_of
from workkit.brokers.redis_server.control import pack
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job
from workkit.jobs.outcome import Released

MOST = 500  # jobs, or endings, in one turn
FULL = 3.0  # seconds between two heartbeats; in between a pool only checks for work
PAGE = 100  # due members of each sorted set that one turn returns


class _Gone(Exception):
    """The pool is not listed any more."""


class Session:
    """One pool. For one thread, the listener's loop. Each method may raise ServerUnreachable or ServerRefused; the next
    `claim` then first repeats the outstanding request.
    """

    def __init__(self, server: Server, *, keys: Keys, schedule: str, patience_ms: int) -> None:
        self._server, self._keys, self._schedule = server, keys, schedule
        self._scripts = load("gocraft")
        self._patience_ms = patience_ms
        self._info: ListenerInfo | None = None
        self._priorities: dict[str, int] = {}
        self._limits: dict[str, int] = {}
        self._packed = b""  # the names with their priorities and limits
        self._fields: list[Any] = []  # the fields of the heartbeat
        self._outstanding: tuple[list[Any], list[Ending]] | None = None
        self._taking: tuple[str, list[Claim]] | None = None
        self._held: dict[Receipt, Claim] = {}
        self._ready: list[Claim] = []
        self._refused: list[Claim] = []
        self._ends: list[Ending] = []
        self._wake_in_ms: float | None = None
        self._offset = 0  # due members that no live pool serves
        self._number = self._now_ms = 0
        self._full_at = 0.0  # when to send the next heartbeat; a look between two costs less
        self.observer = Observer(server, keys)
        self.pool = ""
        self.stale: list[tuple[str, str]] | None = None  # news of pools that look dead: id, heartbeat
        self._rivals: set[str] = set()  # news of names with later jobs that a live Go pool would bury
        self.left: list[str] = []  # ids under which this session was taken for dead

    @property
    def names(self) -> tuple[str, ...]:
        """The job names that this pool serves."""
        return tuple(self._priorities)

    def register(self, info: ListenerInfo) -> None:
        """List this listener as a pool."""
        if self._info is not info:
            self._info = info
            self._serve_all(info)
            self._limits = {name: one.options.limit for name, one in info.serves.items() if one.options.limit}
        pool = secrets.token_hex(12)
        self.observer.begin(info.threads)
        self._describe()
        rows = [part for name in sorted(self._priorities) for part in (name, self._limits.get(name, ""))]
        args = [pool, self._keys.prefix, len(self._priorities), *self._fields, *rows]
        self._now_ms = int(self._call("register", args, pool))
        self.pool, self._number, self._full_at = pool, 0, 0.0

    def _serve_all(self, info: ListenerInfo) -> None:
        self._priorities = {name: serving.priority for name, serving in info.serves.items()}

    def reconsider(self) -> None:
        """Serve all its names again."""
        assert self._info is not None, "register first"
        self._serve_all(self._info)
        self._describe()

    def _describe(self) -> None:
        assert self._info is not None, "register first"
        names = sorted(self._priorities)
        served = [(name, priority, self._limits.get(name, 0)) for name, priority in self._priorities.items()]
        self._packed = pack(served)
        self._fields = [
            "job_names", ",".join(names), "concurrency", self._info.threads,
            "worker_ids", ",".join(sorted(self.observer.workers)), "host", self._info.host, "pid", self._info.pid,
        ]  # fmt: skip
        if self._limits:
            self._fields += ["limits", json.dumps(self._limits)]

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Settle endings and take jobs: see `Broker.claim`."""
        self._ends += ends
        has_moved = False
        try:
            self._begin()
            while True:
                wanted = max(0, min(MOST, limit - len(self._ready)))
                due = self._turn(wanted, now_ms) if wanted or self._ends else []
                is_moved = bool(due) and self._move(due)
                has_moved = has_moved or is_moved
                if not is_moved and not self._ends:
                    break
        except _Gone:
            return Turn(fenced=self._forget(), refused=self._take_refused())
        claims, self._ready = self._ready, []
        wake_in_ms = 0.0 if has_moved else self._wake_in_ms  # a page of due jobs: there may be another one
        return Turn(claims=claims, wake_in_ms=wake_in_ms, refused=self._take_refused())

    def _begin(self) -> None:
        """Repeat the outstanding request. Become a pool if this session is not a pool."""
        if self._outstanding is not None:
            self._send()
        self._take_unique()
        if not self.pool:
            assert self._info is not None, "register first"
            self.register(self._info)

    def _turn(self, limit: int, now_ms: int | None) -> list[tuple[int, bytes]]:
        ends, self._ends = self._ends[:MOST], self._ends[MOST:]
        current = [end for end in ends if self._is_held(end[0])]
        if len(current) < len(ends):
            self._refused += [claim for claim, _ in ends if not self._is_held(claim)]
        if not (limit or current):
            return []
        self._give_up_names(current)
        at = self._now_ms if now_ms is None else now_ms
        packed = pack([ending_row(end, now_ms=at) for end in current])
        self._number += 1
        args = [
            self.pool, self._number, "" if now_ms is None else now_ms, self._keys.prefix, random.getrandbits(31),
            limit, self._packed, packed if current else "", self._offset,
        ]  # fmt: skip
        self._outstanding = args, current
        due = self._send()
        self._take_unique()
        return due

    def _send(self) -> list[tuple[int, bytes]]:
        """Send the outstanding turn, and apply its answer. Return the due members: sorted set, bytes."""
        assert self._outstanding is not None
        args, ends = self._outstanding
        reply = self._call("turn", args, self.pool)
        self._outstanding = None
        if reply[0] != b"ok":
            raise _Gone
        _, now, wake_in, is_repeated, refused, found, due, crashes = reply
        self._now_ms = int(now)
        lost = {ends[place][0].receipt for place in refused}
        for claim, _ in ends:
            if self._held.pop(claim.receipt, None) is not None and claim.receipt in lost:
                self._refused.append(claim)
        known = Counter(receipt.raw for receipt in self._held) if is_repeated else None
        fresh: list[Claim] = []
        for queue, raw, died in zip(found[::2], found[1::2], crashes or repeat(0), strict=False):
            if known and known[raw] > 0:
                known[raw] -= 1
                continue
            fresh.append(self._taken(queue.decode(), raw, died))
        if args[5]:  # a turn that takes no jobs reports nothing about due jobs
            wake = float(wake_in)
            self._wake_in_ms = None if wake < 0 or wake == float("inf") else wake
        self._sort(fresh)
        return list(zip(due[::2], due[1::2], strict=True))

    def _taken(self, queue: str, raw: bytes, crashes: int, *, since_s: int = 0) -> Claim:
        """Hold the claim of a taken text. `since_s`: when the text that it replaces came into the queue."""
        claim = read_claim(
            queue, raw, pool=self.pool, crashes=crashes, describe=self.described, limits=self._limits,
            serves=self._priorities, since_s=since_s,
        )  # fmt: skip
        self._held[claim.receipt] = claim
        return claim

    def _sort(self, fresh: Sequence[Claim]) -> None:
        """Let plain jobs start. A unique job first frees its key. A retry or a crashed job freed its key before."""
        unique: list[Claim] = []
        for claim in fresh:
            text = claim.receipt.text
            is_first = text is not None and text.unique and not text.fails and not claim.crashes
            (unique if is_first else self._ready).append(claim)
        if unique:
            self._taking = str(self._number), unique

    def _take_unique(self) -> None:
        if self._taking is None:
            return
        number, claims = self._taking
        args: list[Any] = [number, self.pool, self._keys.prefix]
        for claim in claims:
            receipt: Receipt = claim.receipt
            assert receipt.text is not None
            args += [receipt.queue, receipt.raw, unique_key_of(self._keys, receipt.text)]
        reply = self._call("take_unique", args, self.pool)
        self._taking = None
        for claim, instead in zip(claims, reply, strict=True):
            if instead:
                del self._held[claim.receipt]
                claim = self._taken(claim.receipt.queue, instead, 0, since_s=claim.due_ms // 1000)
            self._ready.append(claim)

    def _move(self, due: Sequence[tuple[int, bytes]]) -> bool:
        """Put due jobs into their queues. Return whether any was moved; then check the queues again."""
        args: list[Any] = [self._now_ms, self._keys.prefix]
        for place, raw in due:
            try:
                name = read(raw).name
                args += [place, raw, name, rewrite(raw, t=self._now_ms // 1000) if name else b""]
            except CorruptRecord:
                args += [place, raw, "", b""]
        moved = int(self._call("move", args, self.pool))
        is_full = len(due) >= PAGE
        self._offset = self._offset + PAGE if is_full and not moved else 0
        return moved > 0

    def _is_held(self, claim: Claim) -> bool:
        receipt: Receipt = claim.receipt
        return receipt.pool == self.pool and receipt in self._held

    def _give_up_names(self, ends: Sequence[Ending]) -> None:
        """Stop serving names with functions that this listener cannot run: other pools take those jobs."""
        lost = {
            claim.receipt.queue
            for claim, outcome in ends
            if isinstance(outcome, Released) and outcome.unknown and not claim.stray
        }
        if lost & self._priorities.keys():
            self._priorities = {name: one for name, one in self._priorities.items() if name not in lost}
            self._describe()

    def beat(self) -> Orders:
        """Send a heartbeat, write the present jobs of the workers, and return the orders."""
        try:
            self._begin()
        except _Gone:
            return Orders(fenced=self._forget())
        self.observer.write([claim for claim in self._held.values() if claim.receipt.text], now_ms=self._now_ms)
        is_full = time.monotonic() >= self._full_at
        args = [self.pool, self._keys.prefix, int(is_full), self._patience_ms, self._packed, *self._fields]
        reply = self._call("beat", args, self.pool)
        if reply[0] != b"ok":
            return Orders(fenced=self._forget())
        _, now, look, stale, rivals, over = reply
        self._now_ms = int(now or self._now_ms)
        if is_full:
            self._full_at = time.monotonic() + FULL
            found = [part.decode("utf-8", AS_READ) for part in stale]
            self.stale = list(zip(found[::2], found[1::2], strict=True))
            self._rivals = {name.decode() for name in rivals}
        cancelled = {claim.occurrence for claim in self._held.values() if claim.receipt.raw in over} if over else ()
        return Orders(look=bool(look), cancelled=frozenset(cancelled))

    def take_rivals(self) -> set[str]:
        """Return the names with later jobs that a live Go pool would bury, once after each heartbeat."""
        names, self._rivals = self._rivals, set()
        return names

    def tell(self, said: Mapping[Receipt, str | None]) -> None:
        """Show check-ins."""
        self.observer.tell({receipt: words for receipt, words in said.items() if receipt in self._held})
        self.observer.write([claim for claim in self._held.values() if claim.receipt.text], now_ms=self._now_ms)

    def leave(self) -> None:
        """Stop as a pool, and give back the jobs that it still holds."""
        if not self.pool:
            return
        self.observer.end()
        while (done := self.reap(self.pool, "*", names=self.names, is_dead=False)) is not None and done[1]:
            pass
        self.pool = ""  # not before: a stop is repeated if its reply is lost

    def reap(self, pool: str, beat: str, *, names: Sequence[str], is_dead: bool = True) -> tuple[int, int] | None:
        """Hand back the jobs that a pool holds: (moved, left); None if it lives."""
        return hand_back(self._server, self._keys, pool=pool, beat=beat, names=names, is_dead=is_dead)

    def described(self, claim: Claim) -> Job:
        """Show a claim as a Job."""
        text = claim.receipt.text
        if text is None:
            return Job(id="", schedule=self._schedule, fn=claim.fn, state="running", error=claim.reason)
        return as_job(text, schedule=self._schedule, state="running", due_ms=claim.due_ms)

    def _forget(self) -> list[Claim]:
        """Drop all claims: other pools have them now. The next call registers again."""
        lost = list(self._held.values())
        self._held.clear()
        self._refused += [claim for claim, _ in self._ends if claim not in lost]
        self._ready, self._ends, self._outstanding, self._taking = [], [], None, None
        if self.pool:
            self.left.append(self.pool)
        self.pool = ""
        return lost

    def _take_refused(self) -> list[Claim]:
        refused, self._refused = self._refused, []
        return refused

    def _call(self, verb: str, args: Sequence[Any], pool: str) -> Any:
        script = self._scripts[verb]
        of = {key.of for key in script.declared if key.of}
        return self._server.call(script, script.keys(self._keys, **({"pool": pool} if of else {})), args)
