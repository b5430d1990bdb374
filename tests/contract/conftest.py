"""The fixture of the conformance suite: a stage for each layout, on each server product that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import pytest

from tests.contract.layouts import LAYOUTS, OnRabbitmq
from tests.contract.stage import Stage
from tests.contract.staged import staged
from tests.servers import PRODUCTS, Server


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
    """Run each layout of a test with one server product, always the same."""
    items[:] = [item for item in items if _is_kept(item)]


def _is_kept(item: pytest.Item) -> bool:
    """Tell whether a test runs with its product.

    One on RabbitMQ uses Redis for a small part, or not at all. Layouts on Redis take the products in turn: shards run
    the scripts of the native layout, so in each test these run with both products. Which is first differs from test to
    test. In `tests/brokers` the scripts of each layout run with both.
    """
    params = getattr(getattr(item, "callspec", None), "params", {})
    layout = params.get("stage")
    if layout not in LAYOUTS or "server" not in params:
        return True
    turn = 0 if isinstance(layout, OnRabbitmq) else crc32(item.originalname.encode()) + LAYOUTS.index(layout)  # type: ignore[attr-defined]
    return bool(params["server"] == PRODUCTS[turn % len(PRODUCTS)])
