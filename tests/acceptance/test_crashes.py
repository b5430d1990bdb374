"""At every point between add and settle: the process, the server or the connection is killed, and nothing is lost.

A point where a process can be told to stop has its connections cut either with or without that.
`python -m tests.acceptance.crashes --seeds 3` plays all of these scenes.
"""

from __future__ import annotations

import pytest

from tests.acceptance.crashes import Result, once_cut, play, table
from tests.acceptance.faulty import points
from tests.acceptance.faulty_points import KINDS
from tests.servers import PRODUCTS, program


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """All scenes, played at once: most of their time is waiting."""
    for product in PRODUCTS:
        program(product)  # skips here, not in a thread
    return play(list(once_cut(seed=0)), folder=tmp_path_factory.mktemp("scenes"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_whatever_the_point(kind: str, results: list[Result]) -> None:
    of_kind = [result for result in results if result.fault.kind == kind]
    wrong = [f"{result.fault}: {complaint}" for result in of_kind for complaint in result.complaints]
    assert not wrong, "\n".join([*wrong, table(of_kind)])


@pytest.mark.parametrize("kinds", [("process",), ("server",), ("connection", "stop")], ids="-".join)
def test_every_point_was_come_to(kinds: tuple[str, ...], results: list[Result]) -> None:
    assert {result.fault.point for result in results if result.fault.kind in kinds and result.fired} == set(points())
