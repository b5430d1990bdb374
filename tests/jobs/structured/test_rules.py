"""Dataclasses as arguments: what is written, what is built, and what is refused, with its place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from tests.jobs.structured import orders
from tests.jobs.structured.orders import Color, Line, Node, Note, Order, Range, Rank, Sku
from workkit.errors import InvalidArguments
from workkit.jobs.structured import structured
from workkit.verbs.new_job import called

ID = UUID("12345678-1234-5678-1234-567812345678")
LINE = Line(Sku("a"), 1)
FULL = Order(
    id=ID,
    at=datetime(2026, 11, 23, 9, tzinfo=UTC),
    lines=[LINE, Line(Sku("b"), 2, Decimal("12.50"))],
    color=Color.BLUE,
    tags=frozenset("yx"),
    by_day={"monday": [LINE]},
    day=date(2026, 11, 23),
    hour=time(9, 30),
    rank=Rank.HIGH,
    mode="slow",
    pair=(1, "one"),
    numbers=(1, 2.5),
    note=Note(text="soon"),
    whatever={"a": [1]},
)
AS_JSON = {
    "id": str(ID),
    "at": "2026-11-23T09:00:00+00:00",
    "lines": [{"sku": "a", "quantity": 1, "price": "1"}, {"sku": "b", "quantity": 2, "price": "12.50"}],
    "color": "blue",
    "tags": ["x", "y"],
    "by_day": {"monday": [{"sku": "a", "quantity": 1, "price": "1"}]},
    "day": "2026-11-23",
    "hour": "09:30:00",
    "rank": 2,
    "mode": "slow",
    "pair": [1, "one"],
    "numbers": [1, 2.5],
    "note": {"text": "soon"},
    "whatever": {"a": [1]},
}
LEAST = {"id": str(ID), "at": "2026-11-23T09:00:00Z", "lines": []}
ONE = {"sku": "a", "quantity": 1}


def travelled(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that the function gets: added, written as JSON, read, built."""
    new = called(fn, args=args, kwargs=kwargs or None)
    found = structured(fn)
    assert found is not None
    built, named = found.built(json.loads(json.dumps(new.args)), json.loads(json.dumps(new.kwargs)))
    return list(built), dict(named or {})


def test_an_object_travels_as_plain_json_and_arrives_as_it_was() -> None:
    assert called(orders.bill, args=[FULL], kwargs=None).args == (AS_JSON,)
    assert travelled(orders.bill, FULL) == ([FULL], {})


def test_a_dict_is_built_too_with_defaults_and_travels_as_it_is() -> None:
    assert called(orders.bill, args=[LEAST], kwargs=None).args == (LEAST,)
    assert travelled(orders.bill, LEAST) == ([Order(ID, datetime(2026, 11, 23, 9, tzinfo=UTC), [])], {})
    assert travelled(orders.bill, {**LEAST, "id": ID, "lines": [LINE, ONE]})[0][0].lines == [LINE, LINE]


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "built"),
    [
        (orders.both, [None], {"plain": {"a": 1}}, ([None], {"plain": {"a": 1}})),
        (orders.both, [FULL], {"plain": {}, "lines": {"x": [ONE]}}, ([FULL], {"plain": {}, "lines": {"x": [LINE]}})),
        (orders.rest, [1, ONE, LINE], {"x": ONE}, ([1, LINE, LINE], {"x": LINE})),
        (orders.tree, [Node("a", [Node("b")])], {}, ([Node("a", [Node("b", [])])], {})),
        (orders.either, [ONE], {}, ([LINE], {})),
        (orders.either, [Range(1, 2)], {}, ([Range(1, 2)], {})),
        (orders.half_known, [ONE, "x"], {}, ([LINE, "x"], {})),
        (orders.bill, [], {"order": FULL}, ([], {"order": FULL})),
    ],
)  # fmt: skip
def test_annotations_that_hold_a_dataclass_are_built(
    fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], built: Any
) -> None:
    assert travelled(fn, *args, **kwargs) == built


def test_keyword_arguments_as_one_dict_are_built_as_a_whole() -> None:
    new = called(orders.whole, args=(), kwargs={"sku": "a", "quantity": 1}, plain=False)
    assert new.kwargs == ONE
    found = structured(orders.whole)
    assert found is not None
    assert found.built([ONE], None, whole=True) == ([LINE], None)
    with pytest.raises(InvalidArguments, match=r'^kwargs.quantity: "x" is no whole number.$'):
        called(orders.whole, args=(), kwargs={"sku": "a", "quantity": "x"})


