"""The settings of the project. Those of workkit are at the end."""

import os
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent.parent

SECRET_KEY = "of your project"
INSTALLED_APPS = [
    "workkit.django",
    "shop",
    *([] if find_spec("django.tasks") else ["django_tasks"]),  # before Django 6.0
]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": HERE / "shop.sqlite3", "OPTIONS": {"timeout": 30}}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TIME_ZONE = "Europe/Paris"
USE_TZ = True

WORKKIT = {"schedule": "shop", "redis": os.environ.get("SHOP_REDIS", f"embedded://{HERE}/.workkit")}
TASKS = {"default": {"BACKEND": "workkit.django.Backend"}}
