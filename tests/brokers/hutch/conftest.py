"""Fixtures of the tests with a real RabbitMQ."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import rabbit
from tests.brokers.hutch.opened import Opened, opened
from workkit.brokers.hutch.names import Names


@pytest.fixture
def names(amqp: str, name: str) -> Iterator[Names]:
    """The names around an exchange that no other test has; all is deleted at the end."""
    made = Names(exchange=name, dialect="hutch")
    yield made
    rabbit.forget(amqp, made, *map(made.queue, ("note", "orders.created", "shop.sold")))


@pytest.fixture
def on(amqp: str, names: Names) -> Iterator[Opened]:
    """An exchange with a plain channel beside it."""
    with opened(amqp, names) as made:
        yield made
