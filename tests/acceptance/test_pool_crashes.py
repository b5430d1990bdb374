"""The crash suite on the gocraft layout: at every point between add and settle, and nothing is lost.

`python -m tests.acceptance.crashes --layout gocraft --seeds 3` plays more of these scenes.
"""

from __future__ import annotations

import pytest

from tests.acceptance.crashes import Result, fewer, play, table
from tests.acceptance.faulty import points
from tests.servers import PRODUCTS, program


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """All scenes, played at once: most of their time is waiting."""
    for product in PRODUCTS:
        program(product)  # skips here, not in a thread
    return play(list(fewer(seed=2)), folder=tmp_path_factory.mktemp("scenes"), layout="gocraft", at_once=28)


def test_nothing_is_lost_whatever_the_point(results: list[Result]) -> None:
    wrong = [f"{result.fault}: {complaint}" for result in results for complaint in result.complaints]
    assert not wrong, "\n".join([*wrong, table(results)])


def test_every_point_was_come_to(results: list[Result]) -> None:
    assert {result.fault.point for result in results if result.fired} == set(points("gocraft"))
