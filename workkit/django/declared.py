"""The tasks of this program, by the names of their functions, and which handler a listener calls for each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from workkit.django.framework import Task
from workkit.jobs.marks import Handler, call_instead
from workkit.jobs.names import read_name, stored_name

_tasks: dict[str, tuple[Any, Handler]] = {}  # by the stored name of the function


def declare(task: Any, handler: Callable[[Any], Handler]) -> None:
    """Have a listener run a task where a job names its function; `handler` makes what it calls. A copy of a task with
    other settings changes nothing. Raises InvalidFunction for a function that no listener could run.
    """
    name = stored_name(task.func)
    if name not in _tasks or _tasks[name][0].func is not task.func:
        made = handler(task)
        call_instead(task.func, made)
        _tasks[name] = task, made


def handler_for(task: Any) -> Handler:
    """What a listener calls for a task that was declared."""
    return _tasks[stored_name(task.func)][1]


def task_of(fn: str) -> Any:
    """Find the task of a stored function; import its module, if need be. None where it is no task any more."""
    if fn not in _tasks and (name := read_name(fn)) is not None and name.is_python:
        try:
            import_module(name.space)
        except ImportError:
            return None
    return _tasks[fn][0] if fn in _tasks else None


def unchecked(task: Any, **changes: Any) -> Any:
    """Copy a task with other settings. They are not validated: it was enqueued so, whatever the settings of the project
    say today.
    """
    copy = object.__new__(type(task))
    for name in Task.__dataclass_fields__:
        object.__setattr__(copy, name, changes.get(name, getattr(task, name)))
    return copy
