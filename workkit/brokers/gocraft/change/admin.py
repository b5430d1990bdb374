"""Change a namespace: the front of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.gocraft.change.dead_set import DeadSetChange
from workkit.brokers.gocraft.change.jobs import JobChange
from workkit.brokers.gocraft.change.pauses import Pauses
from workkit.brokers.gocraft.keys import Keys
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
    not_one_run,
    unmoved,
    unsteered,
)  # fmt: skip
from workkit.errors import Unsupported
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class GocraftAdmin:
    """Changes one namespace. Each method may be repeated."""

    server: Server
    keys: Keys
    schedule: str

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> GocraftAdmin:
        """Return itself: changes are not recorded, and none can be undone."""
        return self

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record nothing."""

    def steer(self, change: Steer) -> bool:
        """Pause or resume a name or the whole namespace: see `Admin.steer`. Raises Unsupported for one job, and for all
        other changes.
        """
        pauses = Pauses(server=self.server, keys=self.keys)
        match change:
            case Paused(target, pause):
                pauses.pause(target, pause)
                return True
            case Resumed(target):
                return pauses.resume(target)
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
        """Remove a waiting job, or mark one that a pool of ours runs: see `Admin.cancel`. Raises Unsupported for a job
        that a Go pool runs, and for one run of a job.
        """
        if listener is not None:
            raise not_one_run(job)
        return self._jobs.cancel(job)

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Raise Unsupported: a job keeps its time, and none recurs."""
        if isinstance(to, NextRun):
            remedy = f"Take it out: workkit cancel {self.schedule} {jobs[0].short_id}."
            trouble = "is something no gocraft job has: each runs once"
            raise Unsupported.about("a next run to leave out", trouble, remedy)
        raise unmoved(jobs[0], to)

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
