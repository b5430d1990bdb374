"""A key that lasts: a second addition returns the first job, and tells how it ended (spec/features.md 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.processes import until
from tests.servers import Server
from workkit import Discard, Job, aio, current_job, schedule
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
KEY: dict[str, Any] = {"once_key": "pay:{order}", "once_for": "90 days"}
PAID: list[int] = []


def pay(order: int) -> None:
    PAID.append(order)
    if order == 13:
        raise OSError("the bank is closed")
    if order == 14:
        raise Discard("a test")


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    PAID.clear()
    return schedule.create(name, redis=server.url)


def drain(s: Schedule) -> None:
    schedule.drain(s, raise_errors=False, **HOW)


def cancelled(s: Schedule) -> None:
    schedule.cancel(s, next(schedule.jobs(s)))


def discarded(s: Schedule) -> None:
    drain(s)
    schedule.discard(s)


@pytest.mark.parametrize(
    ("order", "end", "state", "ending"),
    [
        (7, lambda s: None, "waiting", None),
        (7, drain, "done", "done"),
        (13, drain, "dead", "dead"),
        (13, discarded, "dead", "dead"),
        (14, drain, "done", "discarded"),
        (7, cancelled, "done", "cancelled"),
    ],
    ids=["waits", "done", "dead", "discarded", "discards itself", "cancelled"],
)
def test_a_second_addition_returns_the_first_job_however_it_ended(
    s: Schedule, order: int, end: Callable[[Schedule], None], state: str, ending: str | None
) -> None:
    first = schedule.add_now(s, pay, args=[order], crashes=0, **KEY)
    end(s)
    paid = list(PAID)
    again: list[Job] = [
        schedule.add_now(s, pay, args=[order], crashes=0, **KEY),
        schedule.add(s, pay, in_="1 hour", args=[order + 1], **KEY),
        s.bind(pay).now(**KEY).send(order),
        asyncio.run(aio.add_now(s, pay, args=[order], **KEY)),
    ]
    assert first.new
    assert {(one.id, one.new, one.state, one.ending) for one in again} == {(first.id, False, state, ending)}
    assert schedule.add_many(s, [{"fn": pay, "at": "now", "args": [order], **KEY}]).known == 1
    waiting = [job for job in schedule.jobs(s) if job.state != "dead"]
    assert len(waiting) == (ending is None)
    drain(s)
    assert (paid or [order] * (ending is None)) == PAID
    assert schedule.add_now(s, pay, args=[order], once_key="pay:other", once_for="90 days").new


def test_the_key_ends_with_its_time(s: Schedule) -> None:
    assert schedule.add_now(s, pay, args=[7], once_key="k", once_for=timedelta(milliseconds=300)).new
    drain(s)
    until(lambda: schedule.add_now(s, pay, args=[7], once_key="k", once_for="1 day").new, what="the end of the key")
    assert not schedule.add_now(s, pay, args=[7], once_key="k", once_for="1 day").new


def test_a_retried_job_keeps_the_key(s: Schedule) -> None:
    first = schedule.add_now(s, pay, args=[13], **KEY)
    drain(s)
    again = schedule.add_now(s, pay, args=[13], **KEY)
    assert schedule.retry(s, again) == 1
    waits = schedule.add_now(s, pay, args=[13], **KEY)
    assert (waits.id, waits.new, waits.ending) == (first.id, False, None)
    assert PAID == [13]


def test_a_moved_job_keeps_the_key(s: Schedule) -> None:
    first = schedule.add(s, pay, in_="1 hour", args=[7], **KEY)
    moved = schedule.reschedule(s, first, in_="2 hours")
    again = schedule.add_now(s, pay, args=[7], **KEY)
    assert (again.id, again.new, again.ending) == (moved.id, False, None)
    schedule.run(s, moved)
    drain(s)
    assert schedule.add_now(s, pay, args=[7], **KEY).ending == "done"
    assert PAID == [7]


def test_a_job_that_has_expired_tells_so(s: Schedule) -> None:
    first = schedule.add_now(s, pay, args=[7], expires=timedelta(milliseconds=1), **KEY)
    schedule.drain(s, now=datetime.now(UTC) + timedelta(hours=1), **HOW)
    again = schedule.add_now(s, pay, args=[7], **KEY)
    assert (again.id, again.ending) == (first.id, "expired")
    assert PAID == []


def test_a_run_may_ask_for_its_own_key(s: Schedule) -> None:
    found: list[Job] = []

    @s.middleware
    def asks() -> Any:
        yield
        found.append(schedule.add_now(s, pay, args=[8], **KEY))
        assert current_job().id == found[-1].id

    first = schedule.add_now(s, pay, args=[7], **KEY)
    drain(s)
    assert [(job.id, job.new, job.ending) for job in found] == [(first.id, False, None)]


def test_the_key_holds_over_shards(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    first = [schedule.add_now(s, pay, args=[n], once_key=f"k{n}", once_for="1 day") for n in range(6)]
    drain(s)
    again = [schedule.add_now(s, pay, args=[n + 10], once_key=f"k{n}", once_for="1 day") for n in range(6)]
    assert [job.id for job in again] == [job.id for job in first]
    assert {job.ending for job in again} == {"done"}
    for n in range(6):
        schedule.add(s, pay, in_="1 hour", args=[n], tags=["shards"])
    assert schedule.counts(s, tag="shards").waiting == len(schedule.cancel(s, tag="shards")) == 6
