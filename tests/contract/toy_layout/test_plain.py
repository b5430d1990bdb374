"""The toy layout keeps each promise of plain jobs, and refuses what it cannot do.

The tests are those of the suite: all that take a stage, but for those of a capability that no call could refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from tests.contract.toy_layout.conftest import Toy
from workkit import schedule
from workkit.errors import InvalidSchedule


def _promises() -> Iterator[tuple[str, Any]]:
    for file in sorted(Path(__file__).parent.parent.glob("test_*.py")):
        for name, test in vars(import_module(f"tests.contract.{file.stem}")).items():
            if name.startswith("test_") and "stage" in signature(test).parameters:
                needs = getattr(test, "needs", {})
                if all(is_refused or can in Toy.can for can, is_refused in needs.items()):
                    yield name, test


globals().update(_promises())


@pytest.mark.parametrize("option", [{"redis": "redis://h"}, {"limit": 1}, {"history": "off"}, {"amqp": "amqp://h"}])
def test_what_the_layout_does_not_take_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule, match="with layout='toy': "):
        schedule.create("x", layout="toy", **option)


def test_a_layout_can_be_chosen_and_listed_as_any_other() -> None:
    schedule.add_now(schedule.create("toys", layout="toy"), "tests.handlers:note")
    assert [s.name for s in schedule.schedules(layout="toy")] == ["toys"]
    with pytest.raises(InvalidSchedule, match="Accepted: native, gocraft, hutch, event, toy"):
        schedule.create("x", layout="toys")
