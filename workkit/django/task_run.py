"""One run of a task: its context, Django's signals around it, its kept result, and the note of its addition.

Below: instants in the form of the project, aware in UTC with USE_TZ, else naive in TIME_ZONE.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import socket
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from workkit.django.framework import (
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
    unchecked,
)
from workkit.errors import ListenerStopped
from workkit.jobs.marks import options_of
from workkit.jobs.names import stored_name
from workkit.jobs.outcome import Again, Released, decide
from workkit.jobs.run_options import UNSAID
from workkit.text.wording import epoch_ms
from workkit.worker.run.run import current, current_job

UNKNOWN = "unknown"  # in place of the worker of an earlier attempt


def handler_of(task: Any) -> Callable[..., Any]:
    """Make the handler that a listener calls for a task. A job that was not enqueued as a task, such as one of
    `schedule.add`, calls only its function.
    """

    @functools.wraps(task.func)
    def handler(*args: Any, **kwargs: Any) -> Any:
        run = TaskRun(task, args, kwargs)
        run.tell_started()
        try:
            run.done(task.func(*run.args, **run.kwargs))
        except BaseException as error:
            run.failed(error)
            run.tell_finished()
            raise
        run.tell_finished()
        return run.kept

    @functools.wraps(task.func)
    async def coroutine_handler(*args: Any, **kwargs: Any) -> Any:
        run = TaskRun(task, args, kwargs)
        await run.atell_started()
        try:
            run.done(await task.func(*run.args, **run.kwargs))
        except BaseException as error:
            run.failed(error)
            await run.atell_finished()
            raise
        await run.atell_finished()
        return run.kept

    made: Any = coroutine_handler if inspect.iscoroutinefunction(task.func) else handler
    made.__signature__ = signature_of(task)
    return made  # type: ignore[no-any-return]


def signature_of(task: Any) -> inspect.Signature:
    """Return the signature with the parameters that a caller fills: all but the context."""
    signature = inspect.signature(task.func)
    given = list(signature.parameters.values())
    return signature.replace(parameters=given[1:]) if task.takes_context else signature


class TaskRun:
    """The state of a run in this process. `result`: the TaskResult that signals and the context get; an error of a
    signal's receiver does not end the run. `kept`: the value that the handler returns to its listener.
    """

    def __init__(self, task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        job = current_job()
        self._note = task_note(kwargs.pop(KEY, None))
        note = self._note or TaskNote(enqueued_ms=now_ms())
        self._attempt, self._started_ms = job.attempt, now_ms()
        self._sender = type(task_backends[note.backend])
        self._worker = f"{socket.gethostname()}:{os.getpid()}"
        self._is_over = False
        self.kept: Any = None
        self.result = task_result(
            task,
            note,
            id=job.name or job.id or UNKNOWN,
            status=TaskResultStatus.RUNNING,
            args=list(args),
            kwargs=kwargs,
            started_ms=self._started_ms,
            attempted_ms=self._started_ms,
            workers=[*[UNKNOWN] * job.attempt, self._worker],
        )
        self.kwargs = kwargs
        self.args = (TaskContext(task_result=self.result), *args) if task.takes_context else tuple(args)

    def done(self, value: Any) -> None:
        """Store the return value of the function. Raises TypeError for a value that JSON cannot carry, as Django
        does.
        """
        if self._note is None:
            self.kept = value
            return
        value, ended_ms = normalize_json(value), now_ms()
        self._end(ended_ms, TaskResultStatus.SUCCESSFUL)
        object.__setattr__(self.result, "_return_value", value)
        self.kept = DoneNote(
            return_value=value,
            fn=stored_name(self.result.task.func),
            args=self.result.args,
            kwargs=self.result.kwargs,
            task=self._note.as_json(),
            started_ms=self._started_ms,
            ended_ms=ended_ms,
            attempt=self._attempt,
            worker=self._worker,
        ).as_json()

    def failed(self, error: BaseException) -> None:
        """Store the error of the function. The task has not finished if another attempt follows, or another listener
        runs it again.
        """
        if _ends(error, attempt=self._attempt, handler=self.result.task.func):
            self.result.errors.append(_task_error(error))
            self._end(now_ms(), TaskResultStatus.FAILED)

    def _end(self, ended_ms: int, status: Any) -> None:
        self._is_over = True
        object.__setattr__(self.result, "finished_at", of_ms(ended_ms))
        object.__setattr__(self.result, "status", status)

    def tell_started(self) -> None:
        """Send the signal `task_started`."""
        if self._note is not None:
            task_started.send_robust(self._sender, task_result=self.result)

    def tell_finished(self) -> None:
        """Send the signal `task_finished`, if the task has finished."""
        if self._note is not None and self._is_over:
            task_finished.send_robust(self._sender, task_result=self.result)

    async def atell_started(self) -> None:
        """Do the same as `tell_started`; receivers that are no coroutines run in a thread."""
        if self._note is not None:
            await task_started.asend_robust(self._sender, task_result=self.result)

    async def atell_finished(self) -> None:
        """Do the same as `tell_finished`; receivers that are no coroutines run in a thread."""
        if self._note is not None and self._is_over:
            await task_finished.asend_robust(self._sender, task_result=self.result)


def task_result(
    task: Any,
    note: TaskNote,
    *,
    id: str,
    status: Any,
    args: list[Any],
    kwargs: dict[str, Any],
    started_ms: int | None = None,
    attempted_ms: int | None = None,
    ended_ms: int | None = None,
    errors: Sequence[Any] = (),
    workers: Sequence[str] = (),
) -> Any:
    """Make a TaskResult of a task as it was enqueued. Times are milliseconds since 1970."""
    times = {"started_at": started_ms, "last_attempted_at": attempted_ms, "finished_at": ended_ms}
    return TaskResult(
        task=unchecked(
            task,
            backend=note.backend,
            queue_name=note.queue,
            priority=note.priority,
            run_after=None if note.run_after is None else of_iso(note.run_after),
        ),
        id=id,
        status=status,
        enqueued_at=of_ms(note.enqueued_ms),
        args=args,
        kwargs=kwargs,
        backend=note.backend,
        errors=list(errors),
        worker_ids=list(workers),
        **{name: None if ms is None else of_ms(ms) for name, ms in times.items()},
    )


def _ends(error: BaseException, *, attempt: int, handler: Callable[..., Any]) -> bool:
    """Return whether a run that ends with this error is the last one, by the rules of its listener."""
    run = current.get()
    cancelled = run is not None and run.cancelled
    if isinstance(error, asyncio.CancelledError | ListenerStopped):  # the listener stops, and gives the job back
        return cancelled or (run is not None and run.clock is not None and run.clock.expired)
    said = UNSAID if run is None else run.claim.job.options
    outcome = decide(error, None, attempt=attempt, options=said.over(options_of(handler)), cancelled=cancelled)
    return not isinstance(outcome, Again | Released)


def _task_error(error: BaseException) -> Any:
    kind = type(error)
    path = f"{kind.__module__}.{kind.__qualname__}"
    return TaskError(exception_class_path=path, traceback="".join(traceback.format_exception(error)))


KEY = "django.task"  # the keyword of a job that carries it; no parameter of a function has such a name


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNote:
    """The circumstances of an enqueued task: when (ms since 1970), its backend, queue and priority; `run_after` as ISO
    8601.
    """

    enqueued_ms: int
    backend: str = "default"
    queue: str = "default"
    priority: int = 0
    run_after: str | None = None

    @classmethod
    def of(cls, task: Any) -> TaskNote:
        """Note how a task is enqueued now."""
        after = None if task.run_after is None else aware(task.run_after).isoformat()
        return cls(
            enqueued_ms=now_ms(),
            backend=task.backend,
            queue=task.queue_name,
            priority=task.priority,
            run_after=after,
        )

    def as_json(self) -> dict[str, Any]:
        """Write it as JSON; leave out default values."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneNote:
    """The kept result of a successful task: its return value, and the data that the server deletes with the job."""

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
        """Write all of it as JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def task_note(given: Any) -> TaskNote | None:
    """Read the value of `KEY` in a job; None if it is no note."""
    found: TaskNote | None = _read(TaskNote, given)
    return found


def done_note(given: Any) -> DoneNote | None:
    """Read a kept result; None if it is no result of a task."""
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


def of_ms(ms: int) -> datetime:
    """Return the instant that is this many milliseconds after 1970."""
    return of_instant(datetime.fromtimestamp(ms / 1000, UTC))


def of_instant(instant: datetime) -> datetime:
    """Convert an aware instant to the form of the project."""
    if settings.USE_TZ:
        return instant
    naive: datetime = timezone.make_naive(instant, timezone.get_default_timezone())
    return naive


def aware(instant: datetime) -> datetime:
    """Return an instant of the project with its zone."""
    if timezone.is_aware(instant):
        return instant
    found: datetime = timezone.make_aware(instant, timezone.get_default_timezone())
    return found


def now_ms() -> int:
    """Return the time of this machine's clock in milliseconds since 1970."""
    return epoch_ms(datetime.now(UTC))


def of_iso(text: str) -> datetime:
    """Read an instant from ISO 8601, with its zone."""
    return of_instant(datetime.fromisoformat(text))