@pytest.mark.parametrize(
    ("fn", "value", "said"),
    [
        (orders.bill, {**LEAST, "lines": [ONE, ONE, {**ONE, "quantity": "three"}]},
         'args[0].lines[2].quantity: "three" is no whole number.'),
        (orders.bill, {**LEAST, "lines": [{"sku": "a"}]}, "args[0].lines[0].quantity is missing."),
        (orders.bill, {**LEAST, "lines": [{**ONE, "quantitty": 1}]},
         "args[0].lines[0].quantitty is not a field of Line. Did you mean quantity?"),
        (orders.bill, {**LEAST, "total": 1.0},
         "args[0].total is not a field of Order. Accepted: id, at, lines, color, tags, by_day, day, hour, rank, mode, "
         "pair, numbers, note, whatever."),
        (orders.bill, {**LEAST, "lines": {}}, "args[0].lines: {} is no list."),
        (orders.bill, {**LEAST, "lines": [5]}, "args[0].lines[0]: 5 is no dict of the fields of Line."),
        (orders.bill, {**LEAST, "id": "x"}, 'args[0].id: "x" is no UUID.'),
        (orders.bill, {**LEAST, "id": 5}, "args[0].id: 5 is no UUID."),
        (orders.bill, {**LEAST, "at": "soon"},
         'args[0].at: "soon" is no date and time. Write "2026-11-23T09:00:00+00:00".'),
        (orders.bill, {**LEAST, "color": "green"}, 'args[0].color: "green" is none of "red", "blue".'),
        (orders.bill, {**LEAST, "mode": 1}, 'args[0].mode: 1 is none of "fast", "slow".'),
        (orders.bill, {**LEAST, "rank": 3}, "args[0].rank: 3 is none of 1, 2."),
        (orders.bill, {**LEAST, "pair": [1]}, "args[0].pair: [1] is no list of 2."),
        (orders.bill, {**LEAST, "numbers": [1, "x"]}, 'args[0].numbers[1]: "x" is no number.'),
        (orders.bill, {**LEAST, "by_day": {"a b": [{**ONE, "price": "much"}]}},
         'args[0].by_day["a b"][0].price: "much" is no decimal number. Write it as text: "12.50".'),
        (orders.bill, {**LEAST, "whatever": {1: 2}},
         "args[0][\"whatever\"] has the key 1, and JSON keys are text. Write '1'."),
        (orders.bill, {**LEAST, "whatever": object}, 'args[0]["whatever"] is a type, which JSON cannot carry.'),
        (orders.bill, None, "args[0]: None is no dict of the fields of Order."),
        (orders.between, {"start": 2, "end": 1},
         "args[0]: {'start': 2, 'end': 1} is refused by Range: ValueError: it ends before it starts."),
        (orders.either, 5, "args[0]: 5 is none of Line, Range."),
        (orders.either, {"start": 1, "end": "x"}, "args[0]: {'start': 1, 'end': 'x'} is none of Line, Range."),
        (orders.noted, {"sku": "a"}, "args[0].quantity is missing."),
        (orders.filed, {"path": "/tmp", "age": 1},
         "args[0].age: 1 is for timedelta, which cannot be built from JSON. Use text, a number, a list, a dict,"),
        (orders.unreadable, {"x": 1},
         "args[0].x: 1 is for Unreadable, whose annotations cannot be read (NameError: name 'Unknown' is not defined"),
        (orders.tree, {"name": "a", "below": [{"name": "b", "below": [{}]}]},
         "args[0].below[0].below[0].name is missing."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_place(fn: Callable[..., Any], value: Any, said: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        called(fn, args=[value], kwargs=None)
    assert str(caught.value).startswith(said)
    assert caught.value.where is not None


def test_arguments_whose_annotation_says_no_more_than_json_stay_as_they_are() -> None:
    assert structured(orders.plain) is None
    assert structured(print) is None
    args = [{"a": 1}, "Order", [{"b": 2}], "2026-11-23"]
    new = called(orders.plain, args=args, kwargs=None)
    assert all(one is other for one, other in zip(new.args, args, strict=True))


def test_a_function_that_is_only_named_gets_objects_by_their_own_fields() -> None:
    new = called("app:bill", args=[FULL, [LINE], 5, {"a": 1}], kwargs={"line": LINE})
    assert new.args == (AS_JSON, [AS_JSON["lines"][0]], 5, {"a": 1})  # type: ignore[index]
    assert new.kwargs == {"line": AS_JSON["lines"][0]}  # type: ignore[index]


def test_what_a_dataclass_refuses_at_the_add_is_not_changed_by_a_copy() -> None:
    with pytest.raises(InvalidArguments, match="is no whole number"):
        called(orders.bill, args=[replace(FULL, lines=[Line(Sku("a"), "x")])], kwargs=None)  # type: ignore[arg-type]


def test_pydantic_is_not_imported_for_dataclasses() -> None:
    code = (
        "import sys\nfrom tests.jobs.structured import orders\nfrom workkit.verbs.new_job import called\n"
        "called(orders.whole, args=[orders.Line('a', 1)], kwargs=None)\nprint('pydantic' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert told.stdout == "False\n", told.stderr
