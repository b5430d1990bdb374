"""workkit in a Django project: a backend of `django.tasks`, additions that wait for the commit, `manage.py workkit`.

    INSTALLED_APPS = [..., "workkit.django"]
    WORKKIT = {"schedule": "shop", "redis": "redis://127.0.0.1:6379/"}
    TASKS = {"default": {"BACKEND": "workkit.django.Backend"}}

and on any machines that have the project: ``python manage.py workkit listen``.

WORKKIT holds the keywords of `schedule.create`, its name as `schedule`; `tz` is TIME_ZONE where it is not given. The
OPTIONS of a backend take the same keys, which win, and these:

    schedules    queues that have a schedule of their own, {"emails": "shop-emails"}; all others share `schedule`
    keep         how long results are kept after the end, "1 day" where nothing is said; None: not at all
    keep_most    the largest result that is kept, "1MB"
    database     whose transactions an addition waits for, "default"; with ENQUEUE_ON_COMMIT False for none

Around each run the connections to the databases are closed that are too old or broken, as Django does around requests.
A listener imports `jobs.py` of each installed app, and `tasks.py` where a backend is in TASKS. `workkit.django.project`
is a module that makes a project ready: ``workkit listen shop --import workkit.django.project`` does without manage.py.
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
    """Import what is asked for: a project without tasks needs no package for them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
