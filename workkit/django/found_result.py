"""The result of a task, as the server has it: from the kept result of its job, from the job, or from its history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from workkit import errors
from workkit.contract.broker import Inspector
from workkit.contract.composed import finished_job
from workkit.contract.history import NO_RUN, PastRun, Result
from workkit.django.declared import task_of
from workkit.django.framework import TaskError, TaskResultStatus
from workkit.django.note import KEY, TaskNote, done_note, task_note
from workkit.django.task_run import UNKNOWN, task_result
from workkit.errors import NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.text.duration import epoch_ms
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import producer_of

MOST_RUNS = 1000  # of the history, that are searched for the attempts of one task
RUNNING = ("running", "cancelling")


def find_result(s: Schedule, id: str) -> Any:
    """Return the TaskResult of this id; None where the schedule has none, or its task is gone from the project."""
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
        return None  # also that of a job with this name that is no task
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
    """The result of a task that waits, runs, or is dead."""
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
    """The result of a task that has failed, whose job is gone: it was discarded or cancelled. With the job its
    arguments are gone.
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
    """The attempts that history has of a task, the first one first."""
    try:
        found = [
            run for run in islice(inspector.history.runs(), MOST_RUNS) if run.name == id and run.ending not in NO_RUN
        ]
    except Unsupported:
        return []
    return found[::-1]


def _workers(past: Sequence[PastRun], count: int) -> list[str]:
    """Who ran so many attempts; history may not have all of them."""
    return [*[UNKNOWN] * (count - len(past)), *(run.listener or UNKNOWN for run in past[-count:] if count)]


def _begun_ms(run: PastRun) -> int:
    return epoch_ms(run.ended) - run.took_ms


def _listener(inspector: Inspector, job: Job) -> str:
    """Who runs a job now."""
    running = (one.listener for one in inspector.listeners() if any(run.id == job.id for run in one.running))
    return next(running, UNKNOWN)


def _task_error(failure: Failure) -> Any:
    return TaskError(exception_class_path=class_path(failure), traceback=failure.traceback)


def class_path(failure: Failure) -> str:
    """Say where the class of an error is: Python writes that into the last lines of a traceback. Without it, it is
    taken for one of Python's own, or of workkit.
    """
    last = failure.traceback.rpartition("\nTraceback (most recent call last):")[2]  # after those of its causes
    said = re.search(rf"^((?:\w+\.)*{re.escape(failure.type)})(?::|$)", last, re.MULTILINE)
    path = said[1] if said else failure.type
    if "." in path:
        return path
    return f"workkit.errors.{path}" if hasattr(errors, path) else f"builtins.{path}"
