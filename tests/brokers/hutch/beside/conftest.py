"""The fixture of the tests with a Redis beside a RabbitMQ."""

from __future__ import annotations

import pytest

from tests.brokers.hutch.beside.pair import Pair
from tests.brokers.hutch.opened import Opened
from tests.servers import Server


@pytest.fixture
def pair(on: Opened, server: Server) -> Pair:
    """An exchange, and a Redis beside it."""
    return Pair(on, server)
