"""The suite itself: every capability has a test, and what a layout cannot do must be refused."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract import capability
from tests.contract.capability import Can, promised
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


def test_every_capability_has_a_test() -> None:
    for file in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.contract.{file.stem}")
    assert {can for can, modules in capability.TESTED.items() if modules - {__name__}} == set(Can)
