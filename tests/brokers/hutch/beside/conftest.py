"""Fixtures of the tests beside the Ruby peer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.brokers.hutch.beside.ruby_peer import RubyPeer


@pytest.fixture
def peer() -> Iterator[RubyPeer]:
    with closing(RubyPeer()) as made:
        yield made
