"""The settings of the project. A test gives the schedule and its server by `override_settings`."""

import os
from importlib.util import find_spec

SECRET_KEY = "of the tests"
INSTALLED_APPS = ["workkit.django", "tests.django", *([] if find_spec("django.tasks") else ["django_tasks"])]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("WORKKIT_TEST_DJANGO", ":memory:")}
}
LOGGING_CONFIG = None  # that of pytest holds
TIME_ZONE = "UTC"
USE_TZ = True

WORKKIT = {"schedule": "of-the-tests"}
TASKS = {"default": {"BACKEND": "workkit.django.Backend", "QUEUES": ["default", "emails"]}}
