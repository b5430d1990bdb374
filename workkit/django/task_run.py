"""One run of a task: its context, the signals of Django around it, and what is kept of it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from workkit.django import moment
from workkit.django.declared import unchecked
from workkit.django.framework import (
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from workkit.django.note import KEY, DoneNote, TaskNote, task_note
from workkit.errors import ListenerStopped
from workkit.jobs.marks import options_of
from workkit.jobs.names import stored_name
from workkit.jobs.outcome import Again, Released, decide
from workkit.jobs.run_options import UNSAID
from workkit.worker.run.run import current, current_job

UNKNOWN = "unknown"  # in place of the worker of an earlier attempt


def handler_of(task: Any) -> Callable[..., Any]:
    """Make what a listener calls for a task. A job that was not enqueued as a task, such as one of `schedule.add`,
    calls its function alone.
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
    """The parameters that a caller fills: all but the context."""
    signature = inspect.signature(task.func)
    given = list(signature.parameters.values())
    return signature.replace(parameters=given[1:]) if task.takes_context else signature


class TaskRun:
    """What this process knows of a run. `result` is the TaskResult that signals and the context get; receivers of
    signals that raise do not end the run. `kept` is what the handler returns to its listener.
    """

    def __init__(self, task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        job = current_job()
        self._note = task_note(kwargs.pop(KEY, None))
        note = self._note or TaskNote(enqueued_ms=moment.now_ms())
        self._attempt, self._started_ms = job.attempt, moment.now_ms()
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
        """Note what the function returned. Raises TypeError for what JSON cannot carry, as Django does."""
        if self._note is None:
            self.kept = value
            return
        value, ended_ms = normalize_json(value), moment.now_ms()
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
        """Note the error of the function. The task has not finished if another attempt follows, or another listener
        runs it again.
        """
        if _ends(error, attempt=self._attempt, handler=self.result.task.func):
            self.result.errors.append(_task_error(error))
            self._end(moment.now_ms(), TaskResultStatus.FAILED)

    def _end(self, ended_ms: int, status: Any) -> None:
        self._is_over = True
        object.__setattr__(self.result, "finished_at", moment.of_ms(ended_ms))
        object.__setattr__(self.result, "status", status)

    def tell_started(self) -> None:
        """Send the signal."""
        if self._note is not None:
            task_started.send_robust(self._sender, task_result=self.result)

    def tell_finished(self) -> None:
        """Send the signal, if the task has finished."""
        if self._note is not None and self._is_over:
            task_finished.send_robust(self._sender, task_result=self.result)

    async def atell_started(self) -> None:
        """As `tell_started`; receivers that are no coroutines have a thread."""
        if self._note is not None:
            await task_started.asend_robust(self._sender, task_result=self.result)

    async def atell_finished(self) -> None:
        """As `tell_finished`; receivers that are no coroutines have a thread."""
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
            run_after=None if note.run_after is None else moment.of_iso(note.run_after),
        ),
        id=id,
        status=status,
        enqueued_at=moment.of_ms(note.enqueued_ms),
        args=args,
        kwargs=kwargs,
        backend=note.backend,
        errors=list(errors),
        worker_ids=list(workers),
        **{name: None if ms is None else moment.of_ms(ms) for name, ms in times.items()},
    )


def _ends(error: BaseException, *, attempt: int, handler: Callable[..., Any]) -> bool:
    """Whether a run that ends with this error is the last one, as its listener will decide."""
    run = current.get()
    cancelled = run is not None and run.cancelled
    if isinstance(error, asyncio.CancelledError | ListenerStopped):  # the listener stops, and gives it back
        return cancelled or (run is not None and run.clock is not None and run.clock.expired)
    said = UNSAID if run is None else run.claim.job.options
    outcome = decide(error, None, attempt=attempt, options=said.over(options_of(handler)), cancelled=cancelled)
    return not isinstance(outcome, Again | Released)


def _task_error(error: BaseException) -> Any:
    kind = type(error)
    path = f"{kind.__module__}.{kind.__qualname__}"
    return TaskError(exception_class_path=path, traceback="".join(traceback.format_exception(error)))
