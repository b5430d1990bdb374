"""Fixtures of the gocraft layout: the Go peer, and a server for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.brokers.gocraft import go_peer
from tests.servers import Server, program


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the Go peer; where Go is not installed, the test is skipped, and in CI it fails."""
    return go_peer.build(tmp_path_factory.mktemp("go"))


@pytest.fixture(scope="module")
def go_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Redis, the server of the recordings, with a database for each of them."""
    own = Server(
        program("redis"), folder=tmp_path_factory.mktemp("redis"), is_durable=False, options=["--databases", "64"]
    )
    own.start()
    yield own
    own.close()
