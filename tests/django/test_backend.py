"""Tasks of Django on a real server: what is enqueued, how it runs, and what its result tells."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.django.conftest import BACKEND, HOW
from workkit import schedule
from workkit.errors import InvalidArguments
from workkit.schedule import Schedule

QUIET: dict[str, Any] = {**HOW, "raise_errors": False}
FIELDS = (
    "task", "id", "status", "enqueued_at", "started_at", "finished_at", "last_attempted_at", "args", "kwargs",
    "backend", "errors", "worker_ids",
)  # fmt: skip


@pytest.fixture
def tasks(s: Schedule) -> Any:
    from tests.django import tasks

    return tasks


@pytest.fixture
def fw() -> Any:
    from workkit.django import framework

    return framework


def after(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def test_a_task_waits_then_runs_and_its_result_tells_all(s: Schedule, tasks: Any) -> None:
    enqueued = tasks.add.enqueue(2, b=3)
    assert (str(enqueued.status), enqueued.args, enqueued.kwargs) == ("READY", [2], {"b": 3})
    waiting = tasks.add.get_result(enqueued.id)
    assert [getattr(waiting, f) for f in FIELDS] == [getattr(enqueued, f) for f in FIELDS]
    (job,) = schedule.jobs(s)
    assert (job.fn, job.name, job.state) == ("#'tests.django.tasks/add", enqueued.id, "due")
    assert schedule.drain(s, **HOW).ran == 1

    enqueued.refresh()
    assert (str(enqueued.status), enqueued.return_value, enqueued.attempts, enqueued.errors) == ("SUCCESSFUL", 5, 1, [])
    found = tasks.add.get_result(enqueued.id)
    assert [getattr(found, f) for f in FIELDS] == [getattr(enqueued, f) for f in FIELDS]
    assert found.enqueued_at <= found.started_at == found.last_attempted_at <= found.finished_at
    assert len(found.worker_ids) == 1
    assert list(schedule.jobs(s)) == []


def test_equal_tasks_of_one_moment_are_runs_of_their_own(s: Schedule, tasks: Any) -> None:
    results = [tasks.add.enqueue(n % 2) for n in range(10)]
    schedule.drain(s, **HOW)
    assert len({one.id for one in results}) == 10
    assert [tasks.add.get_result(one.id).return_value for one in results] == [0, 1] * 5


def test_an_unknown_result_and_that_of_another_task_are_told_apart(s: Schedule, tasks: Any, fw: Any) -> None:
    from importlib import import_module

    mismatch = import_module(f"{fw.HOME}.exceptions").TaskResultMismatch
    plain = schedule.add_now(s, tasks.plain, args=[1], name="plain", keep="1 hour")
    for unknown in ("0" * 32, "nothing", plain.id, plain.id[:8], "plain"):
        with pytest.raises(fw.TaskResultDoesNotExist):
            tasks.add.get_result(unknown)
    schedule.drain(s, **HOW)
    with pytest.raises(fw.TaskResultDoesNotExist):
        tasks.add.get_result("plain")
    sent = tasks.send.enqueue("ada")
    with pytest.raises(mismatch):
        tasks.add.get_result(sent.id)
    assert tasks.send.get_result(sent.id).task == tasks.send


def test_a_failed_task_tells_its_error_by_its_class(s: Schedule, tasks: Any) -> None:
    failed = tasks.fail.enqueue("of ink")
    schedule.drain(s, **QUIET)
    failed.refresh()
    assert (str(failed.status), failed.args, failed.attempts) == ("FAILED", ["of ink"], 1)
    assert [one.exception_class for one in failed.errors] == [tasks.SoldOutError]
    assert "raise SoldOutError" in failed.errors[0].traceback
    assert "task_run.py" not in failed.errors[0].traceback  # the frames of the task alone
    assert failed.started_at <= failed.finished_at
    with pytest.raises(ValueError, match="Task failed"):
        _ = failed.return_value
    schedule.retry(s, failed.id)
    failed.refresh()
    assert str(failed.status) == "READY"


def test_a_value_that_json_has_not_fails_the_task(s: Schedule, tasks: Any) -> None:
    result = tasks.return_what_json_has_not.enqueue()
    schedule.drain(s, **QUIET)
    result.refresh()
    assert [one.exception_class for one in result.errors] == [TypeError]


def test_a_task_that_discards_itself_or_is_removed_has_failed(s: Schedule, tasks: Any) -> None:
    import workkit.errors

    discarded, removed = tasks.discard.enqueue(), tasks.add.enqueue(1)
    schedule.cancel(s, removed.id)
    schedule.drain(s, **QUIET)
    discarded.refresh()
    assert (str(discarded.status), [one.exception_class for one in discarded.errors]) == (
        "FAILED",
        [workkit.errors.Discard],
    )
    assert tasks.ran == []


def test_a_failed_attempt_is_tried_again_by_the_options_of_job(s: Schedule, tasks: Any) -> None:
    result = tasks.fail_once.enqueue("here")
    schedule.drain(s, **QUIET)
    result.refresh()
    assert (str(result.status), result.attempts) == ("READY", 1)
    assert [one.exception_class for one in result.errors] == [OSError]
    schedule.drain(s, now=after(60), **QUIET)
    result.refresh()
    assert (str(result.status), result.return_value, result.attempts) == ("SUCCESSFUL", "here", 2)
    assert "unknown" not in result.worker_ids
    assert result.started_at < result.last_attempted_at


def test_a_coroutine_and_tasks_with_a_context_run(s: Schedule, tasks: Any) -> None:
    there = tasks.add_async.enqueue(1, b=2)
    told, told_async = tasks.tell_context.enqueue("more"), tasks.tell_context_async.enqueue()
    schedule.drain(s, **HOW)
    for result in (there, told, told_async):
        result.refresh()
    assert there.return_value == 3
    assert told.return_value == [1, told.id, "RUNNING", ["more"], "more"]
    assert told_async.return_value == 1


def test_the_same_calls_as_coroutines(s: Schedule, tasks: Any) -> None:
    async def enqueue() -> Any:
        return await tasks.add.aenqueue(4, 5)

    async def read(result: Any) -> Any:
        await result.arefresh()
        return (await tasks.add.aget_result(result.id)).return_value, result.return_value

    result = asyncio.run(enqueue())
    schedule.drain(s, **HOW)
    assert asyncio.run(read(result)) == (9, 9)


def test_a_task_waits_for_its_time(s: Schedule, tasks: Any) -> None:
    at = after(3600)
    later, past = tasks.add.using(run_after=at).enqueue(1), tasks.add.using(run_after=after(-60)).enqueue(2)
    assert schedule.drain(s, **HOW).ran == 1
    assert (str(tasks.add.get_result(later.id).status), tasks.add.get_result(past.id).return_value) == ("READY", 2)
    assert tasks.add.get_result(later.id).task.run_after == at
    assert schedule.job(s, later.id).due is not None
    assert abs((schedule.job(s, later.id).due or at) - at) < timedelta(seconds=5)
    assert schedule.drain(s, now=after(3700), **HOW).ran == 1


def test_higher_priorities_run_first_and_results_keep_them(s: Schedule, tasks: Any) -> None:
    given = (0, -100, 100, 50, -1, 51, 1)
    results = [tasks.add.using(priority=priority).enqueue(priority) for priority in given]
    schedule.drain(s, **HOW)
    classes = [2 + (p > 50) if p > 0 else int(p == 0) for p, _ in tasks.ran]
    assert classes == [3, 3, 2, 2, 1, 0, 0]
    assert [tasks.add.get_result(one.id).task.priority for one in results] == list(given)


def test_a_running_task_is_seen_running(s: Schedule, tasks: Any) -> None:
    tasks.look_at_itself.enqueue()
    schedule.drain(s, **HOW)
    ((status, args, attempts, workers),) = tasks.seen
    assert (status, args, attempts) == ("RUNNING", [], 1)
    assert workers != ["unknown"]


def test_signals_are_sent_once_for_each_step(s: Schedule, tasks: Any, fw: Any) -> None:
    def note(sender: type, task_result: Any, **_: Any) -> None:
        tasks.seen.append((sender.__name__, task_result.task.name, str(task_result.status), task_result.attempts))

    def break_down(**_: Any) -> None:
        raise RuntimeError("a receiver")

    signals = (fw.task_enqueued, fw.task_started, fw.task_finished)
    for signal in signals:
        signal.connect(note)
    fw.task_finished.connect(break_down)
    try:
        tasks.fail_once.enqueue("signals")
        schedule.drain(s, now=after(60), **QUIET)
        result = tasks.add_async.enqueue(1, 2)
        schedule.drain(s, **HOW)
        tasks.fail.enqueue("x")
        schedule.drain(s, **QUIET)
    finally:
        for signal in signals:
            signal.disconnect(note)
        fw.task_finished.disconnect(break_down)
    said = [(name, status, attempts) for _, name, status, attempts in tasks.seen]
    assert said == [
        ("fail_once", "READY", 0), ("fail_once", "RUNNING", 1), ("fail_once", "RUNNING", 2),
        ("fail_once", "SUCCESSFUL", 2),
        ("add_async", "READY", 0), ("add_async", "RUNNING", 1), ("add_async", "SUCCESSFUL", 1),
        ("fail", "READY", 0), ("fail", "RUNNING", 1), ("fail", "FAILED", 1),
    ]  # fmt: skip
    assert {sender for sender, *_ in tasks.seen} == {"Backend"}
    result.refresh()
    assert result.return_value == 3  # a receiver that raises changes nothing


def test_a_function_that_is_added_as_a_job_runs_alone(s: Schedule, tasks: Any) -> None:
    job = schedule.add_now(s, tasks.add.func, args=[2, 3], keep="1 hour")
    schedule.drain(s, **HOW)
    assert schedule.result(s, job) == 5


def test_a_queue_has_a_schedule_of_its_own(s: Schedule, tasks: Any, server: Any) -> None:
    from django.test import override_settings

    options = {"schedules": {"emails": f"{s.name}-emails"}}
    with override_settings(
        TASKS={"default": {"BACKEND": BACKEND, "QUEUES": ["default", "emails"], "OPTIONS": options}}
    ):
        sent, added = tasks.send.enqueue("ada"), tasks.add.enqueue(1)
        emails = schedule.create(f"{s.name}-emails", redis=server.url)
        assert [job.name for job in schedule.jobs(emails)] == [sent.id]
        assert [job.name for job in schedule.jobs(s)] == [added.id]
        schedule.drain(emails, **HOW)
        assert tasks.send.get_result(sent.id).return_value == "sent to ada"
        assert str(tasks.add.get_result(added.id).status) == "READY"


def test_without_keep_there_are_no_results(s: Schedule, tasks: Any, fw: Any) -> None:
    from django.test import override_settings

    with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": {"keep": None}}}):
        assert not fw.task_backends["default"].supports_get_result
        result = tasks.add.enqueue(1)
        schedule.drain(s, **HOW)
        with pytest.raises(NotImplementedError):
            result.refresh()


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "said"),
    [
        ([], {}, InvalidArguments, r"add\(a, b\) takes 1 to 2 arguments; args has 0"),
        (["x"], {}, InvalidArguments, "a='x' is a str, and a is annotated int"),
        ([1], {"c": 2}, InvalidArguments, "unexpected keyword argument 'c'"),
        ([{1, 2}], {}, TypeError, "Unsupported type"),
        ([1], {"django.task": 2}, InvalidArguments, "django.task= is a keyword of workkit's own"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_at_once(
    s: Schedule, tasks: Any, args: list[Any], kwargs: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        tasks.add.enqueue(*args, **kwargs)
    assert list(schedule.jobs(s)) == []


def make_closure() -> Any:
    def inner() -> None: ...

    return inner


def _private() -> None: ...


def yields() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"func": make_closure()}, "module level"),
        ({"func": _private}, "_private begins with _, and listeners run public names only"),
        ({"func": yields}, "is a generator function"),
        ({"queue_name": "letters"}, "Queue 'letters' is not valid"),
        ({"priority": 101}, "whole number between -100 and 100"),
        ({"run_after": datetime(2050, 1, 1)}, "run_after must be an aware datetime"),
        ({"takes_context": True}, "first argument of 'context'"),
    ],
)
def test_a_task_that_cannot_run_is_refused(
    s: Schedule, tasks: Any, fw: Any, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(fw.InvalidTask, match=said):
        fw.Task(**{"func": tasks.plain, **settings})


def test_a_function_of_a_schedule_is_a_task_too(s: Schedule, tasks: Any) -> None:
    assert tasks.both.func(2) == 3
    enqueued = tasks.both.enqueue(2)
    assert schedule.drain(s, **HOW).ran == 1
    enqueued.refresh()
    assert enqueued.return_value == 3
