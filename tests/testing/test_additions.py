"""What was added in a test, and jobs that run as they are added."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tests.testing import jobs
from workkit import aio, schedule
from workkit.testing import Workkit


@pytest.fixture(autouse=True)
def _fresh() -> None:
    jobs.calls.clear()


@pytest.fixture
def s() -> schedule.Schedule:
    return schedule.create("app-tasks", tz="Europe/Paris")


def test_an_addition_is_found_by_its_function_arguments_time_and_name(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    added = schedule.add(s, jobs.note, in_="5 minutes", args=[("a", 1)], name="soon")
    schedule.add_now(s, jobs.note, args=["b"])
    assert wk.assert_added(jobs.note, args=[["a", 1]], at="2026-03-27 08:05", name="soon").id == added.id
    assert wk.assert_added("tests.testing.jobs:note", at="2026-03-27T07:05+00:00").id == added.id
    assert wk.assert_added(jobs.note).args == ("b",)


def test_an_addition_is_found_by_the_object_that_it_was_given(wk: Workkit, s: schedule.Schedule) -> None:
    schedule.add_now(s, jobs.pack, args=[jobs.Order(id=7)])
    assert wk.assert_added(jobs.pack, args=[jobs.Order(id=7)]).args == ({"id": 7},)
    with pytest.raises(AssertionError, match=r"pack\(Order\(id=8\)\) was not added\. Added were:\n.*pack\({'id': 7}\)"):
        wk.assert_added(jobs.pack, args=[jobs.Order(id=8)])


def test_annotated_parameters_are_found_and_run_with_their_types(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    when = datetime(2026, 3, 27, 8, tzinfo=UTC)
    schedule.add(s, jobs.meet, in_="5 minutes", args=[when], kwargs={"fee": Decimal("1.5")})
    found = wk.assert_added(jobs.meet, args=[when], kwargs={"fee": Decimal("1.5")})
    assert (found.args, found.kwargs) == (("2026-03-27T08:00:00+00:00",), {"fee": "1.5"})
    wk.run_until("2026-03-27 08:10")
    assert jobs.calls == [(when, Decimal("1.5"))]


@pytest.mark.parametrize("asked", [{"args": ["c"]}, {"kwargs": {"x": 1}}, {"at": "2026-03-27 08:06"}, {"name": "late"}])
def test_an_addition_that_is_missing_is_told_beside_those_that_are_there(
    wk: Workkit, s: schedule.Schedule, asked: dict[str, object]
) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    with pytest.raises(AssertionError, match=r"note\(.*was not added\. Nothing was\."):
        wk.assert_added(jobs.note, **asked)  # type: ignore[arg-type]
    schedule.add(s, jobs.note, in_="5 minutes", args=["a"], name="soon")
    with pytest.raises(AssertionError) as caught:
        wk.assert_added(jobs.note, **asked)  # type: ignore[arg-type]
    assert "Added were:\n  tests.testing.jobs.note('a'), at 2026-03-27 07:05:00 UTC, name='soon'" in str(caught.value)


def test_a_job_runs_as_it_is_added_by_way_of_middleware_and_json(wk: Workkit, name: str) -> None:
    s, seen = schedule.create(name), list[str]()

    def around() -> Iterator[None]:
        seen.append("before")
        yield
        seen.append("after")

    s.middleware(around)
    wk.immediate()
    schedule.add_now(s, jobs.note, args=[("a", 1)])
    assert (jobs.calls, seen) == ([(["a", 1],)], ["before", "after"])
    schedule.add(s, jobs.note, in_="1 hour")
    assert len(jobs.calls) == 1, "a job of a later time waits"
    with pytest.raises(OSError, match="disk full"):
        schedule.add_now(s, jobs.broken)
    assert [run.ending for run in wk.ran] == ["done", "dead"]


def test_asynchronous_tests_and_handlers_work(wk: Workkit, s: schedule.Schedule) -> None:
    async def story() -> list[datetime]:
        wk.travel("2026-03-27 08:00")
        await aio.add(s, jobs.note_async, every="hour", args=["a"])
        times = [run.at for run in wk.run_until("2026-03-27 10:30")]
        wk.immediate()
        await aio.add_now(s, jobs.note_async, args=["b"])
        return times

    assert [time.hour for time in asyncio.run(story())] == [8, 9, 10]
    assert jobs.calls == [("a",), ("a",), ("a",), ("b",)]
