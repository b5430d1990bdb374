"""Run Python functions later, on any machine, at times said in English. Redis is the only thing it needs.

    from workkit import schedule

    s = schedule.create("app-tasks", redis="redis://127.0.0.1:6379/")
    schedule.add(s, at="7pm tomorrow", fn=cache.clear)

and on any machines that have the code: ``workkit listen app-tasks``.
"""

from typing import TYPE_CHECKING, Any

from workkit import schedule, triggers, wire
from workkit._version import __version__
from workkit.errors import Discard, Retry, WorkkitError
from workkit.jobs.job import Job
from workkit.jobs.names import clojure
from workkit.jobs.registry import job
from workkit.schedule import Schedule
from workkit.worker.running import current_job

if TYPE_CHECKING:
    from workkit import aio

__all__ = [
    "Discard",
    "Job",
    "Retry",
    "Schedule",
    "WorkkitError",
    "__version__",
    "aio",
    "clojure",
    "current_job",
    "job",
    "schedule",
    "triggers",
    "wire",
]


def __getattr__(name: str) -> Any:
    if name == "aio":  # asyncio takes a while to import, and only those who ask need it
        import importlib

        return importlib.import_module("workkit.aio")
    raise AttributeError(f"module 'workkit' has no attribute {name!r}")
