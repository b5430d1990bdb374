"""The tasks of Django: `django.tasks` since Django 6.0, or the package django-tasks for earlier releases.

A project that has the app ``django_tasks`` installed uses that package, even with Django 6.0. Below: the tasks of this
program, by the names of their functions, with the handler that a listener calls for each.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.conf import settings

from workkit.jobs.marks import Handler, call_instead
from workkit.jobs.names import read_name, stored_name


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


_tasks: dict[str, tuple[Any, Handler]] = {}  # by the stored name of the function


def declare(task: Any, handler: Callable[[Any], Handler]) -> None:
    """Make listeners run a task for jobs that name its function; `handler` makes the function that they call. A copy of
    a task with other settings changes nothing. Raises InvalidFunction for a function that no listener could run.
    """
    name = stored_name(task.func)
    if name not in _tasks or _tasks[name][0].func is not task.func:
        made = handler(task)
        call_instead(task.func, made)
        _tasks[name] = task, made


def handler_for(task: Any) -> Handler:
    """Return the handler that a listener calls for a declared task."""
    return _tasks[stored_name(task.func)][1]


def task_of(fn: str) -> Any:
    """Return the task of a stored function; import its module if needed. None if it is no task any more."""
    if fn not in _tasks and (name := read_name(fn)) is not None and name.is_python:
        try:
            import_module(name.space)
        except ImportError:
            return None
    return _tasks[fn][0] if fn in _tasks else None


def unchecked(task: Any, **changes: Any) -> Any:
    """Copy a task with other settings, without validation: the task was enqueued with them, whatever the project's
    settings are now.
    """
    copy = object.__new__(type(task))
    for name in Task.__dataclass_fields__:
        object.__setattr__(copy, name, changes.get(name, getattr(task, name)))
    return copy
