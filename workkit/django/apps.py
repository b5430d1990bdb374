"""The app of INSTALLED_APPS: it gives a project `manage.py workkit`, and closes connections around runs."""

from __future__ import annotations

from django.apps import AppConfig

from workkit.django import connections


class WorkkitConfig(AppConfig):  # type: ignore[misc]  # untyped
    """The app ``workkit.django``."""

    name = "workkit.django"
    label = "workkit"
    verbose_name = "workkit"

    def ready(self) -> None:
        """Close old connections around every run of this process."""
        connections.close_around_runs()
