"""Run Python functions later, on any machine, at times written in English. Redis is the only requirement.

    from workkit import schedule

    s = schedule.create("app-tasks", redis="redis://127.0.0.1:6379/")
    schedule.add(s, at="7pm tomorrow", fn=cache.clear)

and on any machines that have the code: ``workkit listen app-tasks``.
"""

from typing import TYPE_CHECKING, Any

from workkit._version import __version__

if TYPE_CHECKING:
    from workkit import aio, events, metrics, schedule, triggers, wire
    from workkit.errors import Discard, Retry, WorkkitError
    from workkit.jobs.call import call
    from workkit.jobs.job import Job
    from workkit.jobs.marks import job
    from workkit.jobs.names import clojure
    from workkit.schedule import Schedule
    from workkit.worker.run.run import JobLogFilter, current_job

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

_HOMES = {
    "Discard": "errors",
    "Job": "jobs.job",
    "JobLogFilter": "worker.run.run",
    "Retry": "errors",
    "Schedule": "schedule",
    "WorkkitError": "errors",
    "call": "jobs.call",
    "clojure": "jobs.names",
    "current_job": "worker.run.run",
    "job": "jobs.marks",
}
_MODULES = ("aio", "events", "metrics", "schedule", "triggers", "wire")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that a handler's `from workkit import job` starts fast."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
