"""Fixtures of the tests of the native layout."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import additions
from tests.brokers.checkups import registered
from tests.servers import Server
from workkit.brokers.connect import open_broker
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.change.admin import NativeAdmin
from workkit.contract.broker import Doctor, Inspector


@pytest.fixture
def second_look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look at an orphan follow at once: the wait is for foreign peers, and there is none here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


@pytest.fixture
def doctor(server: Server, name: str) -> Doctor:
    """The doctor of an empty schedule."""
    return open_broker(name, redis=server.url).doctor


@pytest.fixture
def peer(server: Server, name: str) -> Iterator[NativeBroker]:
    """A registered listener that does nothing."""
    broker = registered(server, name)
    yield broker
    broker.close()


@pytest.fixture
def closed_brokers() -> Iterator[None]:
    """Close the brokers that `additions` has opened."""
    yield
    while additions.opened:
        additions.opened.pop().close()


@pytest.fixture
def inspector(server: Server, name: str) -> Inspector:
    """The inspector of an empty schedule."""
    return open_broker(name, redis=server.url).inspector


@pytest.fixture
def admin(server: Server, name: str) -> NativeAdmin:
    """The admin of an empty schedule."""
    made = open_broker(name, redis=server.url).admin
    assert isinstance(made, NativeAdmin)
    return made
