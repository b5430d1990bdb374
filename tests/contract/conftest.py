"""The fixture of the conformance suite: a stage for each layout, on each server product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.contract.layouts import LAYOUTS, Layout
from tests.contract.stage import Stage
from tests.servers import Server


@pytest.fixture(params=LAYOUTS, ids=str)
def stage(request: pytest.FixtureRequest, server: Server, name: str) -> Iterator[Stage]:
    """A schedule of the layout under test, and listeners on it."""
    layout: Layout = request.param
    with closing(Stage(layout, server, name)) as opened:
        yield opened
