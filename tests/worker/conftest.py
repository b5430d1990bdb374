"""Fixtures of every test of the worker: a schedule, the events that are seen, and test handlers without a past."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import handlers
from tests.servers import Server
from workkit import events, schedule
from workkit.events import Event


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    """An empty schedule on the server of the session."""
    return schedule.create(name, redis=server.url)


@pytest.fixture
def seen() -> Iterator[list[Event]]:
    """All events of this process since the test began."""
    found: list[Event] = []
    unsubscribe = events.subscribe(found.append)
    yield found
    unsubscribe()


@pytest.fixture(autouse=True)
def fresh_handlers() -> Iterator[None]:
    """Forget the calls of the test handlers and close their gate; open it at the end, so that no thread waits on."""
    handlers.calls.clear()
    handlers.gate.clear()
    yield
    handlers.gate.set()
