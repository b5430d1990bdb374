"""Consumers of a pattern of routing keys, as hutch has them: retries, dead messages, delays, looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import rabbit
from tests.brokers.hutch.opened import Opened, new, one
from tests.processes import until
from tests.servers import Server
from workkit import Retry, current_job, job, schedule
from workkit.errors import Invalid, InvalidFunction
from workkit.jobs.outcome import Dead, Done, Failure
from workkit.schedule import Schedule

ran: list[tuple[str, str | None, int]] = []
PATTERNS = ("wild.#", "wild.*", "wild.created", "wild.*.eu", "wild.cpu.#", "#", "*.schedule.*")
FAILED = Failure(type="OSError", message="disk full", where="app.py:3")


@job("wild.#")
def everything(order: dict[str, Any]) -> None:
    ran.append(("wild.#", current_job().fn, order["n"]))
    if order.get("fails") == current_job().attempt:
        raise Retry(after="0.1 seconds")
    if order.get("dies"):
        raise OSError("disk full")


@job("wild.*")
def words(order: dict[str, Any]) -> None:
    ran.append(("wild.*", current_job().fn, order["n"]))


@job("wild.created")
def created(order: dict[str, Any]) -> None:
    ran.append(("wild.created", current_job().fn, order["n"]))


@job("wild.cpu.#", cpu=True)
def busy(order: dict[str, Any]) -> None:
    assert current_job().fn == "wild.cpu.a"


def unmarked(order: dict[str, Any]) -> None:
    ran.append(("wild.*.eu", current_job().fn, order["n"]))


@pytest.fixture
def s(on: Opened) -> Iterator[Schedule]:
    ran.clear()
    yield schedule.create(on.names.exchange, amqp=on.url, layout="hutch")
    rabbit.forget(on.url, on.names, *map(on.names.queue, PATTERNS))


def how(*jobs: str, **more: Any) -> dict[str, Any]:
    return {"folder": None, "jobs": jobs, "threads": 2, **more}


def test_each_consumer_whose_pattern_takes_the_key_gets_the_message(s: Schedule) -> None:
    jobs = how("wild.#", "wild.*", "wild.created", "wild.*.eu", consumers={"wild.*.eu": unmarked})
    with schedule.listener(s, **jobs):
        for n, key in enumerate(("wild.created", "wild.paid", "wild.paid.eu", "wild.a.b.c")):
            schedule.add_now(s, f"@{key}", args=[{"n": n}])
        schedule.add(s, "@wild", in_="0.1 seconds", args=[{"n": 4}])
        until(lambda: len(ran) >= 9)
    assert sorted(ran) == [
        ("wild.#", "wild", 4), ("wild.#", "wild.a.b.c", 3), ("wild.#", "wild.created", 0), ("wild.#", "wild.paid", 1),
        ("wild.#", "wild.paid.eu", 2), ("wild.*", "wild.created", 0), ("wild.*", "wild.paid", 1),
        ("wild.*.eu", "wild.paid.eu", 2), ("wild.created", "wild.created", 0),
    ]  # fmt: skip


def test_a_retry_comes_back_to_the_one_queue_and_a_dead_message_too(s: Schedule, on: Opened) -> None:
    with schedule.listener(s, **how("wild.#", "wild.*")):
        schedule.add_now(s, "@wild.paid", args=[{"n": 1, "fails": 0}])
        schedule.add_now(s, "@wild.sold", args=[{"n": 2, "dies": True}])
        until(lambda: len(ran) >= 5 and on.count(on.names.dead_queue) == 1)
        (grave,) = schedule.jobs(s, state="dead")
        assert (grave.fn, grave.queue) == ("wild.sold", on.names.queue("wild.#"))
        assert schedule.retry(s, grave.id)
        until(lambda: len(ran) >= 6 and on.count(on.names.dead_queue) == 1)
    assert sorted(ran) == [
        ("wild.#", "wild.paid", 1), ("wild.#", "wild.paid", 1), ("wild.#", "wild.sold", 2), ("wild.#", "wild.sold", 2),
        ("wild.*", "wild.paid", 1), ("wild.*", "wild.sold", 2),
    ]  # fmt: skip


def test_a_worker_process_finds_the_function_of_a_pattern(s: Schedule) -> None:
    with schedule.listener(s, **how("wild.cpu.#")):
        pass  # its queue stays
    schedule.add_now(s, "@wild.cpu.a", args=[{}])
    assert schedule.drain(s, **how("wild.cpu.#")).ran == 1


def test_the_private_key_of_a_pattern_reaches_its_queue_alone(on: Opened, s: Schedule) -> None:
    listeners = {name: on.listener(name) for name in ("wild.*.eu", "wild.#", "#")}
    on.broker().adding([new({"n": 1}, "wild.paid.eu")])()
    claims = {name: one(listener) for name, listener in listeners.items()}
    for name, claim in claims.items():
        assert (claim.fn, claim.job.fn) == (name, "wild.paid.eu")
    for name, listener in listeners.items():
        outcome = Dead(failure=FAILED, reason="failed") if name == "wild.*.eu" else Done()
        listener.claim(0, ends=[(claims[name], outcome)])
    (grave,) = on.broker().inspector.jobs(state="dead")
    on.broker().admin.retry([grave])
    assert one(listeners["wild.*.eu"]).job.fn == "wild.paid.eu"
    assert [on.count(on.names.queue(name)) for name in ("wild.#", "#")] == [0, 0]


def test_a_pattern_that_takes_all_runs_no_dead_message(on: Opened, s: Schedule) -> None:
    """The dead queue keeps it, also where an operator has deleted that queue meanwhile."""
    listener = on.listener("#")
    on.publish("a.b", b'{"n": 2}')
    claim = one(listener)
    assert claim.job.fn == "a.b"
    on.channel.queue_delete(on.names.dead_queue)
    listener.claim(0, ends=[(claim, Dead(failure=FAILED, reason="failed"))])
    until(lambda: on.count(on.names.queue("#")) == 0)
    assert listener.claim(1).claims == []
    assert on.count(on.names.dead_queue) == 1


@pytest.mark.parametrize(("pattern", "runs"), [("#", True), ("*.schedule.*", False)])
def test_a_delay_of_others_runs_where_the_pattern_takes_its_real_key(
    on: Opened, s: Schedule, pattern: str, runs: bool
) -> None:
    """At its end the broker routes it by the key of the delay too."""
    listener = on.listener(pattern, "note")
    on.channel.exchange_declare(on.names.schedule_exchange, "topic", durable=True)
    on.channel.queue_declare(on.names.delay_queue(5), arguments={"x-dead-letter-exchange": on.names.exchange})
    key = on.names.level_key(5)
    on.channel.queue_bind(on.names.delay_queue(5), on.names.schedule_exchange, key)
    on.publish(key, exchange=on.names.schedule_exchange, expiration="20", headers={"CC": ["note"]})
    seen = [one(listener) for _ in range(1 + runs)]
    assert {claim.fn for claim in seen} == ({"note", pattern} if runs else {"note"})
    assert {claim.job.fn for claim in seen} == {"note"}
    listener.claim(0, ends=[(claim, Done()) for claim in seen])
    assert listener.claim(2).claims == []
    assert on.count(on.names.queue(pattern)) == 0


def test_looks_show_the_queue_of_a_pattern(on: Opened, s: Schedule, management: str) -> None:
    on.listener("wild.#").leave()
    on.publish("wild.paid")
    inspector = on.broker(management=management).inspector
    (queue,) = (found for found in inspector.queues() if found.kind == "work")
    assert (queue.name, queue.job, queue.keys, queue.ready) == (on.names.queue("wild.#"), "wild.#", ("wild.#",), 1)
    assert [(due.fn, due.queue) for due in inspector.jobs(state="due")] == [("wild.paid", queue.name)]
    assert inspector.counts().due == 1
    assert {found.job for found in on.broker().inspector.queues()} >= {"wild.#"}  # without the API: by the mark


def test_a_pattern_is_no_name_of_a_message(s: Schedule) -> None:
    for fn in ("@wild.#", "@wild.*", everything):
        with pytest.raises(InvalidFunction, match=r'fn="wild\.." holds a wildcard: it is a pattern, and a message has'):
            schedule.add_now(s, fn, args=[{}])


@pytest.mark.parametrize("given", [{"jobs": ["wild.#"]}, {"consumers": {"orders.#": unmarked}}])
def test_a_pattern_is_refused_where_it_means_nothing(
    server: Server, amqp: str, name: str, given: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match=r"(wild|orders)\.#. holds a wildcard, and only an exchange of the layout hutch"):
        schedule.drain(schedule.create(name, redis=server.url), folder=None, **given)
    with pytest.raises(Invalid, match=r'\.#" holds a wildcard, and a consumer of event has one routing key'):
        schedule.drain(schedule.create(name, amqp=amqp, layout="event"), folder=None, jobs=["wild.#"])


def test_a_namespace_of_gocraft_has_it_as_a_name_like_any_other(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    ran.clear()
    for fn in ("wild.paid", "wild.#"):
        schedule.add_now(s, fn, kwargs={"order": {"n": 1}})
    assert schedule.drain(s, folder=None, jobs=["wild.#"]).ran == 1
    assert ran == [("wild.#", "wild.#", 1)]
    assert schedule.drain(schedule.create(f"{name}n", redis=server.url), folder=None).ran == 0  # native: of others
