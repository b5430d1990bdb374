"""The schedules that a project has: that of WORKKIT, and those of the backends in TASKS that are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

from workkit.django.project_settings import NAME, default_schedule, in_workkit
from workkit.verbs.creation import Schedule

if TYPE_CHECKING:
    from workkit.django.backend import Backend


def backends() -> list[Backend]:
    """The backends of TASKS that are ours. Raises ImproperlyConfigured."""
    if not getattr(settings, "TASKS", None):
        return []
    from workkit.django.backend import Backend
    from workkit.django.framework import task_backends

    return [found for alias in task_backends if isinstance(found := task_backends[alias], Backend)]


def schedules() -> list[Schedule]:
    """All schedules that the settings name, each once: that of WORKKIT first. Raises ImproperlyConfigured."""
    own = [default_schedule()] if NAME in in_workkit() else []
    return list(dict.fromkeys([*own, *(s for backend in backends() for s in backend.schedules)]))
