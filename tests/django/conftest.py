"""A Django project in this process, for the tests of this folder alone: what is around runs here ends with each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.optional import needed
from tests.servers import Server
from workkit.jobs.middleware import AROUND, EVERY
from workkit.schedule import Schedule

django = needed("django")
if not os.environ.get("CI"):
    from importlib.util import find_spec

    if not (find_spec("django.tasks") or find_spec("django_tasks")):
        pytest.skip("no django.tasks, and no django-tasks", allow_module_level=True)

SETTINGS, DATABASE = "tests.django.settings", "WORKKIT_TEST_DJANGO"
BACKEND = "workkit.django.Backend"
HOW: dict[str, Any] = {"imports": ["workkit.django.project", "tests.django.tasks"], "folder": None}


@pytest.fixture(scope="session")
def _ready(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = str(tmp_path_factory.mktemp("django") / "project.sqlite3")
    zone, before = os.environ.get("TZ"), os.environ.get("DJANGO_SETTINGS_MODULE")
    os.environ |= {"DJANGO_SETTINGS_MODULE": SETTINGS, DATABASE: file}
    django.setup()
    for key, value in (("TZ", zone), ("DJANGO_SETTINGS_MODULE", before), (DATABASE, None)):
        os.environ.pop(key, None)
        if value is not None:
            os.environ[key] = value
    time.tzset()
    return AROUND.pop(EVERY), file


@pytest.fixture(autouse=True)
def project(_ready: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The project is ready, also in worker processes."""
    from django.db import connections

    from tests.django import tasks

    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", SETTINGS)
    around, file = _ready
    monkeypatch.setenv(DATABASE, file)
    monkeypatch.setitem(AROUND, EVERY, around)
    tasks.ran.clear()
    tasks.seen.clear()
    yield
    connections.close_all()


@pytest.fixture
def s(server: Server, name: str) -> Iterator[Schedule]:
    """A schedule of its own for the test, which the settings name."""
    from django.test import override_settings

    from workkit.django import default_schedule

    with override_settings(WORKKIT={"schedule": name, "redis": server.url}):
        from workkit.django.framework import task_backends

        task_backends["default"]  # made anew, as the settings have changed
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": ["default", "emails"]}}):
            yield default_schedule()
