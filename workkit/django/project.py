"""Import this module to make the Django project of DJANGO_SETTINGS_MODULE ready to run its jobs.

Every listener of `manage.py workkit` imports it, and each of its worker processes does too, before any handler.
"""

from __future__ import annotations

import django
from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from workkit.django.apps import backends, close_around_runs


def import_handlers() -> None:
    """Import `jobs` of each installed app that has it; if workkit runs tasks, also `tasks`. Raises the errors of these
    modules.
    """
    autodiscover_modules("jobs", *(["tasks"] if backends() else []))


if not apps.ready:
    django.setup()
close_around_runs()  # also if the app is not installed
import_handlers()
