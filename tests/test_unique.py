"""Unique keys and windows, from the verb to the run: never two of a key, and never the newest arguments lost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture(params=[1, 3])
def s(server: Server, name: str, request: pytest.FixtureRequest) -> schedule.Schedule:
    handlers.calls.clear()
    handlers.gate.clear()
    return schedule.create(name, redis=server.url, shards=request.param)


def test_a_key_is_taken_until_its_job_is_done(s: schedule.Schedule) -> None:
    first = schedule.add_now(s, handlers.note, args=[1], unique_key="k")
    second = schedule.add_now(s, handlers.note, args=[2], unique_key="k")
    assert (second.new, second.id) == (False, first.id)
    assert schedule.drain(s, **HOW).ran == 1
    third = schedule.add_now(s, handlers.note, args=[3], unique_key="k")
    assert third.new
    assert schedule.drain(s, **HOW).ran == 1
    assert handlers.calls == [(1,), (3,)]


def test_a_key_is_taken_also_while_its_job_runs(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.wait_for_gate, unique_key="k")
    with schedule.listener(s, threads=2, **HOW):
        until(lambda: handlers.calls)
        assert not schedule.add_now(s, handlers.note, unique_key="k").new
        handlers.gate.set()
        until(lambda: schedule.add_now(s, handlers.note, args=["then"], unique_key="k").new)
        until(lambda: ("then",) in handlers.calls)


def test_a_key_until_started_is_free_while_its_job_runs(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.wait_for_gate, unique_key="k", unique_until="started")
    assert not schedule.add_now(s, handlers.note, unique_key="k", unique_until="started").new
    with schedule.listener(s, threads=2, **HOW):
        until(lambda: handlers.calls)
        assert schedule.add_now(s, handlers.note, args=["beside"], unique_key="k", unique_until="started").new
        until(lambda: ("beside",) in handlers.calls)
        handlers.gate.set()


def test_the_newest_replaces_what_waits(s: schedule.Schedule) -> None:
    first = schedule.add(s, handlers.note, in_="1 hour", args=[1], unique_key="k")
    second = schedule.add(s, handlers.note, in_="2 hours", args=[2], unique_key="k", on_conflict="replace")
    assert (second.new, second.replaced, second.due) == (True, first.id, first.due)
    assert [job.args for job in schedule.jobs(s)] == [(2,)]


def test_the_newest_waits_for_the_one_that_runs(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.wait_for_gate, unique_key="k")
    with schedule.listener(s, threads=4, **HOW):
        until(lambda: handlers.calls)
        for n in range(5):
            assert schedule.add_now(s, handlers.note, args=[n], unique_key="k", on_conflict="replace").new
        handlers.gate.set()
        until(lambda: (4,) in handlers.calls)
        until(lambda: not list(schedule.jobs(s)))
    assert handlers.calls[0] == "begun"
    assert handlers.calls[-1] == (4,)


def test_debounce_runs_the_last_when_it_has_been_quiet(s: schedule.Schedule) -> None:
    for _ in range(5):
        added = schedule.add_now(s, handlers.note, args=["doc"], debounce="1s")
    assert added.new
    other = schedule.add_now(s, handlers.note, args=["other"], debounce="1s")
    assert other.replaced is None
    assert len(list(schedule.jobs(s))) == 2
    with schedule.listener(s, threads=2, **HOW):
        until(lambda: len(handlers.calls) == 2)
        until(lambda: not list(schedule.jobs(s)))
    assert sorted(handlers.calls) == [("doc",), ("other",)]


def test_a_steady_stream_of_debounced_additions_runs(s: schedule.Schedule) -> None:
    added = 0
    deadline = time.monotonic() + 20
    with schedule.listener(s, threads=2, **HOW):
        while not handlers.calls and time.monotonic() < deadline:
            schedule.add_now(s, handlers.note, args=["doc"], debounce="1s", debounce_most="2s")
            added += 1
            time.sleep(0.05)  # the stream itself: an addition well within each window
        assert handlers.calls, f"none of {added} additions ran"


def test_throttle_runs_the_first_of_a_window(s: schedule.Schedule) -> None:
    first = schedule.add_now(s, handlers.note, args=["x"], throttle="1h")
    again = schedule.add_now(s, handlers.note, args=["x"], throttle="1h")
    other = schedule.add_now(s, handlers.note, args=["y"], throttle="1h")
    assert (again.new, again.id) == (False, first.id)
    assert other.new
    assert schedule.drain(s, **HOW).ran == 2
    over = schedule.add_now(s, handlers.note, args=["x"], throttle="1h")
    assert (over.new, over.id, over.due) == (False, first.id, None)


def test_every_addition_is_a_job_of_its_own_where_that_is_wanted(s: schedule.Schedule) -> None:
    ids = {schedule.add(s, handlers.note, at="2050-01-01", unique=False).id for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize("how", [{}, {"priority": 2}, {"retries": 3}, {"kwargs": {"a": 1}}, {"unique": False}], ids=str)
def test_every_addition_of_a_length_is_a_job_of_its_own(s: schedule.Schedule, how: dict[str, Any]) -> None:
    added = [schedule.add(s, handlers.note, in_="1 hour", **how) for _ in range(12)]
    assert all(job.new for job in added)
    assert {job.id: job.due for job in added} == {job.id: job.due for job in schedule.jobs(s)}
    assert len({job.id for job in added}) == 12


@pytest.mark.parametrize("one", [{"name": "x"}, {"unique_key": "k"}, {"throttle": "1h"}], ids=str)
def test_a_length_is_one_job_where_the_caller_asks_for_one(s: schedule.Schedule, one: dict[str, Any]) -> None:
    said = {"in_": "1 day", "args": ["same"], **one}
    added = [schedule.add(s, handlers.note, **said) for _ in range(12)]
    (waits,) = schedule.jobs(s)
    last = next(job for job in reversed(added) if job.new)  # at another second a name is replaced
    assert (waits.id, waits.due) == (added[-1].id, added[-1].due) == (last.id, last.due)
    assert len({job.id for job in added if job.new}) <= 2


@pytest.mark.parametrize("when", [{"in_": "1 day"}, {"when": "in 1 day"}, {"at": "now"}], ids=str)
def test_unique_asks_for_one_of_the_additions_within_a_second(s: schedule.Schedule, when: dict[str, Any]) -> None:
    row = {"fn": handlers.note, **when}
    said = [{**row, "unique": True}, {**row, "unique": True}, row, row]  # rows of one call share the present
    tally = schedule.add_many(s, said)
    assert (tally.new, tally.known) == (3, 1)


@pytest.mark.parametrize("at", ["in 1 day", "24 hours from now"])
def test_at_with_a_length_is_one_job_within_its_second_and_due_as_the_first(s: schedule.Schedule, at: str) -> None:
    added = [schedule.add(s, handlers.note, at=at) for _ in range(12)]
    waiting = {job.id: job.due for job in schedule.jobs(s)}
    assert {job.id: job.due for job in added} == waiting
    assert all(waiting[job.id] == job.due for job in added), "each answer has the due time that is stored"
    assert len(waiting) <= 2
    tally = schedule.add_many(s, [{"fn": handlers.note, "at": at, "args": ["many"]}] * 12)  # they share the present
    assert (tally.new, tally.known) == (1, 11)


def test_a_known_job_is_answered_with_the_due_time_that_is_stored(s: schedule.Schedule) -> None:
    first = schedule.add(s, handlers.note, every="day at 9am")
    moved = schedule.skip(s, first)
    again = schedule.add(s, handlers.note, every="day at 9am")
    assert (again.new, again.id, again.due) == (False, first.id, moved.due)
    assert again.due == schedule.job(s, again.id).due != first.due
