"""`current_job()`: what a handler can know of its own run, and tell about it."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from workkit.broker import Claim
from workkit.errors import JobCancelled
from workkit.jobs.job import Job
from workkit.triggers import Trigger
from workkit.worker.lane import Lane
from workkit.worker.timeouts import Clock


@dataclass(slots=True, kw_only=True)
class RunningJob:
    """The run that is going on: the job's fields, when it started and how late. Outside a run `id` is None, and the
    methods do nothing, so that a handler stays callable in a test.
    """

    id: str | None = None
    schedule: str | None = None
    name: str | None = None
    fn: str | None = None
    args: tuple[Any, ...] = ()
    trigger: Trigger | None = None
    due: datetime | None = None
    attempt: int = 0
    started: datetime | None = None
    lateness: timedelta = timedelta()
    cancelled: bool = False
    context: dict[str, Any] = field(default_factory=dict)
    _clock: Clock | None = field(default=None, repr=False)

    def checkin(self, text: str) -> None:
        """Say how far it is. Raises JobCancelled once the run was cancelled."""
        self._stop_if_cancelled()

    def progress(self, done: int, total: int) -> None:
        """Say how far it is, in numbers. Raises JobCancelled once the run was cancelled."""
        self._stop_if_cancelled()

    def extend(self, time: str | timedelta) -> None:
        """Give this run so long from now before its timeout ends it; without a timeout nothing changes.

        Raises JobCancelled once the run was cancelled, TriggerError.
        """
        from workkit.triggers.duration import duration  # its grammar takes a while to import

        seconds = duration(time, name="time").total_seconds()
        self._stop_if_cancelled()
        if self._clock is not None:
            self._clock.extend(seconds)

    def _stop_if_cancelled(self) -> None:
        if self.cancelled:
            raise JobCancelled(f"job {self.id} was cancelled", given=self.id)


@dataclass(slots=True, eq=False)
class Run:
    """One claim in the hands of a thread. What `current_job()` shows is made only when asked for."""

    claim: Claim
    lane: Lane
    late_ms: int = 0
    started: float = 0.0
    cancelled: bool = False
    shown: RunningJob | None = None
    clock: Clock | None = None

    def show(self) -> RunningJob:
        """The run as its handler sees it, the same object every time."""
        if self.shown is None:
            job: Job = self.claim.job
            self.shown = RunningJob(
                id=job.id,
                schedule=job.schedule,
                name=job.name,
                fn=job.fn,
                args=job.args,
                trigger=job.trigger,
                due=job.due,
                attempt=job.attempt,
                started=datetime.fromtimestamp(time.time() - (time.monotonic() - self.started), UTC),
                lateness=timedelta(milliseconds=self.late_ms),
                _clock=self.clock,
            )
        self.shown.cancelled = self.cancelled
        return self.shown

    def cancel(self) -> None:
        """Ask the handler to stop at its next check-in."""
        self.cancelled = True
        if self.shown is not None:
            self.shown.cancelled = True


current: ContextVar[Run | None] = ContextVar("workkit_run", default=None)


def current_job() -> RunningJob:
    """The job that this code is running for, in its thread or coroutine; an inert one outside a run."""
    run = current.get()
    return RunningJob() if run is None else run.show()
