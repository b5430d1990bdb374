"""The fixtures of the tests of the doctor: a namespace on one server, as no check depends on the product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.servers import Server


@pytest.fixture
def ns(go_server: Server, name: str) -> Iterator[Namespace]:
    """A namespace on one server."""
    with closing(Namespace(go_server, name)) as opened:
        yield opened
