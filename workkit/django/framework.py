"""The tasks of Django: `django.tasks` since Django 6.0, or the same in the package django-tasks, for earlier ones.

A project that has the app ``django_tasks`` installed uses that package, whatever its Django has.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.conf import settings


def _home() -> str:
    if any(app.partition(".")[0] == "django_tasks" for app in settings.INSTALLED_APPS):
        return "django_tasks"
    if find_spec("django.tasks"):
        return "django.tasks"
    if find_spec("django_tasks"):
        return "django_tasks"
    raise ImportError("this Django has no tasks: they came with Django 6.0. Install them: pip install django-tasks")


HOME = _home()
_front: Any = import_module(HOME)
_values: Any = import_module(f"{HOME}.base")
_errors: Any = import_module(f"{HOME}.exceptions")
_signals: Any = import_module(f"{HOME}.signals")

task_backends: Any = _front.task_backends
BaseTaskBackend: Any = import_module(f"{HOME}.backends.base").BaseTaskBackend
Task: Any = _values.Task
TaskContext: Any = _values.TaskContext
TaskError: Any = _values.TaskError
TaskResult: Any = _values.TaskResult
TaskResultStatus: Any = _values.TaskResultStatus
normalize_json: Any = _values.normalize_json
InvalidTask: Any = getattr(_errors, "InvalidTask", None) or _errors.InvalidTaskError  # as the package names it
TaskResultDoesNotExist: Any = _errors.TaskResultDoesNotExist
task_enqueued: Any = _signals.task_enqueued
task_finished: Any = _signals.task_finished
task_started: Any = _signals.task_started
