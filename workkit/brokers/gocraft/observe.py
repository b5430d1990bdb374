"""What the workers of a pool run, as Go's web page shows it: one hash for each busy worker, at most once a second.

Normative: spec/layouts/gocraft.md, section 9.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence

from workkit.brokers.gocraft.codec import Receipt
from workkit.brokers.gocraft.go_values import dumps
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.listener import Claim

APART = 1.0  # seconds between two writes
LIFE_SECONDS = 86_400
LONGEST = 10_000  # characters of the arguments that are shown


class Observer:
    """The observations of one pool."""

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self.workers: tuple[str, ...] = ()
        self._shows: dict[str, Receipt] = {}  # worker -> what its hash says
        self._began: dict[Receipt, int] = {}
        self._said: dict[Receipt, tuple[str, int]] = {}  # check-ins, with their second
        self._news: set[Receipt] = set()
        self._written_at = 0.0

    def begin(self, threads: int) -> None:
        """Name as many workers as there are threads."""
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
        """Write what changed: the first jobs held are what the workers run. Raises ServerUnreachable, ServerRefused."""
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
            with self._server.translated() as client:
                pipe = client.pipeline(transaction=False)
                if idle:
                    pipe.delete(*idle)
                for worker, receipt in changed:
                    key = self._keys.worker(worker)
                    pipe.delete(key)
                    pipe.hset(key, mapping=self._fields(receipt))
                    pipe.expire(key, LIFE_SECONDS)
                pipe.execute()
        self._shows, self._written_at = shows, now
        self._news.clear()

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
