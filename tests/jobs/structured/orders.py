"""Handlers with structured parameters, by the plain rules and by pydantic, and what they are called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, TypedDict
from uuid import UUID

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]

Sku = NewType("Sku", str)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Rank(IntEnum):
    LOW = 1
    HIGH = 2


class Note(TypedDict):
    text: str


@dataclass(frozen=True)
class Line:
    sku: Sku
    quantity: int
    price: Decimal = Decimal(1)


@dataclass
class Order:
    id: UUID
    at: datetime
    lines: list[Line]
    color: Color = Color.RED
    tags: frozenset[str] = frozenset()
    by_day: dict[str, list[Line]] = field(default_factory=dict)
    day: date | None = None
    hour: time | None = None
    rank: Rank | None = None
    mode: Literal["fast", "slow"] = "fast"
    pair: tuple[int, str] | None = None
    numbers: tuple[float, ...] = ()
    note: Note | None = None
    whatever: Any = None
    total: float = field(default=0.0, init=False)


@dataclass
class Node:
    name: str
    below: Sequence[Node] = ()


@dataclass
class Range:
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("it ends before it starts")


@dataclass
class Filed:
    path: Path
    age: timedelta


@dataclass
class Unreadable:
    x: Unknown


def bill(order: Order) -> None: ...
def both(order: Order | None, *, lines: Mapping[str, list[Line]] | None = None, plain: dict[str, Any]) -> None: ...
def rest(first: int, *lines: Line, **more: Line) -> None: ...
def tree(node: Annotated[Node, "the root"]) -> None: ...
def between(range: Range) -> None: ...
def either(value: Line | Range) -> None: ...
def noted(value: Line | str | None) -> None: ...
def filed(file: Filed) -> None: ...
def unreadable(x: Unreadable) -> None: ...
def half_known(line: Line, other: Unknown) -> None: ...
def whole(line: Line, /) -> None: ...
def plain(order: dict[str, Any], kind: type[Order], lines: list[dict[str, int]], when: str) -> None: ...
