"""Structured arguments from the addition to the run, over a real server."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.servers import Server
from workkit import call, current_job, job, schedule
from workkit.errors import InvalidArguments
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
SEEN: list[Any] = []


@dataclass
class Line:
    sku: str
    quantity: int


@dataclass
class Order:
    id: int
    at: datetime
    lines: list[Line] = field(default_factory=list)


def bill(order: Order, *, again: Order | None = None) -> None:
    SEEN.append((order, again, current_job().args))


async def bill_later(order: Order) -> None:
    SEEN.append(order)


@job(cpu=True, keep="1 minute")
def bill_elsewhere(order: Order) -> str:
    return f"{type(order).__name__} of {order.lines[0].sku}"


def loose(order: dict[str, Any]) -> None:
    SEEN.append(order)


ORDER = Order(7, datetime(2026, 11, 23, 9, tzinfo=UTC), [Line("a", 1)])
AS_JSON = {"id": 7, "at": "2026-11-23T09:00:00+00:00", "lines": [{"sku": "a", "quantity": 1}]}


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    SEEN.clear()
    return schedule.create(name, redis=server.url)


def test_a_handler_gets_the_object_and_the_wire_has_plain_json(s: Schedule, server: Server) -> None:
    added = schedule.add_now(s, bill, args=[ORDER], kwargs={"again": ORDER})
    (stored,) = server.client().hvals(f"{s.name}:jobs")
    assert json.loads(stored)["args"] == [AS_JSON]
    assert json.loads(stored)["kwargs"] == {"again": AS_JSON}
    assert added.args == (AS_JSON,)
    schedule.drain(s, **HOW)
    assert SEEN == [(ORDER, ORDER, (AS_JSON,))]


@pytest.mark.parametrize("given", [ORDER, AS_JSON], ids=["object", "dict"])
def test_coroutines_and_calls_get_the_object_too(s: Schedule, given: Any) -> None:
    schedule.add_now(s, bill_later, args=[given])
    schedule.add_now(s, call=call(bill_later, given))
    schedule.add_many(s, [{"fn": f"{__name__}:bill_later", "args": [given], "at": "now"}])
    schedule.drain(s, **HOW)
    assert SEEN == [ORDER] * 3


def test_an_equal_object_and_dict_are_one_job(s: Schedule) -> None:
    first = schedule.add(s, bill_later, at="2050-01-01 9am", args=[ORDER])
    second = schedule.add(s, bill_later, at="2050-01-01 9am", args=[AS_JSON])
    assert (first.id, second.new) == (second.id, False)


def test_a_worker_process_builds_it_too(s: Schedule) -> None:
    added = schedule.add_now(s, bill_elsewhere, args=[ORDER])
    with schedule.listener(s, **HOW):
        assert schedule.result(s, added, wait="60s") == "Order of a"


def test_a_wrong_value_is_refused_before_anything_is_added(s: Schedule, server: Server) -> None:
    with pytest.raises(InvalidArguments, match=r'^args\[0\].lines\[0\].quantity: "three" is no whole number.$'):
        schedule.add_now(s, bill, args=[{**AS_JSON, "lines": [{"sku": "a", "quantity": "three"}]}])
    assert not server.client().keys(f"{s.name}:*")


def test_a_wrong_value_of_a_program_without_the_code_is_dead_with_its_place(s: Schedule) -> None:
    schedule.add_now(s, f"{__name__}:bill", args=[{**AS_JSON, "lines": [{"sku": "a"}]}], retries=5)
    schedule.drain(s, raise_errors=False, **HOW)
    (dead,) = schedule.dead(s)
    assert dead.failure is not None
    assert dead.failure.message == "args[0].lines[0].quantity is missing."
    assert dead.attempt == 0  # the first one: a value that does not fit never will
    assert "structured" not in dead.failure.traceback
    assert SEEN == []


def test_a_handler_of_dicts_gets_dicts(s: Schedule) -> None:
    schedule.add_now(s, loose, args=[AS_JSON])
    schedule.drain(s, **HOW)
    assert SEEN == [AS_JSON]


def test_middleware_sees_plain_json_and_what_it_changes_is_checked(s: Schedule) -> None:
    from dataclasses import replace

    from workkit.jobs.middleware import ENTERING

    @s.middleware(on="add")
    def change(added: Any) -> Any:
        SEEN.append(added.args)
        yield replace(added, args=({**added.args[0], "id": "seven"},))

    with pytest.raises(InvalidArguments, match=r'^args\[0\].id: "seven" is no whole number.$'):
        schedule.add_now(s, bill, args=[ORDER])
    assert SEEN == [(AS_JSON,)]
    del ENTERING[s.name]
