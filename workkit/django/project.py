"""Importing this module makes the Django project of DJANGO_SETTINGS_MODULE ready to run its jobs.

Every listener of `manage.py workkit` imports it, and so does each of its worker processes, before any handler.
"""

from __future__ import annotations

import django
from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from workkit.django.apps import backends, close_around_runs


def import_handlers() -> None:
    """Import `jobs` of each installed app that has it; where workkit runs tasks, also `tasks`. Raises what a module
    raises.
    """
    autodiscover_modules("jobs", *(["tasks"] if backends() else []))


if not apps.ready:
    django.setup()
close_around_runs()  # also where the app is not installed
import_handlers()
