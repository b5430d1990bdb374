"""Metadata of a job goes along with it: to its handler, to the jobs that this adds, to logs (spec/features.md 15)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.servers import Server
from workkit import aio, current_job, events, job, schedule, wire
from workkit.brokers.hutch.codec import check
from workkit.brokers.hutch.names import Names
from workkit.cli.log import Style, console_line, json_line
from workkit.contract.producer import NewJob
from workkit.errors import InvalidOptions, Unsupported
from workkit.events import Event
from workkit.jobs.middleware import ENTERING
from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import Terms
from workkit.worker.run.run import JobLogFilter

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
SEEN: list[tuple[str, dict[str, str]]] = []
SCHEDULES: list[schedule.Schedule] = []


@pytest.fixture(autouse=True)
def fresh(s: schedule.Schedule) -> Iterator[None]:
    SEEN.clear()
    SCHEDULES[:] = [s]
    yield
    ENTERING.clear()


def leaf(name: str) -> None:
    SEEN.append((name, current_job().meta))


async def leaf_async(name: str) -> None:
    SEEN.append((name, current_job().meta))
    await aio.add_now(SCHEDULES[0], leaf, args=["of a coroutine"])


def parent() -> None:
    SEEN.append(("parent", current_job().meta))
    (s,) = SCHEDULES
    schedule.add_now(s, leaf, args=["copied"])
    schedule.add(s, leaf, in_="1 second", args=["merged"], meta={"user": "7", "step": "2"})
    schedule.add_many(s, [{"fn": leaf, "at": "now", "args": ["row"]}])
    with schedule.meta(step="3"):
        schedule.add_now(s, leaf, args=["block"])
    schedule.sync(s, {"planned": {"fn": leaf, "args": ["planned"], "every": "day at 9am"}})


@job(cpu=True)
def offloaded(url: str, name: str) -> None:
    s = schedule.create(name, redis=url)
    schedule.add_now(s, leaf, args=["of a worker"], meta={"seen": current_job().meta["request"]})


def drain(s: schedule.Schedule) -> dict[str, dict[str, str]]:
    schedule.drain(s, **HOW)
    for waits in schedule.jobs(s, state="waiting"):
        if not waits.recurs:
            schedule.run(s, waits)
    schedule.drain(s, **HOW)
    return dict(SEEN)


def test_what_a_handler_adds_has_the_metadata_of_its_job(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, parent, meta={"request": "9f2c", "user": "1"})
    assert added.meta == {"request": "9f2c", "user": "1"}
    assert schedule.job(s, added.id).meta == added.meta
    usual = {"request": "9f2c", "user": "1"}
    assert drain(s) == {
        "parent": usual,
        "copied": usual,
        "merged": usual | {"user": "7", "step": "2"},
        "row": usual,
        "block": usual | {"step": "3"},
    }
    assert schedule.job(s, "planned").meta is None, "a plan is the same whoever makes it so"


def test_a_coroutine_and_a_worker_process_carry_it_too(s: schedule.Schedule, server: Server) -> None:
    schedule.add_now(s, leaf_async, args=["coroutine"], meta={"request": "9f2c"})
    schedule.add_now(s, offloaded, args=[server.url, s.name], meta={"request": "9f2d"})
    with schedule.listener(s, threads=2, burst=True, **HOW) as listener:
        listener.wait()
    schedule.drain(s, **HOW)
    assert dict(SEEN) == {
        "coroutine": {"request": "9f2c"},
        "of a coroutine": {"request": "9f2c"},
        "of a worker": {"request": "9f2d", "seen": "9f2d"},
    }


def test_a_block_gives_it_to_all_that_is_added_inside(s: schedule.Schedule) -> None:
    with schedule.meta(request="1"):
        schedule.add_now(s, leaf, args=["inside"])
        with schedule.meta(user="7"):
            asyncio.run(aio.add_now(s, leaf, args=["nested"], meta={"request": "2"}))
        schedule.add_now(s, leaf, args=["after"])
    schedule.add_now(s, leaf, args=["outside"])
    with schedule.meta(request="drained"):
        found = drain(s)
    assert found == {
        "inside": {"request": "1"},
        "nested": {"request": "2", "user": "7"},
        "after": {"request": "1"},
        "outside": {},
    }


def test_it_is_a_field_of_the_payload_and_no_argument(s: schedule.Schedule, server: Server) -> None:
    schedule.add_now(s, leaf, args=["a"], meta={"user": "7", "request": "9f2c"})
    (payload,) = server.client().hvals(f"{s.name}:jobs")
    read = wire.read_payload(payload)
    assert (read.args, read.extra) == (("a",), {"meta": {"request": "9f2c", "user": "7"}})
    schedule.add_now(s, leaf, args=["plain"], meta={})
    assert [sorted(json.loads(one)) for one in server.client().hvals(f"{s.name}:jobs") if b"plain" in one] == [
        ["args", "cron", "job"]
    ]


def test_jobs_that_differ_only_in_it_are_two_but_under_one_key(s: schedule.Schedule) -> None:
    at = {"at": "2050-01-01 9am", "fn": leaf, "args": ["a"]}
    ids = [schedule.add(s, **at, meta={"request": text}).id for text in "112"]  # type: ignore[arg-type]
    assert len(set(ids)) == 2
    keyed = [schedule.add(s, **at, unique_key="k", meta={"request": text}).id for text in "12"]  # type: ignore[arg-type]
    assert len(set(keyed)) == 1


@pytest.mark.parametrize(("meta", "said"), [
    ({"a": 1}, r"meta= has 'a': 1, which are not two texts"), ({1: "a"}, "not two texts"),
    ({"": "a"}, "has a text without a name"),
    ({"a": "x\ny"}, "has a control character"), ("request", "does not map names to texts"), (5, "does not map"),
    ({"a": "x" * 1000}, r"meta= has 1,009 bytes of JSON. Accepted: up to 1,000"), ([1], "does not map"),
])  # fmt: skip
def test_what_is_no_metadata_is_refused(s: schedule.Schedule, meta: Any, said: str) -> None:
    with pytest.raises(InvalidOptions, match=said) as caught:
        schedule.add_now(s, leaf, meta=meta)
    assert caught.value.where == "meta"
    assert list(schedule.jobs(s)) == []


def test_metadata_that_is_too_large_together_is_refused(s: schedule.Schedule) -> None:
    with schedule.meta(a="x" * 900), pytest.raises(InvalidOptions, match="bytes of JSON"):
        schedule.add_now(s, leaf, args=["a"], meta={"b": "y" * 200})


@pytest.mark.parametrize("stored", ['{"a":1}', "5", "null", '["a"]', '{"a":"' + "x" * 2000 + '"}'])
def test_what_others_write_there_is_passed_over(s: schedule.Schedule, server: Server, stored: str) -> None:
    text = (
        f'{{"args":["x"],"cron":"2014 3 5 * 9 34 16","job":"#\'tests.worker.test-meta/leaf","meta":{stored}}}'.encode()
    )
    id, client = wire.job_id(text), server.client()
    client.hset(f"{s.name}:jobs", id, text)
    client.zadd(f"{s.name}:next", {wire.item(id): 1})
    assert drain(s) == {"x": {}}


def test_middleware_may_set_it(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def stamped(one: Any) -> Iterator[Any]:
        yield replace(one, meta={**(one.meta or {}), "by": "middleware"})

    schedule.add_now(s, leaf, args=["a"], meta={"request": "1"})
    assert drain(s) == {"a": {"request": "1", "by": "middleware"}}


def test_a_job_keeps_it_however_it_goes_on(s: schedule.Schedule) -> None:
    meta = {"request": "9f2c"}
    moved = schedule.reschedule(s, schedule.add(s, leaf, in_="1 hour", args=["moved"], meta=meta), in_="2 hours")
    assert schedule.job(s, moved.id).meta == meta
    schedule.cancel(s, moved.id)
    schedule.add_now(s, f"{__name__}:leaf", meta=meta)  # it fails: it lacks its argument
    schedule.drain(s, raise_errors=False, **HOW)
    assert [one.meta for one in schedule.dead(s)] == [meta]
    schedule.retry(s, args=["other"])
    assert drain(s) == {"other": meta}


def test_a_forward_passes_it_on(s: schedule.Schedule, server: Server) -> None:
    to = schedule.create(f"{s.name}-to", redis=server.url)
    schedule.add_now(s, leaf, args=["a"], meta={"request": "1"})
    schedule.forward(s, to=to, burst=True)
    assert drain(to) == {"a": {"request": "1"}}


def test_a_namespace_of_gocraft_refuses_it_and_leaves_out_that_of_a_block(server: Server, name: str) -> None:
    other = schedule.create(name, redis=server.url, layout="gocraft")
    with pytest.raises(Unsupported, match="meta="):
        schedule.add_now(other, "note", meta={"request": "1"})
    with schedule.meta(request="1"):
        assert schedule.add_now(other, "note").meta is None


def test_lines_and_records_have_it(s: schedule.Schedule, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    unsubscribe = events.subscribe(seen.append)
    caplog.handler.addFilter(with_job := JobLogFilter())
    try:
        with caplog.at_level(logging.INFO), schedule.listener(s, **HOW, burst=True) as listener:
            schedule.add_now(s, log, meta={"request": "9f2c"})
            listener.wait()
            while not any(event.name == "done" for event in seen):
                schedule.drain(s, **HOW)
    finally:
        unsubscribe()
        caplog.handler.removeFilter(with_job)  # the handler serves the next tests too
    (done,) = [event for event in seen if event.name == "done"]
    assert console_line(done, Style()).endswith("  request=9f2c")
    assert json.loads(json_line(done, listener=None))["meta"] == {"request": "9f2c"}
    own = [record for record in caplog.records if record.name == "handler"]
    assert [record.__dict__["job_meta"] for record in own] == [{"request": "9f2c"}]


def log() -> None:
    logging.getLogger("handler").warning("hello")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"meta": {"request": "1"}}, "meta= cannot be kept in a message of RabbitMQ"),
        ({"terms": Terms(expires_ms=1000)}, "expires= cannot be kept in a message of RabbitMQ"),
        ({"options": RunOptions(crashes=0)}, "crashes= cannot be kept in this layout"),
    ],
)
def test_a_message_of_rabbitmq_has_no_place_for_it(more: dict[str, Any], said: str) -> None:
    new: dict[str, Any] = {
        "fn": "orders.created",
        "args": ({"id": 1},),
        "kwargs": None,
        "trigger": None,
        "due_ms": None,
    }
    with pytest.raises(Unsupported, match=said):
        check(Names(exchange="shop", dialect="hutch"), NewJob(**new, **more))
    if "meta" in more:  # that of a forwarded job is left out
        check(Names(exchange="shop", dialect="hutch"), NewJob(**new, **more, identity="source 1@2"))
