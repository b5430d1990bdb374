"""What an addition notes of its task beside the arguments, and what a run that is done notes of itself. As JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from workkit.django import moment

KEY = "django.task"  # the keyword under which a job carries it: no parameter of a function has such a name


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNote:
    """How a task was enqueued: when (ms since 1970), with which backend, queue, priority; `run_after` as ISO 8601."""

    enqueued_ms: int
    backend: str = "default"
    queue: str = "default"
    priority: int = 0
    run_after: str | None = None

    @classmethod
    def of(cls, task: Any) -> TaskNote:
        """Note how a task is enqueued now."""
        after = None if task.run_after is None else moment.aware(task.run_after).isoformat()
        return cls(
            enqueued_ms=moment.now_ms(),
            backend=task.backend,
            queue=task.queue_name,
            priority=task.priority,
            run_after=after,
        )

    def as_json(self) -> dict[str, Any]:
        """Write it without what is as usual."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneNote:
    """The kept result of a task that is done: what it returned, and what the server forgets with the job."""

    return_value: Any
    fn: str  # as jobs name it
    args: list[Any]
    kwargs: dict[str, Any]
    task: dict[str, Any]  # a TaskNote
    started_ms: int
    ended_ms: int
    attempt: int
    worker: str

    def as_json(self) -> dict[str, Any]:
        """Write all of it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def task_note(given: Any) -> TaskNote | None:
    """Read what a job carries under `KEY`; None for what is no note."""
    found: TaskNote | None = _read(TaskNote, given)
    return found


def done_note(given: Any) -> DoneNote | None:
    """Read a kept result; None for one that is of no task."""
    found: DoneNote | None = _read(DoneNote, given)
    return found


def _read(kind: Any, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return None
    names = {f.name for f in fields(kind)}
    try:
        return kind(**{name: value for name, value in given.items() if name in names})
    except TypeError:  # a member is missing
        return None
