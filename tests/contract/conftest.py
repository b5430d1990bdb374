"""The fixture of the conformance suite: a stage for each layout, on each server product that it uses."""

from __future__ import annotations

from collections.abc import Iterator

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
    """Leave out what differs only in a Redis that the layout does not use, or that plays a small part."""
    items[:] = [item for item in items if not _uses_no_redis(item) or item.callspec.params["server"] == PRODUCTS[0]]  # type: ignore[attr-defined]


def _uses_no_redis(item: pytest.Item) -> bool:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return isinstance(params.get("stage"), OnRabbitmq) and "server" in params
