"""`current_job()`: which run the calling code belongs to."""

from __future__ import annotations

from contextvars import ContextVar

from workkit.worker.run.run import Run
from workkit.worker.run.running_job import RunningJob

current: ContextVar[Run | None] = ContextVar("workkit_run", default=None)


def current_job() -> RunningJob:
    """Return the job that this thread or coroutine runs; outside a run, one with `id` None whose methods do nothing."""
    run = current.get()
    return RunningJob() if run is None else run.running_job()
