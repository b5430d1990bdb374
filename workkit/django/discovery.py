"""Where the handlers of a project are: `jobs.py` and `tasks.py` of its apps."""

from __future__ import annotations

from django.utils.module_loading import autodiscover_modules

from workkit.django.project_schedules import backends


def import_handlers() -> None:
    """Import `jobs` of each installed app that has it; where workkit runs tasks, also `tasks`. Raises what a module
    raises.
    """
    autodiscover_modules("jobs", *(["tasks"] if backends() else []))
