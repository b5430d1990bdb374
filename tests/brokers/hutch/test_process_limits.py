"""`@job(limit=)` without a Redis beside: each process keeps it for itself, as event keeps its MaxConcurrency."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from tests import rabbit
from tests.brokers.hutch.opened import Opened
from tests.processes import until
from workkit import job, schedule
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Dialect, Names
from workkit.contract.listener import Claim, ListenerInfo, Serving
from workkit.errors import Unsupported
from workkit.jobs.admission import FREE
from workkit.jobs.outcome import Done
from workkit.jobs.run_options import RunOptions

gate = threading.Event()
running: list[int] = []
highest: list[int] = []
ran: list[int] = []


@job("few.at.once", limit=2)
def few(body: dict[str, Any]) -> None:
    running.append(body["n"])
    highest.append(len(running))
    gate.wait(60)
    running.remove(body["n"])
    ran.append(body["n"])


@job("few.none")
def free(body: dict[str, Any]) -> None:
    ran.append(body["n"])


@pytest.fixture
def each(request: pytest.FixtureRequest, on: Opened) -> Iterator[Opened]:
    """The exchange in each layout."""
    gate.clear()
    for seen in (running, highest, ran):
        seen.clear()
    on.names = Names(exchange=on.names.exchange, dialect=request.param)
    yield on
    gate.set()
    rabbit.forget(on.url, on.names, *map(on.names.queue, ("few.at.once", "few.none", "note")))


both = pytest.mark.parametrize("each", get_args(Dialect), indirect=True)


@both
def test_no_more_run_at_once_and_others_get_the_rest(each: Opened) -> None:
    s = schedule.create(each.names.exchange, amqp=each.url, layout=each.names.dialect)
    how: dict[str, Any] = {"folder": None, "jobs": ["few.at.once", "few.none"], "threads": 6}
    with schedule.listener(s, **how) as listener:
        for n in range(20):
            schedule.add_now(s, "@few.at.once", args=[{"n": n}])
        until(lambda: len(running) == 2)
        schedule.add_many(s, [{"fn": "@few.none", "at": "now", "args": [{"n": 100 + n}]} for n in range(50)])
        until(lambda: len(ran) == 50)  # it holds up no other name
        queue = each.names.queue("few.at.once")
        assert (len(running), each.count(queue)) == (2, 18)  # they wait in the queue, for any listener
        gate.set()
        until(lambda: len(ran) == 70)
        assert listener.stop().ran == 70
    assert max(highest) == 2


def listener(on: Opened, limit: int) -> HutchBroker:
    broker = on.broker()
    serves = {"note": Serving(options=RunOptions(limit=limit))}
    broker.register(ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=8, serves=serves))
    return broker


def begun(broker: HutchBroker, *, limit: int, count: int) -> list[Claim]:
    """Claim until so many have begun."""
    found: list[Claim] = []

    def are_there() -> bool:
        claims = broker.claim(8).claims
        asked = [(claim, claim.admission(RunOptions(limit=limit), FREE)) for claim in claims]
        found.extend(broker.admit(asked).claims if asked else ())
        return len(found) >= count

    until(are_there, what=f"{count} claims")
    return found


@both
def test_each_process_has_a_limit_of_its_own_and_leaves_the_rest_to_the_other(each: Opened) -> None:
    first, second = listener(each, 2), listener(each, 3)
    for n in range(9):
        each.publish("note", b'{"n": %d}' % n)
    ours, theirs = begun(first, limit=2, count=2), begun(second, limit=3, count=3)
    assert first.claim(8).claims == second.claim(8).claims == []
    assert (len(ours), len(theirs), each.count(each.names.queue("note"))) == (2, 3, 4)
    first.claim(0, ends=[(ours[0], Done())])
    assert len(begun(first, limit=2, count=1)) == 1
    assert first.claim(8).claims == []


@pytest.mark.parametrize("each", ["hutch"], indirect=True)
def test_what_comes_above_the_limit_waits_for_a_run_to_end(each: Opened) -> None:
    """A consumer that begins again, as after a wait for a free thread, is pushed more than the limit allows."""
    broker = listener(each, 1)
    for n in range(3):
        each.publish("note", b'{"n": %d}' % n)
    (first,) = begun(broker, limit=1, count=1)
    broker._session._link.run(broker._session._suspend)
    asked = [(claim, claim.admission(RunOptions(limit=1), FREE)) for claim in broker.claim(8).claims]
    assert len(asked) == 1
    turn = broker.admit(asked)
    assert turn.claims == []
    assert turn.wake_in_ms is not None
    assert broker.claim(8).claims == []
    assert each.count(each.names.queue("note")) == 1
    more = broker.claim(8, ends=[(first, Done())]).claims  # the second one, and perhaps the third
    (second,) = broker.admit([(claim, claim.admission(RunOptions(limit=1), FREE)) for claim in more]).claims
    broker.claim(0, ends=[(second, Done())])
    assert len(begun(broker, limit=1, count=1)) == 1


@pytest.mark.parametrize("each", ["event"], indirect=True)
def test_what_one_process_cannot_count_needs_a_redis(each: Opened) -> None:
    broker = each.broker()
    for options in (RunOptions(rate_ms=100.0), RunOptions(limit=1, limit_key="n")):
        serves = {"note": Serving(options=options)}
        info = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1, serves=serves)
        with pytest.raises(Unsupported, match="cannot be kept by RabbitMQ alone"):
            broker.register(info)


@both
def test_a_drain_runs_all_one_by_one(each: Opened) -> None:
    gate.set()
    s = schedule.create(each.names.exchange, amqp=each.url, layout=each.names.dialect)
    how: dict[str, Any] = {"folder": None, "jobs": ["few.at.once"]}
    assert schedule.drain(s, **how).ran == 0  # its queue stays
    schedule.add_many(s, [{"fn": "@few.at.once", "at": "now", "args": [{"n": n}]} for n in range(7)])
    assert schedule.drain(s, **how).ran == 7
