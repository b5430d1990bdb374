"""Show the running jobs of a pool for Go's web page: one hash for each busy worker, written at most once a second. Hand
back the jobs of a dead pool in steps: unfinished jobs go back to their queues, ended ones to the dead set. Compare
locks with the jobs in progress, and repair them: the doctor does so, and every pool for its own names.

A unique job by key runs with the text that its unique key holds then. A Go pool ends that text, and the listed one
stays in its list. `lua/parts/ended.lua` finds these texts. Normative: spec/layouts/gocraft.md, sections 9 and 12.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from workkit.brokers.gocraft.codec import Receipt
from workkit.brokers.gocraft.go_values import dumps
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import rewrite
from workkit.brokers.redis_server.pages import piped
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.listener import Claim
from workkit.errors import CorruptRecord

APART = 1.0  # seconds between two writes
LIFE_SECONDS = 86_400
LONGEST = 10_000  # characters of the arguments that are shown


class Observer:
    """The observations of one pool."""

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self.workers: tuple[str, ...] = ()
        self._shows: dict[str, Receipt] = {}  # worker -> the job in its hash
        self._began: dict[Receipt, int] = {}
        self._said: dict[Receipt, tuple[str, int]] = {}  # check-ins, with their second
        self._news: set[Receipt] = set()
        self._written_at = 0.0

    def begin(self, threads: int) -> None:
        """Name one worker for each thread."""
        self.workers = tuple(secrets.token_hex(12) for _ in range(max(1, threads)))
        self._shows, self._began, self._said, self._news = {}, {}, {}, set()

    def tell(self, said: Mapping[Receipt, str | None]) -> None:
        """Note check-ins, as JSON: a text, or done and total."""
        for receipt, words in said.items():
            if words is None:
                self._said.pop(receipt, None)
                continue
            value = json.loads(words)
            text = value if isinstance(value, str) else "/".join(f"{part:g}" for part in value)
            self._said[receipt] = text, int(time.time())
            self._news.add(receipt)

    def write(self, held: Sequence[Claim], *, now_ms: int) -> None:
        """Write the changes. The workers run the first jobs held. Raises ServerUnreachable, ServerRefused."""
        now = time.monotonic()
        if now - self._written_at < APART or not (held or self._shows):
            return
        running = {claim.receipt: claim for claim in held[: len(self.workers)]}
        self._began = {receipt: self._began.get(receipt, now_ms // 1000) for receipt in running}
        self._said = {receipt: words for receipt, words in self._said.items() if receipt in running}
        shows = {worker: receipt for worker, receipt in self._shows.items() if receipt in running}
        free = (worker for worker in self.workers if worker not in shows)
        shown = set(shows.values())
        fresh = [receipt for receipt in running if receipt not in shown]
        shows |= {worker: receipt for receipt, worker in zip(fresh, free, strict=False)}
        idle = [self._keys.worker(worker) for worker in self._shows if worker not in shows]
        changed = [(w, r) for w, r in shows.items() if self._shows.get(w) is not r or r in self._news]
        if idle or changed:
            piped(self._server, partial(self._show, idle, changed))
        self._shows, self._written_at = shows, now
        self._news.clear()

    def _show(self, idle: Sequence[str], changed: Sequence[tuple[str, Receipt]], pipe: Any) -> None:
        if idle:
            pipe.delete(*idle)
        for worker, receipt in changed:
            key = self._keys.worker(worker)
            pipe.delete(key)
            pipe.hset(key, mapping=self._fields(receipt))
            pipe.expire(key, LIFE_SECONDS)

    def _fields(self, receipt: Receipt) -> dict[str, str | int]:
        text = receipt.text
        assert text is not None
        args = "" if text.args is None else dumps(dict(text.args))
        fields: dict[str, str | int] = {
            "job_name": text.name, "job_id": text.id, "started_at": self._began[receipt],
            "args": args if len(args) <= LONGEST else '{"workkit":"too long to show"}',
        }  # fmt: skip
        if receipt in self._said:
            fields["checkin"], fields["checkin_at"] = self._said[receipt]
        return fields

    def end(self) -> None:
        """Remove every observation."""
        if self._shows:
            with self._server.translated() as client:
                client.delete(*(self._keys.worker(worker) for worker in self._shows))
        self._shows = {}


STEP: Final = 500  # jobs in one step
ENDED: Final = "ended without leaving the in-progress list"
"""The error in the dead set for a text that a Go pool has ended and left in its list."""


def hand_back(
    server: Server, keys: Keys, *, pool: str, beat: str, names: Sequence[str], is_dead: bool = True
) -> tuple[int, int] | None:
    """Hand back up to `STEP` jobs of a pool: (moved, left). None if its heartbeat is no longer `beat`: it lives.

    `beat`: the heartbeat as it was read; empty: none; "*": any. `names`: more names of jobs that it may have.
    `is_dead`: count a pool's death for each job. Ended jobs go to the dead set first.
    """
    head = [pool, keys.prefix, beat, STEP, int(is_dead), len(names), *names]
    copies: list[Any] = []
    while True:
        reply = server.run(keys, "reap", [*head, *copies], pool=pool)
        if reply[0] == b"alive":
            return None
        if reply[0] != b"ended":
            return int(reply[0]), int(reply[1])
        _, now_s, found = reply
        copies = []
        for name, text in zip(found[::2], found[1::2], strict=True):
            copies += [name, text, _copy(text, int(now_s))]


def _copy(text: bytes, now_s: int) -> bytes:
    try:
        return rewrite(text, err=ENDED, failed_at=now_s)
    except CorruptRecord:  # Lua reads more than Go does
        return text


NAMES_AT_ONCE = 100  # names in one round trip


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock: `how` it differs from the jobs in progress (empty: it does not), its value (empty: none), the running
    jobs, and the fields of `lock_info` of pools that are gone.
    """

    how: bytes
    value: bytes
    running: int
    gone: int

    @property
    def number(self) -> int | None:
        """Its value; None if it is missing or no number that pools count with."""
        return int(self.value) if self.value.lstrip(b"-").isdigit() and len(self.value) < 16 else None


def relock(server: Server, keys: Keys, seen: Mapping[str, bytes], *, pools: Sequence[str] = ()) -> dict[str, Lock]:
    """Compare the locks of these names. Repair each lock that still differs in the way that was `seen` before.

    `pools`: unlisted pools that may have in-progress lists.
    """
    script = load("gocraft")["relock"]
    found: dict[str, Lock] = {}
    of, names = script.keys(keys), list(seen)
    for start in range(0, len(names), NAMES_AT_ONCE):
        part = names[start : start + NAMES_AT_ONCE]
        calls = [(script, of, [keys.prefix, name, seen[name], *pools]) for name in part]
        found.update(zip(part, (Lock(*reply) for reply in server.exchange(calls)), strict=True))
    return found
