"""A stage of the toy layout, in place of those of the layouts that are delivered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, cast

import pytest

from tests.contract.capability import Can
from tests.contract.layouts import Line, _Published
from tests.contract.stage import Stage
from tests.contract.toy_layout.broker import SHELVES, ToyBroker
from tests.contract.toy_layout.layout import TOY
from workkit import schedule
from workkit.brokers.layout import register, withdraw
from workkit.contract.broker import Producer
from workkit.errors import Unsupported


class Toy(_Published):
    """The toy layout under test."""

    can = frozenset({Can.PRETEND, Can.WAKE, Can.RETRY, Can.OFFER_OTHERS})

    def left(self, server: Any, name: str) -> int:
        return len(SHELVES[name].rows)

    def create(self, server: Any, name: str) -> schedule.Schedule:
        return schedule.create(name, layout="toy")

    def lines(self, server: Any, name: str, *, timeout_ms: int) -> Sequence[Line]:
        if timeout_ms != 10_000:
            raise Unsupported("a listener of this process dies with it")
        return [Line(consumer=cast(Any, ToyBroker(name)), lose_next=_loses_nothing)]

    def producer(self, server: Any, name: str) -> tuple[Producer, Callable[[], None]]:
        return cast(Producer, ToyBroker(name)), _loses_nothing


def _loses_nothing() -> None:
    raise Unsupported("nothing gets lost between a process and itself")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(TOY)
    yield
    withdraw(TOY)
    SHELVES.clear()


@pytest.fixture
def stage(_registered: None, name: str) -> Iterator[Stage]:
    """A schedule of the toy layout, and listeners on it."""
    with closing(Stage(Toy(), cast(Any, None), name)) as opened:
        yield opened
