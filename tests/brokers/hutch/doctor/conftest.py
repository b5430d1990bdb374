"""An exchange under examination on the shared RabbitMQ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import rabbit
from tests.brokers.hutch.doctor.patient import Patient
from workkit.brokers.hutch.names import Names


@pytest.fixture
def patient(amqp: str, management: str, name: str) -> Iterator[Patient]:
    """An exchange that no other test has; all is deleted at the end."""
    names = Names(exchange=name, dialect="hutch")
    with rabbit.connected(amqp) as channel, ExitStack() as ends:
        made = Patient(amqp, management, names, channel, ends)
        yield made
    rabbit.forget(amqp, names, *made.queues)
