"""Jobs that were read before, by id. An id is the hash of its payload, so what is kept is never stale."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from workkit import wire
from workkit.jobs.job import Job

MOST: Final = 50_000


@dataclass(slots=True, eq=False)
class KeptJobs:
    """Keeps jobs as their payloads say them, without a state or a due time. The one that was read the longest ago gives
    way. Thread-safe.
    """

    most: int = MOST
    _jobs: OrderedDict[str, Job] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def unknown(self, ids: list[str]) -> list[str]:
        """List those of these ids that are not kept."""
        with self._lock:
            return [id for id in ids if id not in self._jobs]

    def job(self, id: str) -> Job | None:
        """Give one; None for one that is not kept."""
        with self._lock:
            if (found := self._jobs.get(id)) is not None:
                self._jobs.move_to_end(id)
            return found

    def recurring(self, ids: list[str]) -> dict[str, Job]:
        """Give those of these jobs that recur, by id."""
        with self._lock:
            found = {}
            for id in ids:
                if id in self._jobs:
                    self._jobs.move_to_end(id)
                    if (job := self._jobs[id]).recurs:
                        found[id] = job
            return found

    def keep(self, id: str, payload: bytes, job: Job) -> None:
        """Keep a job that was read. One whose id is no hash of its payload is not kept."""
        if wire.job_id(payload) != id:
            return
        with self._lock:
            self._jobs[id] = job
            while len(self._jobs) > self.most:
                self._jobs.popitem(last=False)
