"""Change a namespace: the front of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from workkit.brokers.gocraft.change.dead_set import DeadSetChange
from workkit.brokers.gocraft.change.jobs import JobChange
from workkit.brokers.gocraft.change.pauses import Pauses
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import Arguments, Revival
from workkit.contract.without_history import WithoutChanges
from workkit.errors import Unsupported
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class GocraftAdmin(WithoutChanges):
    """Changes one namespace. Each method may be repeated."""

    at_once: ClassVar[int] = 500  # in one step of the server
    server: Server
    keys: Keys
    schedule: str

    def cancel(self, job: Job) -> Job:
        """Remove a waiting job, or mark one that a pool of ours runs: see `Admin.cancel`. Raises Unsupported for a job
        that a Go pool runs.
        """
        return self._jobs.cancel(job)

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a name or the whole namespace: see `Admin.pause`. Raises Unsupported for one job."""
        Pauses(server=self.server, keys=self.keys).pause(target, pause)

    def resume(self, target: str) -> bool:
        """End a pause: see `Admin.resume`. Raises Unsupported for one job."""
        return Pauses(server=self.server, keys=self.keys).resume(target)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Raise Unsupported: a namespace has no limit of its own."""
        remedy = "Give each name its limit: @job(NAME, limit=5)."
        raise Unsupported.about("a limit or a rate of a whole namespace", "is not known to gocraft pools", remedy)

    def remember(self, history: History) -> None:
        """Raise Unsupported: a namespace keeps nothing of past runs."""
        remedy = "Leave it out, or use the native layout."
        raise Unsupported.about(f"history={history!r}", "cannot be kept in a gocraft namespace", remedy, given=history)

    def acknowledge(self) -> None:
        """Raise Unsupported: nothing here keeps up to when deaths are known."""
        raise Unsupported.about(
            "acknowledging dead jobs", "cannot be kept in a gocraft namespace", "Retry or discard them."
        )

    def forget_history(self) -> None:
        """Raise Unsupported: a namespace keeps nothing of past runs."""
        raise Unsupported.about("history", "is not kept in a gocraft namespace", "There is nothing to remove.")

    def skip(self, job: Job) -> Job:
        """Raise Unsupported: no job recurs here."""
        remedy = f"Take it out: workkit cancel {self.schedule} {job.short_id}."
        raise Unsupported.about("a next run to leave out", "is something no gocraft job has: each runs once", remedy)

    def run(self, job: Job) -> Job:
        """Put a job that waits, or is dead, into its queue now: see `Admin.run`."""
        return self._jobs.run(job)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again: see `Admin.retry`. `args` is an object: keyword arguments."""
        return self._dead_set.retry(dead, args=args, delays_ms=delays_ms)

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set: see `Admin.discard`."""
        return self._dead_set.discard(dead)

    @property
    def _jobs(self) -> JobChange:
        return JobChange(server=self.server, keys=self.keys, schedule=self.schedule)

    @property
    def _dead_set(self) -> DeadSetChange:
        return DeadSetChange(server=self.server, keys=self.keys)
