"""The fixture of the tests that need a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.servers import Server


@pytest.fixture
def ns(server: Server, name: str) -> Iterator[Namespace]:
    """A namespace on each server product."""
    with closing(Namespace(server, name)) as opened:
        yield opened
