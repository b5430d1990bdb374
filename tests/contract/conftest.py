"""The fixture of the conformance suite: a stage for each layout, on each server product that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from zlib import crc32

import pytest

from tests.contract.capability import TESTED, Can
from tests.contract.layouts import LAYOUTS, OnRabbitmq
from tests.contract.stage import Stage
from tests.contract.staged import staged
from tests.servers import PRODUCTS, Server

ON_RABBITMQ = [layout for layout in LAYOUTS if isinstance(layout, OnRabbitmq)]
FEW = 5  # tests of a promise, some of which need another one too


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look at a dead listener follow soon: the time between is for servers that fail over."""
    monkeypatch.setattr("workkit.brokers.native.broker.LOOKS_APART_MS", 300)
    monkeypatch.setattr("workkit.brokers.hutch.beside.guard.LOOKS_APART", 0.3)


@pytest.fixture(params=LAYOUTS, ids=str)
def stage(request: pytest.FixtureRequest, server: Server, name: str) -> Iterator[Stage]:
    """A schedule of the layout under test, and listeners on it."""
    with staged(request.param, request, server, name) as opened:
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run each layout of a test with one server product, always the same, and of those on RabbitMQ only some."""
    items[:] = [item for item in items if _is_kept(item)]


def _is_kept(item: pytest.Item) -> bool:
    """Tell whether a test runs with its product and its layout.

    One on RabbitMQ uses Redis for a small part, or not at all. Layouts on Redis take the products in turn: shards run
    the scripts of the native layout, so in each test these run with both products. Which is first differs from test to
    test. In `tests/brokers` the scripts of each layout run with both.
    """
    params = getattr(getattr(item, "callspec", None), "params", {})
    layout = params.get("stage")
    if layout not in LAYOUTS or "server" not in params:
        return True
    if isinstance(layout, OnRabbitmq):
        return bool(params["server"] == PRODUCTS[0] and has_turn(layout, item.function))  # type: ignore[attr-defined]
    name = crc32(item.originalname.encode())  # type: ignore[attr-defined]
    return bool(params["server"] == PRODUCTS[(name + LAYOUTS.index(layout)) % len(PRODUCTS)])


def has_turn(layout: OnRabbitmq, test: Callable[..., None]) -> bool:
    """Tell whether a layout on RabbitMQ takes a test. These are one broker in two dialects, with a Redis or without:
    those that can do the same of what the tests of a promise need take them in turn, so that each has one. They all
    take a promise of few tests.
    """
    needs: Mapping[Can, bool] = getattr(test, "needs", {})
    tests = [sorted(TESTED[can]) for can in needs]
    if any(len(found) < FEW for found in tests):
        return True
    alike = [one for one in ON_RABBITMQ if all((can in one.can) == (can in layout.can) for can in needs)]
    name = (test.__module__, test.__name__)
    turn = sum(found.index(name) for found in tests) if needs else crc32(test.__name__.encode())
    return alike[turn % len(alike)] is layout
