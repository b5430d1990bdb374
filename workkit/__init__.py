"""Run Python functions later, on any machine, at times written in English. Redis is the only requirement.

    from workkit import schedule

    s = schedule.create("app-tasks", redis="redis://127.0.0.1:6379/")
    schedule.add(s, at="7pm tomorrow", fn=cache.clear)

and on any machines that have the code: ``workkit listen app-tasks``.
"""

from typing import TYPE_CHECKING

from workkit._version import __version__
from workkit.later import at_first_use

if TYPE_CHECKING:
    from workkit import aio, events, metrics, schedule, triggers, wire
    from workkit.errors import Discard, Retry, WorkkitError
    from workkit.jobs.call import call
    from workkit.jobs.job import Job
    from workkit.jobs.marks import job
    from workkit.jobs.names import clojure
    from workkit.schedule import Schedule
    from workkit.worker.run.run import JobLogFilter, current_job
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "workkit.errors": "Discard Retry WorkkitError",
            "workkit.jobs.call": "call",
            "workkit.jobs.job": "Job",
            "workkit.jobs.marks": "job",
            "workkit.jobs.names": "clojure",
            "workkit.verbs.creation": "Schedule",
            "workkit.worker.run.run": "JobLogFilter current_job",
            **{f"workkit.{name}": name for name in ("aio", "events", "metrics", "schedule", "triggers", "wire")},
        },
    )

__all__ = [
    "Discard",
    "Job",
    "JobLogFilter",
    "Retry",
    "Schedule",
    "WorkkitError",
    "__version__",
    "aio",
    "call",
    "clojure",
    "current_job",
    "events",
    "job",
    "metrics",
    "schedule",
    "triggers",
    "wire",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
