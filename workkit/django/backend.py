"""The backend of `django.tasks` that runs tasks as jobs of a schedule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Warning
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import get_random_string

from workkit import errors
from workkit.contract.broker import Inspector
from workkit.contract.composed import finished_job
from workkit.contract.history import NO_RUN, PastRun, Result
from workkit.django.framework import (
    BaseTaskBackend,
    InvalidTask,
    TaskError,
    TaskResultDoesNotExist,
    TaskResultStatus,
    declare,
    handler_for,
    task_enqueued,
    task_of,
)
from workkit.django.project_settings import CREATE, NAME, add_later, check_keys, schedule_of
from workkit.django.task_run import KEY, UNKNOWN, TaskNote, aware, done_note, handler_of, task_note, task_result
from workkit.errors import Invalid, InvalidArguments, InvalidFunction, NotFound, Unsupported
from workkit.jobs.arguments import check_call
from workkit.jobs.importing import refuse_addition
from workkit.jobs.job import Job
from workkit.jobs.names import read_name, stored_name
from workkit.jobs.outcome import Failure
from workkit.text.wording import epoch_ms, listed
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import read_add_options
from workkit.verbs.opening import present, producer_of

QUEUES, KEEP, MOST, DATABASE = "schedules", "keep", "keep_most", "database"
OPTIONS = (NAME, QUEUES, KEEP, MOST, DATABASE, *CREATE)
KEPT = "1 day"
PRIORITIES = ((51, 3), (1, 2), (0, 1))  # (lowest priority in Django, priority of the job); else 0


class Backend(BaseTaskBackend):  # type: ignore[misc]  # untyped
    """Runs each task as a job. The job's name is the id of the result.

    Its OPTIONS: `workkit.django`. An addition within a transaction takes place at the commit, unless ENQUEUE_ON_COMMIT
    is False. If the function of a task has options of `@job` under ``@task``, the task has these options: retries,
    timeout, limits, cpu. Priorities -100 to -1, 0, 1 to 50 and 51 to 100 are the priorities 0, 1, 2 and 3 of jobs;
    tasks of one of them run in the order of their times.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        """Read the settings. No I/O. Raises ImproperlyConfigured."""
        super().__init__(alias, params)
        where = f'OPTIONS of TASKS["{alias}"]'
        check_keys(self.options, OPTIONS, where=where)
        said = {key: value for key, value in self.options.items() if key in (NAME, *CREATE)}
        self._default = schedule_of(said, where=where)
        self._own = {
            queue: schedule_of({**said, NAME: name}, where=where) for queue, name in self._queues(where).items()
        }
        self._on_commit = params.get("ENQUEUE_ON_COMMIT") is not False
        kept = {KEEP: KEPT, **{name: self.options[name] for name in (KEEP, MOST) if name in self.options}}
        self._kept = {name: value for name, value in kept.items() if value is not None}
        try:
            read_add_options(self._kept, verb="add")
        except Invalid as error:
            raise ImproperlyConfigured(f"{where}: {error}") from error
        self.supports_get_result = KEEP in self._kept

    @property
    def schedules(self) -> list[Schedule]:
        """The schedules of its tasks."""
        return list(dict.fromkeys([self._default, *self._own.values()]))

    def validate_task(self, task: Any) -> None:
        """Refuse a task that cannot run here. After this call listeners of this program run it. Raises InvalidTask."""
        super().validate_task(task)
        try:
            declare(task, handler_of)
        except InvalidFunction as error:
            raise InvalidTask(str(error)) from error

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Add a job for a task, now or at the commit; return its TaskResult. Raises InvalidTask; TypeError or an
        InvalidArguments for arguments that JSON cannot carry, or that the function does not take; ServerUnreachable,
        ServerRefused.
        """
        refuse_addition("enqueue")
        self.validate_task(task)
        if KEY in kwargs:
            raise InvalidArguments.about(f"{KEY}=", "is a keyword of workkit's own", "Give it another name.", given=KEY)
        note = TaskNote.of(task)
        result = task_result(
            task, note, id=get_random_string(32), status=TaskResultStatus.READY, args=list(args), kwargs=dict(kwargs)
        )
        check_call(handler_for(task), args=result.args, kwargs=result.kwargs)
        add_later(
            self._own.get(task.queue_name, self._default),
            self._job(task, note, result),
            using=self.options.get(DATABASE),
            at_once=not self._on_commit,
            then=lambda: task_enqueued.send(type(self), task_result=result),
        )
        return result

    def get_result(self, result_id: str) -> Any:
        """Read the TaskResult of this id. Raises TaskResultDoesNotExist, also if it has expired; NotImplementedError
        without `keep`; ServerUnreachable, ServerRefused.

        The arguments and times of a failed task are known while it is in the dead set, and its attempts while history
        keeps them. While a task runs for the first time, its start is not known.
        """
        if not self.supports_get_result:
            return super().get_result(result_id)
        found = next((found for s in self.schedules if (found := _find_result(s, result_id)) is not None), None)
        if found is None:
            raise TaskResultDoesNotExist(result_id)
        return found

    def check(self, **kwargs: Any) -> Iterable[CheckMessage]:
        """Warn of an app that is not installed."""
        yield from super().check(**kwargs)
        if not apps.is_installed("workkit.django"):
            hint = 'Add "workkit.django" to INSTALLED_APPS.'
            yield Warning("Only the app has manage.py workkit.", hint=hint, obj=self, id="workkit.W001")

    def _queues(self, where: str) -> Mapping[str, str]:
        """Read the queues that have a schedule of their own. Raises ImproperlyConfigured."""
        given: Any = self.options.get(QUEUES, {})
        if not isinstance(given, Mapping):
            remedy = 'Write {"emails": "shop-emails"}.'
            raise ImproperlyConfigured(f"{QUEUES} in {where} is {given!r}, not a dict. {remedy}")
        strange = next((queue for queue in given if self.queues and queue not in self.queues), None)
        if strange is not None:
            remedy = f"QUEUES has {listed(sorted(self.queues))}; add it there, or leave it out."
            raise ImproperlyConfigured(
                f'{QUEUES} in {where} has "{strange}", which is no queue of this backend. {remedy}'
            )
        return given

    def _job(self, task: Any, note: TaskNote, result: Any) -> dict[str, Any]:
        """Return the keywords of `add` for a task."""
        name = read_name(stored_name(task.func))
        given = {
            "fn": str(name),
            "args": result.args,
            "kwargs": {**result.kwargs, KEY: note.as_json()},
            "name": result.id,
            "priority": next((ours for least, ours in PRIORITIES if task.priority >= least), 0),
            **self._kept,
        }
        if task.run_after is not None:
            left = aware(task.run_after) - present(self._own.get(task.queue_name, self._default))
            if left > timedelta():
                given["in_"] = left
        return given


MOST_RUNS = 1000  # runs of the history in which the attempts of a task are searched, at most
RUNNING = ("running", "cancelling")


def _find_result(s: Schedule, id: str) -> Any:
    """Return the TaskResult of this id; None if the schedule has none, or the project no longer has its task."""
    inspector = producer_of(s).inspector
    kept = _kept(inspector, id)
    for _ in range(2):  # a task may end between two looks
        if kept is not None and kept.kind == "value":
            return _of_done(inspector, id, kept)
        job = _job(inspector, id)
        if job is not None:
            return _of_job(inspector, id, job)
        if kept is not None:
            return _of_ended(inspector, id, kept, s)
        kept = _kept(inspector, id)
    return None


def _kept(inspector: Inspector, id: str) -> Result | None:
    job_id = inspector.history.result_id(id)
    found = inspector.history.results(job_id) if job_id is not None else ()
    return found[0] if found else None


def _job(inspector: Inspector, id: str) -> Job | None:
    try:
        job = inspector.job(id)
    except NotFound:
        return None
    return job if job.name == id else None  # else the text is the beginning of another id


def _of_done(inspector: Inspector, id: str, kept: Result) -> Any:
    done = done_note(kept.value)
    note = None if done is None else task_note(done.task)
    if done is None or note is None or (task := task_of(done.fn)) is None:
        return None  # also for a job of this name that is no task
    before = _attempts(inspector, id)[:-1] if done.attempt else []
    found = task_result(
        task,
        note,
        id=id,
        status=TaskResultStatus.SUCCESSFUL,
        args=done.args,
        kwargs=done.kwargs,
        started_ms=_begun_ms(before[0]) if before else done.started_ms,
        attempted_ms=done.started_ms,
        ended_ms=done.ended_ms,
        workers=[*_workers(before, done.attempt), done.worker],
    )
    object.__setattr__(found, "_return_value", done.return_value)
    return found


def _of_job(inspector: Inspector, id: str, job: Job) -> Any:
    """Return the result of a task that waits, runs, or is dead."""
    kwargs = dict(job.kwargs or {})
    note, task = task_note(kwargs.pop(KEY, None)), task_of(job.fn)
    if note is None or task is None:
        return None
    is_dead, is_running = job.state == "dead", job.state in RUNNING
    begun = job.attempt + is_dead  # attempts that have ended
    past = _attempts(inspector, id)[-begun:] if begun else []
    return task_result(
        task,
        note,
        id=id,
        status=TaskResultStatus.FAILED
        if is_dead
        else TaskResultStatus.RUNNING
        if is_running
        else TaskResultStatus.READY,
        args=list(job.args),
        kwargs=kwargs,
        started_ms=_begun_ms(past[0]) if past else None,
        attempted_ms=_begun_ms(past[-1]) if past else None,
        ended_ms=epoch_ms(past[-1].ended) if past and is_dead else None,
        errors=[] if job.failure is None else [_task_error(job.failure)],
        workers=[*_workers(past, begun), *([_listener(inspector, job)] if is_running else [])],
    )


def _of_ended(inspector: Inspector, id: str, kept: Result, s: Schedule) -> Any:
    """Return the result of a failed task without a job: the job was discarded or cancelled. Its arguments are lost with
    the job.
    """
    over = finished_job(inspector, id, schedule=s.name, most=MOST_RUNS)
    task = None if over is None else task_of(over.fn)
    if task is None:
        return None
    past = _attempts(inspector, id)
    return task_result(
        task,
        TaskNote(enqueued_ms=kept.due_ms, backend=task.backend, queue=task.queue_name, priority=task.priority),
        id=id,
        status=TaskResultStatus.FAILED,
        args=[],
        kwargs={},
        started_ms=_begun_ms(past[0]) if past else None,
        attempted_ms=_begun_ms(past[-1]) if past else None,
        ended_ms=epoch_ms(past[-1].ended) if past else None,
        errors=[_task_error(kept.failure or Failure(type="?", message=""))],
        workers=_workers(past, len(past)),
    )


def _attempts(inspector: Inspector, id: str) -> list[PastRun]:
    """Return the attempts of a task that history keeps, the first one first."""
    try:
        found = [
            run for run in islice(inspector.history.runs(), MOST_RUNS) if run.name == id and run.ending not in NO_RUN
        ]
    except Unsupported:
        return []
    return found[::-1]


def _workers(past: Sequence[PastRun], count: int) -> list[str]:
    """Return the workers of `count` attempts; history may not have all of them."""
    return [*[UNKNOWN] * (count - len(past)), *(run.listener or UNKNOWN for run in past[-count:] if count)]


def _begun_ms(run: PastRun) -> int:
    return epoch_ms(run.ended) - run.took_ms


def _listener(inspector: Inspector, job: Job) -> str:
    """Return the listener that runs a job now."""
    running = (one.listener for one in inspector.listeners() if any(run.id == job.id for run in one.running))
    return next(running, UNKNOWN)


def _task_error(failure: Failure) -> Any:
    return TaskError(exception_class_path=class_path(failure), traceback=failure.traceback)


def class_path(failure: Failure) -> str:
    """Return the full class name of an error, from the last lines of its traceback. Without a traceback it counts as a
    class of Python, or of workkit.
    """
    last = failure.traceback.rpartition("\nTraceback (most recent call last):")[2]  # behind those of its causes
    said = re.search(rf"^((?:\w+\.)*{re.escape(failure.type)})(?::|$)", last, re.MULTILINE)
    path = said[1] if said else failure.type
    if "." in path:
        return path
    return f"workkit.errors.{path}" if hasattr(errors, path) else f"builtins.{path}"
