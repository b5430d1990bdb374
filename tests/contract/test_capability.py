"""The suite itself: every capability has a test, and what a layout cannot do must be refused."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract import capability
from tests.contract.capability import Can, promised
from tests.contract.conftest import ON_RABBITMQ, has_turn
from workkit.errors import Unsupported


@promised(Can.RUN)
def keeps(*, stage: Any) -> None:
    assert stage.kept


@promised(Can.RUN)
def refuses(*, stage: Any) -> None:
    raise Unsupported("no run")


def stage(*can: Can, kept: bool = True) -> Any:
    return SimpleNamespace(layout=SimpleNamespace(can=frozenset(can)), kept=kept)


def test_a_promise_is_tested_where_the_layout_declares_it() -> None:
    keeps(stage=stage(Can.RUN))
    with pytest.raises(AssertionError):
        keeps(stage=stage(Can.RUN, kept=False))
    with pytest.raises(Unsupported):
        refuses(stage=stage(Can.RUN))


def test_a_promise_must_be_refused_where_the_layout_does_not_declare_it() -> None:
    refuses(stage=stage())
    with pytest.raises(pytest.fail.Exception):
        keeps(stage=stage())


@pytest.fixture
def tested() -> dict[Can, list[Callable[..., None]]]:
    """The tests of each capability, but for those of this file."""
    for file in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.contract.{file.stem}")
    return {
        can: [getattr(sys.modules[module], name) for module, name in tests if module != __name__]
        for can, tests in capability.TESTED.items()
    }


def test_every_capability_has_a_test(tested: dict[Can, list[Callable[..., None]]]) -> None:
    assert {can for can, tests in tested.items() if tests} == set(Can)


def test_every_layout_on_rabbitmq_has_a_test_of_every_promise(tested: dict[Can, list[Callable[..., None]]]) -> None:
    for can, layout in product(Can, ON_RABBITMQ):
        assert any(has_turn(layout, test) for test in tested[can]), f"{layout}: {can}"
    everywhere = [test for test in tested[Can.LOOK] if all(has_turn(layout, test) for layout in ON_RABBITMQ)]
    assert len(everywhere) < len(tested[Can.LOOK])
