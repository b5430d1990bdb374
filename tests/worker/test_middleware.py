"""Middleware around runs in a listener, and around additions."""

from __future__ import annotations

import contextvars
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import ROOT, Processes, until
from tests.servers import Server, program
from tests.worker.observation import HOW, named
from workkit import Discard, Job, Retry, current_job, schedule
from workkit.errors import InvalidArguments, InvalidFunction, InvalidOptions
from workkit.events import Event
from workkit.jobs.middleware import AROUND, ENTERING
from workkit.worker.run.call import invoke

label = contextvars.ContextVar("label", default="none")


@pytest.fixture
def s(server: Server, name: str) -> Iterator[schedule.Schedule]:
    yield schedule.create(name, redis=server.url)
    AROUND.pop(name, None)
    ENTERING.pop(name, None)


def labelled(*args: Any) -> None:
    handlers.calls.append((label.get(), threading.current_thread().name, current_job().context))


async def labelled_async(*args: Any) -> None:
    labelled()


HERE = {**HOW, "imports": [__name__, "tests.handlers"]}


def ran(s: schedule.Schedule, fn: Any, *, seen: list[Event], **options: Any) -> Event:
    """Add a job, run it in a listener, and return the event of its end."""
    with schedule.listener(s, keep_unfit="0s", **HERE):
        schedule.add_now(s, fn, **options)
        ends = ("done", "failed", "dead", "discarded", "retrying")
        return until(lambda: [event for event in seen if event.name in ends])[0]


@pytest.mark.parametrize("fn", [labelled, labelled_async])
def test_the_handler_sees_what_middleware_sets(s: schedule.Schedule, seen: list[Event], fn: Any) -> None:
    after: list[Any] = []

    @s.middleware
    def outer() -> Iterator[None]:
        token = label.set(f"for {current_job().fn}")
        current_job().context["user"] = 7
        yield
        label.reset(token)
        after.append((label.get(), current_job().context["user"], threading.current_thread().name))

    assert ran(s, fn, seen=seen).name == "done"
    ((said, thread, context),) = handlers.calls
    assert said == f"for #'{__name__}/{fn.__name__}"
    assert context == {"user": 7}
    ((left, user, around_thread),) = after
    assert (left, user) == ("none", 7)
    assert around_thread.startswith("workkit-")
    assert (thread == around_thread) == (fn is labelled)


def test_async_ones_stand_around_coroutines_on_their_loop(s: schedule.Schedule, seen: list[Event]) -> None:
    around: list[str] = []

    @s.middleware
    async def on_the_loop() -> AsyncIterator[None]:
        label.set("set on the loop")
        yield
        around.append(threading.current_thread().name)

    @s.middleware
    def everywhere() -> Iterator[None]:
        around.append(f"plain {current_job().fn}")
        yield

    ran(s, labelled_async, seen=seen)
    seen.clear()
    ran(s, labelled, seen=seen)
    assert [call[0] for call in handlers.calls] == ["set on the loop", "none"]
    assert around == [f"plain #'{__name__}/labelled_async", "workkit-asyncio", f"plain #'{__name__}/labelled"]


def retry(error: BaseException) -> None:
    raise Retry(after="1 hour") from error


def discard(error: BaseException) -> None:
    raise Discard("as it was only a test") from error


def other(error: BaseException) -> None:
    raise PermissionError("another") from error


def swallow(error: BaseException) -> None: ...


