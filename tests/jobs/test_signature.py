"""Handlers whose annotations name what exists only for a type checker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from workkit.errors import InvalidArguments
from workkit.jobs.arguments import check_call, compiled_check, signature_of, takes_whole
from workkit.jobs.consumers import _known

HANDLER = "def bill(order: Order, copies: int) -> Report: ..."
AS_TEXT = f"from __future__ import annotations\n{HANDLER}"
SOURCES = [AS_TEXT] if sys.version_info < (3, 14) else [AS_TEXT, HANDLER]  # earlier Pythons refuse such a def


@pytest.fixture(params=SOURCES)
def bill(request: pytest.FixtureRequest) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": "app"}
    exec(compile(request.param, "app.py", "exec", dont_inherit=True), names)
    return names["bill"]  # type: ignore[no-any-return]


def test_its_parameters_are_read(bill: Callable[..., Any]) -> None:
    assert list(signature_of(bill).parameters) == ["order", "copies"]
    assert [parameter.name for parameter in _known("app/bill", bill).parameters] == ["order", "copies"]
    assert not takes_whole(bill)


def test_its_arguments_are_counted(bill: Callable[..., Any]) -> None:
    check_call(bill, args=[{"id": 1}, 2], kwargs=None)
    assert compiled_check(bill) is None
    with pytest.raises(InvalidArguments, match="takes 2 arguments; args has 1"):
        check_call(bill, args=[1], kwargs=None)
