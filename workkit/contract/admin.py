"""The side of a broker that changes jobs and pauses: cancel, pause, skip, reschedule, run, retry, discard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from workkit.contract.changes import Author
from workkit.contract.undo import Undo
from workkit.errors import NotFound
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.triggers import Trigger

Revival = Literal["revived", "gone", "waits", "unreadable", "unroutable"]
"""What became of a dead job. "unroutable": no queue takes its message; it is dead still."""

Arguments = Sequence[Any] | Mapping[str, Any]
"""Other arguments for a job: a list replaces the positional ones, an object those that are given by name."""


class Admin(Protocol):
    """Changes one schedule, one step at a time. A method that the layout cannot keep raises Unsupported."""

    @property
    def at_once(self) -> int:
        """How many dead jobs `retry` and `discard` take in one call."""

    def by(self, author: Author | None) -> Admin:
        """Make the same admin, whose changes are recorded as made by somebody. None, as at first: none is recorded. A
        layout that keeps no changes ignores it.
        """

    def keeping(self, undos: list[Undo]) -> Admin:
        """Make the same admin, which adds to a list what undoes each `cancel`, `skip` and `run`. What cannot be undone
        adds nothing.
        """

    def undo(self, undo: Undo) -> Job:
        """Put back exactly what a change took away, and return the job as it was. Raises ChangedMeanwhile where
        something is no longer as that change left it, and Unsupported.
        """

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record a change of the schedule that is made of several steps, before the first one. `after`: what differs
        then; `times`: how many jobs, or faults. `job`: what it is about, where that is one job.
        """

    def mark(self, text: str) -> None:
        """Keep among the changes that something happened now: a release, a failover. It changes nothing else. Raises
        Unsupported.
        """

    def cancel(self, job: Job) -> Job:
        """Remove a waiting job, or flag a running one. Raises NotFound where the job has ended."""

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target (see `Control`). A job is parked at once."""

    def resume(self, target: str) -> bool:
        """End a pause: parked jobs return, a recurring job at its next regular time. False: it was not paused."""

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits: how many jobs run at once, and the milliseconds between two starts."""

    def remember(self, history: History) -> None:
        """Set what listeners keep of past runs, for all of them: see `contract.history`."""

    def acknowledge(self) -> None:
        """Note that all that is dead now is known: checkups report only what dies later. Raises Unsupported."""

    def forget_history(self) -> None:
        """Remove all that is kept of past runs. Listeners begin anew."""

    def quiet(self, listener: str, on: bool) -> bool:
        """Have a listener take nothing new of this schedule, or take work again. It hears of it with its next
        heartbeat; what it has taken goes on. False: it was so already. Raises NotFound, Unsupported.
        """

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job. Raises NotFound where the job no longer waits."""

    def reschedule(self, job: Job, *, trigger: Trigger | None, due_ms: int | None, dry_run: bool = False) -> Job | None:
        """Give a job another time in one step, and keep everything else; return it as it waits then, with its new id.
        `due_ms` None means now, by the server's clock; `dry_run`: write nothing. None: it is not as it was any more, or
        it has no run that could have another time. Raises NotFound where it has ended.
        """

    def snooze(self, jobs: Sequence[Job], time_ms: int, *, dry_run: bool = False) -> list[Job]:
        """Put the next run of each job off by so much from its due time, or from now if that has come; return them as
        they wait then. All of one shard in one step, or none. `dry_run`: write nothing. Raises NotFound where one has
        no run that waits, InvalidOptions where one is paused; Unsupported.
        """

    def run(self, job: Job) -> Job:
        """Run a job once now; a recurring one keeps its times. Raises NotFound."""

    def interrupt(self, job: Job, listener: str) -> Job:
        """Cancel one run, the one with the due time of `job`, as a listener has it; the job itself stays as it is. The
        listener ends the run as one of a cancelled job. Raises NotFound where it does not run there any more,
        Unsupported.
        """

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again, at once or each after its delay; `args` make a new job.

        Returns what became of each. At most `at_once`. Raises InvalidArguments.
        """

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set, and return how many stood there. At most `at_once`."""


def dead_refusal(job: Job) -> NotFound:
    """Make the error for a dead job where one that waits or runs is needed."""
    remedy = f"Forget it: workkit discard {job.schedule} {job.short_id}."
    return NotFound.about(f"{job.short_id} {shown(job.fn)}", "is dead, and does not run", remedy, given=job.id)
