"""The backend of `django.tasks` that runs tasks as jobs of a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Warning
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import get_random_string

from workkit.django import moment
from workkit.django.commit import add_later
from workkit.django.declared import declare, handler_for
from workkit.django.found_result import find_result
from workkit.django.framework import (
    BaseTaskBackend,
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from workkit.django.note import KEY, TaskNote
from workkit.django.project_settings import CREATE, NAME, check_keys, schedule_of
from workkit.django.task_run import handler_of, task_result
from workkit.errors import Invalid, InvalidArguments, InvalidFunction
from workkit.jobs.arguments import check_call
from workkit.jobs.importing import refuse_addition
from workkit.jobs.names import read_name, stored_name
from workkit.text.wording import listed
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import read_add_options
from workkit.verbs.opening import present

QUEUES, KEEP, MOST, DATABASE = "schedules", "keep", "keep_most", "database"
OPTIONS = (NAME, QUEUES, KEEP, MOST, DATABASE, *CREATE)
KEPT = "1 day"
PRIORITIES = ((51, 3), (1, 2), (0, 1))  # from which priority of Django on a job has which of ours; below: 0


class Backend(BaseTaskBackend):  # type: ignore[misc]  # untyped
    """Runs each task as a job, named by the id of its result.

    Its OPTIONS: `workkit.django`. An addition within a transaction is made when that is committed, unless
    ENQUEUE_ON_COMMIT is False. A task whose
    function has options of `@job` under ``@task`` has these: retries, timeout, limits, cpu. Priorities -100 to -1, 0,
    1 to 50 and 51 to 100 are the priorities 0, 1, 2 and 3 of jobs; tasks of one of them run in the order of their
    times.
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
        """The schedules that its tasks are on."""
        return list(dict.fromkeys([self._default, *self._own.values()]))

    def validate_task(self, task: Any) -> None:
        """Refuse a task that cannot run here; from now on listeners of this program run it. Raises InvalidTask."""
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

        The arguments and times of a failed task are known as long as it is in the dead set, and its attempts as long as
        history has them. While a task runs for the first time, its start is not known.
        """
        if not self.supports_get_result:
            return super().get_result(result_id)
        found = next((found for s in self.schedules if (found := find_result(s, result_id)) is not None), None)
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
        """Read which queues have a schedule of their own. Raises ImproperlyConfigured."""
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
        """The keywords of `add` for a task."""
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
            left = moment.aware(task.run_after) - present(self._own.get(task.queue_name, self._default))
            if left > timedelta():
                given["in_"] = left
        return given
