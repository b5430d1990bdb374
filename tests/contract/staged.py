"""A stage of any layout for one test: where the layout stands on RabbitMQ, its queues go after it or serve the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests import rabbit
from tests.contract.layouts import Layout, OnRabbitmq
from tests.contract.stage import Stage
from tests.servers import Server


@contextmanager
def staged(layout: Layout, request: pytest.FixtureRequest, server: Server, name: str) -> Iterator[Stage]:
    """Open a stage; RabbitMQ is started for a layout that needs it alone."""
    if not isinstance(layout, OnRabbitmq):
        with closing(Stage(layout, server, name)) as opened:
            yield opened
        return
    running: rabbit.Shared = request.getfixturevalue("rabbitmq")
    layout = OnRabbitmq(layout.name, running.url, running.management, has_redis=layout.has_redis)
    is_new = request.path.stem not in ("test_delivery", "test_endings", "test_rescheduling")
    with (
        rabbit.exchange(layout.url, layout.name, name, "note", is_new=is_new) as names,
        closing(Stage(layout, server, names.exchange)) as opened,
    ):
        yield opened
