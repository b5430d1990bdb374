"""Importing this module makes the Django project of DJANGO_SETTINGS_MODULE ready to run its jobs.

Every listener of `manage.py workkit` imports it, and so does each of its worker processes, before any handler.
"""

from __future__ import annotations

import django
from django.apps import apps

from workkit.django import connections, discovery

if not apps.ready:
    django.setup()
connections.close_around_runs()  # also where the app is not installed
discovery.import_handlers()
