"""workkit in a Django project: a backend of `django.tasks`, additions that wait for the commit, `manage.py workkit`.

    INSTALLED_APPS = [..., "workkit.django"]
    WORKKIT = {"schedule": "shop", "redis": "redis://127.0.0.1:6379/"}
    TASKS = {"default": {"BACKEND": "workkit.django.Backend"}}

and on any machines that have the project: ``python manage.py workkit listen``.

WORKKIT holds the keywords of `schedule.create`, its name as `schedule`; the default of `tz` is TIME_ZONE. The OPTIONS
of a backend take the same keys, which override WORKKIT, and these:

    schedules    queues that have a schedule of their own, {"emails": "shop-emails"}; all others share `schedule`
    keep         how long results are kept after the end, by default "1 day"; None: no results are kept
    keep_most    the largest result that is kept, "1MB"
    database     the database of the transactions that an addition waits for, "default"; with ENQUEUE_ON_COMMIT False
    none

Before and after each run, old and broken connections to the databases are closed, as Django does around requests. A
listener imports `jobs.py` of each installed app, and `tasks.py` if a backend is in TASKS. The module
`workkit.django.project` makes a project ready: ``workkit listen shop --import workkit.django.project`` works without
manage.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workkit.django.backend import Backend
    from workkit.django.project_settings import add_on_commit, default_schedule

__all__ = ["Backend", "add_on_commit", "default_schedule"]

_HOMES = {
    "Backend": "backend",
    "add_on_commit": "project_settings",
    "default_schedule": "project_settings",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: a project without tasks does not need the packages for tasks."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
