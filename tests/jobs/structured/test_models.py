"""Models of pydantic as arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from tests.jobs.structured.orders import Color
from tests.optional import needed
from workkit.errors import InvalidArguments
from workkit.jobs.structured import structured
from workkit.verbs.new_job import called

pydantic = needed("pydantic")

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator  # noqa: E402
from pydantic.dataclasses import dataclass as pydantic_dataclass  # noqa: E402


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sku: str
    quantity: int = Field(gt=0)


class Order(BaseModel):
    model_config = ConfigDict(strict=True)

    id: UUID
    at: datetime
    price: Decimal
    color: Color = Color.RED
    lines: list[Line]
    customer: str = Field(default="nobody", alias="customerName")
    by_day: dict[str, list[Line]] = {}

    @field_validator("customer")
    @classmethod
    def known(cls, name: str) -> str:
        if name == "mallory":
            raise ValueError("mallory may not buy")
        return name


class Login(BaseModel):
    name: str
    password: SecretStr


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


@pydantic_dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Basket:
    lines: list[Line]
    note: str | None = None


def bill(order: Order) -> None: ...
def several(first: Line | None, lines: list[Line], by: dict[str, Line] | None = None) -> None: ...
def fill(basket: Basket) -> None: ...
def login(who: Login) -> None: ...
def feed(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None: ...
def move(to: Point) -> None: ...


LINE = Line(sku="a", quantity=1)
ORDER = Order(
    id=UUID(int=5), at=datetime(2026, 11, 23, tzinfo=UTC), price=Decimal("12.50"), color=Color.BLUE, lines=[LINE],
    customerName="Ada", by_day={"monday": [LINE]},
)  # fmt: skip
AS_JSON = {
    "id": str(UUID(int=5)),
    "at": "2026-11-23T00:00:00Z",
    "price": "12.50",
    "color": "blue",
    "lines": [{"sku": "a", "quantity": 1}],
    "customerName": "Ada",
    "by_day": {"monday": [{"sku": "a", "quantity": 1}]},
}


def travelled(fn: Callable[..., Any], *args: Any) -> list[Any]:
    """The arguments that the function gets: added, written as JSON, read, built."""
    found = structured(fn)
    assert found is not None
    new = called(fn, args=args, kwargs=None)
    return list(found.built(json.loads(json.dumps(new.args)), None)[0])


def test_a_model_travels_as_plain_json_and_arrives_as_it_was() -> None:
    assert called(bill, args=[ORDER], kwargs=None).args == (AS_JSON,)
    assert travelled(bill, ORDER) == [ORDER]
    assert travelled(bill, AS_JSON) == [ORDER]


@pytest.mark.parametrize(
    ("fn", "args", "built"),
    [
        (several, [None, [LINE, {"sku": "b", "quantity": 2}]], [None, [LINE, Line(sku="b", quantity=2)]]),
        (several, [LINE, [], {"x": LINE}], [LINE, [], {"x": LINE}]),
        (fill, [Basket([LINE])], [Basket([LINE])]),
        (fill, [{"lines": [{"sku": "a", "quantity": 1}]}], [Basket([LINE])]),
        (feed, [{"kind": "dog", "tricks": ["sit"]}], [Dog(kind="dog", tricks=["sit"])]),
        (feed, [Cat(kind="cat", lives=9)], [Cat(kind="cat", lives=9)]),
        (move, [Point(1, 2)], [Point(1, 2)]),
        (move, [{"x": 1}], [Point(1, 0)]),
    ],
)  # fmt: skip
def test_annotations_that_hold_a_model_are_built(fn: Callable[..., Any], args: list[Any], built: list[Any]) -> None:
    assert travelled(fn, *args) == built


@pytest.mark.parametrize(
    ("fn", "value", "said"),
    [
        (bill, {**AS_JSON, "lines": [AS_JSON["lines"][0], {"sku": "b", "quantity": "three"}]},  # type: ignore[index]
         'args[0].lines[1].quantity: "three" is no whole number.'),
        (bill, {**AS_JSON, "lines": [{"sku": "b", "quantity": 0}]},
         "args[0].lines[0].quantity: 0 is refused: input should be greater than 0."),
        (bill, {**AS_JSON, "lines": [{"sku": "b"}]}, "args[0].lines[0].quantity is missing."),
        (bill, {**AS_JSON, "lines": [{"sku": "b", "quantity": 1, "x": 2}]},
         "args[0].lines[0].x is not a field of its model."),
        (bill, {**AS_JSON, "customerName": "mallory"},
         'args[0].customerName: "mallory" is refused: value error, mallory may not buy.'),
        (bill, {**AS_JSON, "by_day": {"a b": [{"sku": 5, "quantity": 1}]}},
         'args[0].by_day["a b"][0].sku: 5 is no text.'),
        (bill, {**AS_JSON, "color": "green"},
         "args[0].color: \"green\" is refused: input should be 'red' or 'blue'."),
        (feed, {"kind": "dog"}, "args[0].tricks is missing."),
        (feed, {"kind": "cow"}, "args[0]: {'kind': 'cow'} is refused: input tag 'cow' found using 'kind' does not"),
        (fill, {"lines": [{"sku": "a", "quantity": -1}]}, "args[0].lines[0].quantity: -1 is refused: input should be"),
        (login, Login(name="ada", password=SecretStr("pw")),
         "args[0].password is a secret of pydantic, which would travel as asterisks. Pass what identifies it, and"),
        (bill, {**AS_JSON, "at": object}, 'args[0]["at"] is a type, which JSON cannot carry.'),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_place(fn: Callable[..., Any], value: Any, said: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        called(fn, args=[value], kwargs=None)
    assert str(caught.value).startswith(said)
    assert caught.value.where is not None


def test_a_parameter_without_annotation_names_what_to_annotate() -> None:
    from workkit.wire import payload

    with pytest.raises(
        InvalidArguments, match=r"^args\[0\] is a Line, which JSON cannot carry. Annotate the parameter"
    ):
        payload(cron="", job="f", args=[LINE])


def test_a_model_for_a_function_that_is_only_named_travels_by_its_own_fields() -> None:
    assert called("app:bill", args=[ORDER, [LINE]], kwargs=None).args == (AS_JSON, [{"sku": "a", "quantity": 1}])