@pytest.mark.parametrize("fn", [handlers.fail, handlers.fail_async])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [(retry, "retrying"), (discard, "discarded"), (other, "failed"), (swallow, "done")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_its_answer_to_an_error_counts(
    s: schedule.Schedule, seen: list[Event], fn: Any, answer: Callable[[BaseException], None], outcome: str
) -> None:
    @s.middleware
    def around() -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            answer(error)

    ended = ran(s, fn, seen=seen)
    assert ended.name == outcome
    if answer is other:
        assert ended.fields["error"] == "another"
        assert ended.fields["where"].startswith("test_middleware.py:")
        trace = ended.fields["traceback"]
        assert "handlers.py" in trace  # the cause
        assert "worker/executor" not in trace
        assert "jobs/middleware" not in trace


def test_an_error_that_passes_middleware_is_reported_as_without_it(s: schedule.Schedule, seen: list[Event]) -> None:
    first = ran(s, handlers.fail, seen=seen)

    @s.middleware
    def around() -> Iterator[None]:
        try:
            yield
        finally:
            handlers.calls.append("seen")

    seen.clear()
    second = ran(s, handlers.fail, seen=seen)
    assert handlers.calls == ["seen"]
    assert second.fields["traceback"] == first.fields["traceback"]


def test_arguments_that_do_not_fit_are_reported_as_without_middleware(s: schedule.Schedule, seen: list[Event]) -> None:
    @s.middleware
    def around() -> Iterator[None]:
        yield

    failed = ran(s, "tests.handlers:welcome", args=[1, 2], seen=seen)
    assert failed.fields["error"] == "welcome(email) takes 1 argument; args has 2."


def test_middleware_that_does_not_yield_fails_the_run(s: schedule.Schedule, seen: list[Event]) -> None:
    @s.middleware
    def around() -> Iterator[None]:
        yield from ()

    failed = ran(s, labelled, seen=seen)
    assert failed.fields["error_type"] == InvalidFunction.__name__
    assert failed.fields["error"].endswith("around ended without a yield. It has exactly one.")
    assert handlers.calls == []


def test_middleware_registered_later_applies_to_later_runs(s: schedule.Schedule, seen: list[Event]) -> None:
    around: list[str | None] = []

    def late() -> Iterator[None]:
        around.append(current_job().id)
        yield

    with schedule.listener(s, **HERE):
        schedule.add_now(s, labelled)
        until(lambda: len(named(seen, "done")) == 1)
        s.middleware(late)
        second = schedule.add_now(s, labelled)
        until(lambda: len(named(seen, "done")) == 2)
    assert around == [second.id]


def test_another_schedule_is_not_concerned(s: schedule.Schedule, seen: list[Event], server: Server) -> None:
    other = schedule.create(f"{s.name}-other", redis=server.url)

    @other.middleware
    def around() -> Iterator[None]:
        raise AssertionError("not for this one")
        yield

    assert ran(s, labelled, seen=seen).name == "done"
    del AROUND[other.name]


def test_a_drain_has_it_too(s: schedule.Schedule) -> None:
    around: list[str | None] = []

    @s.middleware
    def noting() -> Iterator[None]:
        yield
        around.append(current_job().id)

    job = schedule.add_now(s, labelled)
    assert schedule.drain(s, **HERE).ran == 1
    assert around == [job.id]


def test_a_call_without_anything_around_it_is_just_that() -> None:
    handlers.calls.clear()
    assert invoke(handlers.note, (1,), {"a": 2}) is None
    assert handlers.calls == [((1,), {"a": 2})]


# In the way of additions.


def test_a_job_is_changed_on_its_way_in(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def first(job: Job) -> Iterator[Job]:
        assert (job.id, job.schedule) == ("", s.name)
        yield replace(job, kwargs={**(job.kwargs or {}), "request": 1})

    @s.middleware(on="add")
    def second(job: Job) -> Iterator[Job]:
        yield replace(job, kwargs={**(job.kwargs or {}), "seen": job.due is not None})

    now = schedule.add_now(s, handlers.note, args=[1])
    later = schedule.add(s, handlers.note, at="7pm tomorrow", args=[2])
    schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [3]}])
    assert now.kwargs == {"request": 1, "seen": False}
    assert later.kwargs == {"request": 1, "seen": True}
    stored = {job.args: job.kwargs for job in schedule.jobs(s)}
    assert stored == {(1,): now.kwargs, (2,): later.kwargs, (3,): now.kwargs}


def test_options_are_changed_on_their_way_in(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def patient(job: Job) -> Iterator[Job]:
        yield replace(job, options=replace(job.options, retries=7))

    schedule.add_now(s, handlers.note, timeout="2m")
    (job,) = schedule.jobs(s)
    assert (job.options.retries, job.options.timeout_ms) == (7, 120_000)


def test_a_job_is_refused_on_its_way_in(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def strict(job: Job) -> Iterator[Job]:
        if job.args == ("bad",):
            raise PermissionError("not this one")
        yield job

    with pytest.raises(PermissionError, match="not this one"):
        schedule.add_now(s, handlers.note, args=["bad"])
    with pytest.raises(PermissionError, match="not this one"):
        schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": ["bad"]}])
    assert list(schedule.jobs(s)) == []
    schedule.add_now(s, handlers.note, args=["good"])
    assert len(list(schedule.jobs(s))) == 1


def number(n: int) -> None: ...


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"args": ("7",)}, InvalidArguments, "number(n): n='7' is a str, and n is annotated int."),
        ({"args": (7, 8)}, InvalidArguments, "number(n) takes 1 argument; args has 2."),
        ({"fn": "#'a/b"}, InvalidOptions,
         "middleware of {s} changed fn of a job that is added, to \"#'a/b\". "
         "It may change args, kwargs, options, meta."),
        ({"name": "x"}, InvalidOptions,
         "middleware of {s} changed name of a job that is added, to 'x'. "
         "It may change args, kwargs, options, meta."),
    ],
)  # fmt: skip
def test_changes_are_checked(
    s: schedule.Schedule, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    @s.middleware(on="add")
    def changing(job: Job) -> Iterator[Job]:
        yield replace(job, **change)

    with pytest.raises(error) as caught:
        schedule.add_now(s, number, args=[1])
    assert str(caught.value) == message.replace("{s}", s.name)
    assert list(schedule.jobs(s)) == []


@pytest.mark.parametrize(
    ("yields", "message"),
    [
        ([], "ended without a yield. It has exactly one."),
        ([None], "yielded None. Yield the job to add."),
        ([1, 2], "yielded twice. It has exactly one yield."),
    ],
    ids=str,
)
def test_middleware_of_additions_returns_one_job(s: schedule.Schedule, yields: list[Any], message: str) -> None:
    @s.middleware(on="add")
    def wrong(job: Job) -> Iterator[Any]:
        yield from yields

    with pytest.raises(InvalidFunction) as caught:
        schedule.add_now(s, number, args=[1])
    assert str(caught.value).endswith(f"wrong {message}")


def test_the_example_runs(processes: Processes, tmp_path: Path) -> None:
    program("valkey")
    shutil.copy(ROOT / "examples" / "request_id.py", tmp_path)
    example = processes.run(sys.executable, "request_id.py")
    assert example.wait() == 0, example.transcript()
    said = [line for line in example.out if "order" in line or "request here" in line]
    assert sorted(said) == ["-: no request here", "request-7: charged order 42", "request-7: thanked for order 42"]
