"""Structured arguments from the addition to the run, over a real server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.processes import until
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


WHEN, PRICE = datetime(2026, 11, 23, 9, tzinfo=UTC), Decimal("12.50")


@job("annotated")
def annotated(when: datetime, price: Decimal | None = None, days: Sequence[date] = ()) -> None:
    SEEN.append((when, price, list(days), current_job().args, current_job().kwargs))


@job("annotated_later")
async def annotated_later(when: datetime) -> None:
    SEEN.append(when)


@job(cpu=True, keep="1 minute")
def annotated_elsewhere(when: datetime, data: bytes, file: Path) -> list[str]:
    return [repr(when), repr(data), str(file.name)]


@job("prices")
def prices(prices: dict[str, Decimal]) -> None:
    SEEN.append(prices)


def untouched(when: str, plain: Any) -> None:
    SEEN.append((when, plain))


def test_annotated_parameters_get_their_types_and_the_wire_has_text(s: Schedule, server: Server) -> None:
    schedule.add_now(s, annotated, args=[WHEN], kwargs={"price": PRICE, "days": [date(2026, 11, 23)]})
    (stored,) = server.client().hvals(f"{s.name}:jobs")
    as_json = {"price": "12.50", "days": ["2026-11-23"]}
    assert (json.loads(stored)["args"], json.loads(stored)["kwargs"]) == ([WHEN.isoformat()], as_json)
    schedule.drain(s, **HOW)
    assert [(WHEN, PRICE, [date(2026, 11, 23)], (WHEN.isoformat(),), as_json)] == SEEN


def test_text_that_was_added_by_name_arrives_as_the_annotation_says(s: Schedule) -> None:
    schedule.add_now(s, f"{__name__}:annotated_later", args=["2026-11-23T09:00:00Z"])
    schedule.add_many(s, [{"fn": annotated_later, "args": [WHEN], "at": "now"}])
    schedule.add_now(s, f"{__name__}:untouched", args=["2026-11-23T09:00:00Z", "2026-11-23"])
    schedule.drain(s, **HOW)
    assert sorted(SEEN, key=str) == sorted([WHEN, WHEN, ("2026-11-23T09:00:00Z", "2026-11-23")], key=str)


def test_a_worker_process_gives_annotated_parameters_their_types(s: Schedule) -> None:
    added = schedule.add_now(s, annotated_elsewhere, args=[WHEN, b"\0\xff", Path("/tmp/x")])
    with schedule.listener(s, **HOW):
        assert schedule.result(s, added, wait="60s") == [repr(WHEN), repr(b"\0\xff"), "x"]


def test_text_that_does_not_fit_is_refused_at_the_addition_or_ends_the_run(s: Schedule) -> None:
    said = 'args[0]: when must be a datetime as ISO text, and is "soon". Write "2026-11-23T09:00:00+00:00".'
    with pytest.raises(InvalidArguments) as refused:
        schedule.add_now(s, annotated, args=["soon"])
    assert str(refused.value) == said
    assert schedule.counts(s).due == 0
    schedule.add_now(s, f"{__name__}:annotated", args=["soon"], retries=5)
    schedule.drain(s, raise_errors=False, **HOW)
    (dead,) = schedule.dead(s)
    assert dead.failure is not None
    assert (dead.failure.type, dead.failure.message, dead.attempt) == ("InvalidArguments", said, 0)
    assert SEEN == []


def test_middleware_of_additions_sees_text_for_annotated_parameters(s: Schedule) -> None:
    from workkit.jobs.middleware import ENTERING

    @s.middleware(on="add")
    def look(added: Any) -> Any:
        SEEN.append(added.args)
        yield added

    schedule.add_now(s, annotated_later, args=[WHEN])
    del ENTERING[s.name]
    schedule.drain(s, **HOW)
    assert [(WHEN.isoformat(),), WHEN] == SEEN


def test_a_go_namespace_gives_annotated_parameters_their_types(server: Server, name: str) -> None:
    SEEN.clear()
    go = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add_now(go, annotated, kwargs={"when": WHEN, "price": PRICE})
    with pytest.raises(
        InvalidArguments, match=r'^kwargs\["when"\]: when must be a datetime as ISO text, and is "soon"'
    ):
        schedule.add_now(go, annotated, kwargs={"when": "soon"})
    with schedule.listener(go, imports=[__name__], folder=None, jobs=["annotated"]):
        until(lambda: SEEN)
    assert [seen[:2] for seen in SEEN] == [(WHEN, PRICE)]


def test_an_exchange_gives_annotated_parameters_their_types(amqp: str, name: str) -> None:
    SEEN.clear()
    hutch = schedule.create(name, layout="hutch", amqp=amqp)
    with schedule.listener(hutch, imports=[__name__], folder=None, jobs=["prices"]):
        schedule.add_now(hutch, prices, args=[{"apple": PRICE}])
        until(lambda: SEEN)
    assert SEEN == [{"apple": PRICE}]
