"""`schedule.runs`, `schedule.history`, and a job that is over: which are found, which arguments are refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import aio, errors, schedule
from workkit.verbs.past import read_span, summed
from workkit.worker.executor import Executor
from workkit.worker.run.run import Run

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    handlers.calls.clear()
    return schedule.create(name, redis=server.url)


def test_the_runs_of_a_recurring_job_say_what_is_known_of_each(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.fail, every="hour", name="broken")
    for _ in range(3):
        schedule.run(s, job)
        schedule.drain(s, **HOW)
    for which in (job, "broken", job.id, job.id[:8]):
        found = schedule.runs(s, which)
        assert [(run.id, run.name, run.fn) for run in found] == [(job.id, "broken", job.fn)] * 3
        assert {run.error for run in found} == {"OSError: disk full"}
        assert all(run.by_hand and run.listener for run in found)
    assert len(schedule.runs(s, job, limit=2)) == 2
    schedule.cancel(s, job)
    assert [run.ending for run in schedule.runs(s, "broken")] == ["dead"] * 3
    assert schedule.job(s, "broken").state == "dead"
    schedule.discard(s)
    assert (schedule.job(s, "broken").state, schedule.job(s, "broken").ending) == ("done", "dead")


@pytest.mark.parametrize("recurs", [True, False])
def test_a_run_that_is_cancelled_before_its_handler_begins_leaves_nothing(
    s: schedule.Schedule, monkeypatch: pytest.MonkeyPatch, recurs: bool
) -> None:
    ran = Executor.run

    def cancelled_first(self: Executor, run: Run, *how: Any) -> Any:
        run.cancel()
        return ran(self, run, *how)

    monkeypatch.setattr(Executor, "run", cancelled_first)
    job = schedule.add(s, handlers.note, every="hour") if recurs else schedule.add_now(s, handlers.note)
    schedule.run(s, job)
    schedule.drain(s, **HOW)
    assert handlers.calls == []
    assert schedule.runs(s) == []
    assert summed(schedule.history(s)).runs == 0


def test_a_one_shot_that_was_retried_is_found_with_each_attempt(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.retry_twice)
    schedule.drain(s, **HOW)
    assert [(run.attempt, run.ending) for run in schedule.runs(s, job)] == [(2, "done"), (1, "retried"), (0, "retried")]
    assert (schedule.job(s, job).attempt, schedule.job(s, job).ending) == (2, "done")


def test_a_job_that_is_there_is_no_finished_one(s: schedule.Schedule) -> None:
    handlers.calls.clear()
    schedule.add_now(s, handlers.note, name="import")
    schedule.drain(s, **HOW)
    again = schedule.add(s, handlers.note, in_="1 hour", name="import")
    assert (schedule.job(s, "import").id, schedule.job(s, "import").state) == (again.id, "waiting")
    assert schedule.job(s, "import").ending is None


def test_a_span_is_counted_in_buckets_of_the_schedule_a_function_and_a_job(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="second", name="often")
    schedule.drain(s, now=datetime.now(UTC) + timedelta(seconds=3), **HOW)
    ran = len(handlers.calls)
    for about in ({}, {"fn": handlers.note}, {"which": job}, {"which": "often"}):
        for over in ("1 hour", "1 day", timedelta(days=10), "300 days"):
            buckets = schedule.history(s, over=over, **about)
            assert summed(buckets).done == ran
            assert all(one.end == other.start for one, other in pairwise(buckets))
    assert len(schedule.history(s, over="3 hours", each="hour")) == 4
    assert summed(schedule.history(s, fn=handlers.fail)).runs == 0


def test_spans_are_as_fine_as_what_is_kept() -> None:
    assert read_span("3 hours", None, has_subject=False)[1] == "1"
    assert read_span("3 hours", None, has_subject=True)[1] == "5"
    assert read_span(None, None, has_subject=False) == (86_400_000, "5")
    assert read_span("27 hours", None, has_subject=False)[1] == "h"
    assert read_span("16 days", None, has_subject=False)[1] == "d"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": "401 days"}, "Days are kept for 400 days"),
        ({"over": "0s"}, "is no time at all"),
        ({"over": "soon"}, "soon"),
        ({"each": "week"}, "Accepted: minute, 5 minutes, hour, day"),
        ({"each": "minute", "over": "1 day"}, "kept for 3 hours"),
        ({"each": "minute", "fn": "app:f", "over": "1 hour"}, 'Write each="5 minutes"'),
        ({"which": "a", "fn": "app:f"}, "fn"),
    ],
)
def test_a_span_that_is_not_kept_is_refused(s: schedule.Schedule, given: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.WorkkitError, match=said):
        schedule.history(s, **given)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "60", None, True])
def test_a_number_of_runs_is_a_whole_number(s: schedule.Schedule, limit: Any) -> None:
    with pytest.raises(errors.InvalidOptions, match="limit"):
        schedule.runs(s, limit=limit)


def test_the_server_keeps_what_a_program_says_of_history(server: Server, name: str) -> None:
    off = schedule.create(name, redis=server.url, history="off")
    schedule.add_now(off, handlers.fail)
    silent = schedule.create(name, redis=server.url)
    schedule.drain(silent, **HOW)
    assert schedule.runs(silent) == []
    assert summed(schedule.history(silent)).runs == 0
    schedule.add_now(schedule.create(name, redis=server.url, history="full"), handlers.fail)
    schedule.drain(silent, **HOW)
    assert [run.ending for run in schedule.runs(silent)] == ["dead"]


def test_history_is_one_of_three_words() -> None:
    with pytest.raises(errors.InvalidSchedule, match=r"history='some' is not known\. Accepted: full, counts, off"):
        schedule.create("s", history="some")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidSchedule, match="history='full' with layout='gocraft'"):
        schedule.create("s", history="full", layout="gocraft")


def test_coroutines_read_the_same(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, **HOW)

    async def read() -> tuple[Any, Any]:
        return await aio.runs(s), await aio.history(s)

    runs, buckets = asyncio.run(read())
    assert [run.ending for run in runs] == ["dead"]
    assert summed(buckets).dead == 1


@pytest.mark.parametrize("how", ["done", "recurring", "long"])
def test_a_job_that_is_over_still_has_its_arguments(server: Server, name: str, how: str) -> None:
    s = schedule.create(name, redis=server.url)
    args, kwargs = ["é" * (400 if how == "long" else 300), {"n": [1, None]}], {"x": 2.5}  # 6 bytes a letter
    if how == "recurring":
        job = schedule.add(s, handlers.note, every="second", count=1, args=args, kwargs=kwargs)
        until(lambda: schedule.job(s, job).state == "due")
    else:
        job = schedule.add_now(s, handlers.note, args=args, kwargs=kwargs)
    schedule.drain(s, **HOW)
    over = schedule.job(s, job.id)
    assert over.state == "done"
    assert (over.args, over.kwargs) == (((), None) if how == "long" else (tuple(args), kwargs))
    assert over.args_kept is (how != "long")
    again = schedule.add_now(s, over.fn, args=over.args, kwargs=over.kwargs)
    assert again.new


def test_arguments_in_the_history_that_cannot_be_read_are_none(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add_now(s, handlers.note, args=[1])
    schedule.drain(s, **HOW)
    client = server.client()
    (entry,) = client.xrange(f"{name}:runs")
    assert entry[1][b"a"] == b"[[1]]"
    for text in ("[", "7", "[7]", "[[1],[2]]", "[]", '{"a":1}', "[[1],{},3]"):
        client.delete(f"{name}:runs")
        client.xadd(f"{name}:runs", {**entry[1], b"a": text})
        over = schedule.job(s, job.id)
        assert (over.args, over.kwargs, over.args_kept) == ((), None, False)


@pytest.mark.parametrize("fails", [False, True])
def test_a_record_says_that_a_job_had_no_arguments(server: Server, name: str, fails: bool) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add_now(s, handlers.fail if fails else handlers.note)
    schedule.drain(s, **HOW)
    (entry,) = server.client().xrange(f"{name}:runs")
    assert entry[1][b"a"] == b"[[]]"
    if fails:
        schedule.discard(s, job)
    assert schedule.job(s, job.id).args_kept
    server.client().delete(f"{name}:runs")
    server.client().xadd(f"{name}:runs", {key: value for key, value in entry[1].items() if key != b"a"})
    assert not schedule.job(s, job.id).args_kept, "an earlier version wrote none"
