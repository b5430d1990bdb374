"""Tags of a job are in its payload and in its run, and other layouts refuse them (spec/features.md 16)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.servers import Server
from workkit import aio, current_job, job, schedule, wire
from workkit.brokers.hutch.codec import check
from workkit.brokers.hutch.names import Names
from workkit.contract.producer import NewJob
from workkit.contract.record import job_record
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.middleware import ENTERING
from workkit.jobs.terms import Terms

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
TAGS = ["user:7", "invoice"]
SEEN: list[tuple[str, ...]] = []


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    SEEN.clear()
    yield
    ENTERING.clear()


def note(text: str = "") -> None:
    SEEN.append(current_job().tags)


@job(cpu=True, keep="1 hour")
def offloaded() -> list[str]:
    return list(current_job().tags)


def test_a_payload_has_them_among_its_options(s: schedule.Schedule, server: Server) -> None:
    added = schedule.add_now(s, note, tags=["user:7", "invoice", "user:7"])
    assert added.tags == schedule.job(s, added).tags == ("user:7", "invoice")
    (payload,) = server.client().hvals(f"{s.name}:jobs")
    assert wire.read_payload(payload).extra == {"opts": {"tags": TAGS}}
    assert job_record(added)["tags"] == TAGS
    assert job_record(added)["terms"] == {}


def test_every_way_to_add_takes_them(s: schedule.Schedule) -> None:
    schedule.add(s, note, in_="1 hour", tags=TAGS)
    schedule.add_many(s, [{"fn": note, "at": "now", "tags": TAGS}, {"fn": note, "every": "day at 9am", "tags": TAGS}])
    schedule.sync(s, {"planned": {"fn": note, "every": "day at 9am", "args": ["planned"], "tags": TAGS}})
    s.bind(note).now(tags=TAGS).send("bound")
    asyncio.run(aio.add_now(s, note, args=["aio"], tags=TAGS))
    assert [one.tags for one in schedule.jobs(s)] == 6 * [tuple(TAGS)]


def test_a_run_has_them_and_the_jobs_that_it_adds_do_not(s: schedule.Schedule) -> None:
    schedule.add_now(s, note, tags=TAGS)
    schedule.add_now(s, note)
    kept = schedule.add_now(s, offloaded, tags=TAGS)
    with schedule.listener(s, threads=2, burst=True, **HOW) as listener:
        listener.wait()
    assert sorted(SEEN) == [(), tuple(TAGS)]
    assert kept.result() == TAGS


def test_a_job_keeps_them_however_it_goes_on(s: schedule.Schedule, server: Server) -> None:
    moved = schedule.reschedule(s, schedule.add(s, note, in_="1 hour", tags=TAGS), in_="2 hours")
    assert schedule.job(s, moved.id).tags == tuple(TAGS)
    daily = schedule.add(s, note, every="day at 9am", tags=TAGS)
    assert schedule.run(s, daily, args=["other"]).tags == tuple(TAGS)
    to = schedule.create(f"{s.name}-to", redis=server.url)
    schedule.forward(s, to=to, burst=True)
    assert [one.tags for one in schedule.jobs(to)] == [tuple(TAGS)]


def test_middleware_may_not_change_them(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def tagged(one: Any) -> Iterator[Any]:
        yield replace(one, terms=Terms(tags=("user:8",)))

    with pytest.raises(InvalidOptions, match="changed terms of a job"):
        schedule.add_now(s, note, tags=TAGS)


@pytest.mark.parametrize("given", [{"tags": TAGS}, {"once_key": "k", "once_for": "1 day"}], ids=["tags", "once_key"])
def test_a_namespace_of_gocraft_has_no_place_for_it(server: Server, name: str, given: dict[str, Any]) -> None:
    other = schedule.create(name, redis=server.url, layout="gocraft")
    with pytest.raises(Unsupported, match=f"{next(iter(given))}= cannot be kept in a gocraft job. Leave it out."):
        schedule.add_now(other, "note", **given)
    assert list(schedule.jobs(other)) == []


@pytest.mark.parametrize(("terms", "word"), [(Terms(tags=("a",)), "tags"), (Terms(once_key="k"), "once_key")])
def test_a_message_of_rabbitmq_has_no_place_for_it(terms: Terms, word: str) -> None:
    new, names = NewJob("orders.created", ({"id": 1},), terms=terms), Names(exchange="shop", dialect="hutch")
    with pytest.raises(Unsupported, match=f"{word}= cannot be kept in a message of RabbitMQ. Leave it out."):
        check(names, new)
    if word == "tags":  # those of a forwarded job are left out
        new.identity = "source 1@2"
        check(names, new)


@pytest.mark.parametrize(
    "time", [{"every": "day at 9am"}, {"cron": "0 9 * * *"}, {"when": "every day at 9am"}], ids=str
)
def test_a_lasting_key_is_refused_for_a_job_that_recurs(s: schedule.Schedule, time: dict[str, Any]) -> None:
    said = r"once_key='k' with a job that recurs: it is one job already\. Write name=\"\.\.\.\", on_conflict=\"keep\"\."
    with pytest.raises(InvalidOptions, match=said):
        schedule.add(s, note, **time, once_key="k", once_for="1 day")
    with pytest.raises(InvalidOptions, match="job pay: once_key='k' with name="):
        schedule.sync(s, {"pay": {"fn": note, "every": "day at 9am", "once_key": "k", "once_for": "1 day"}})
