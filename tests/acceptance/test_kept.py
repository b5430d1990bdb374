"""The judge of kept results: it complains of each thing that is wrong, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.acceptance.history import History, Promise, Run
from tests.acceptance.kept import Found, check_results

ONE, DEAD, PLAIN = "a" * 40, "b" * 40, "c" * 40
PROMISES = {"now-0": Promise(), "dies": Promise(attempts=2, last="OSError"), "now-1": Promise()}
LABELS = {ONE: "now-0", DEAD: "dies", PLAIN: "now-1"}
RIGHT = {ONE: [(5, "value")], DEAD: [(7, "failed")]}


def complaints(found: Found, *, rewound: float | None = None) -> list[str]:
    runs = [
        Run(label=LABELS[id], id=id, due=due, attempt=0, pid=1, start=1.0, end=1.1)
        for id, due in ((ONE, 5), (DEAD, 7), (DEAD, 7), (PLAIN, 9))
    ]
    lines: list[Mapping[str, Any]] = [{"what": "rewound", "at": rewound}] if rewound is not None else []
    return list(check_results(History(runs=runs, lines=lines), found, PROMISES))


def test_what_agrees_is_right() -> None:
    assert complaints(RIGHT) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {ONE: []},
        {ONE: [(5, "value"), (5, "value")]},
        {DEAD: [(7, "value")]},
        {ONE: [(6, "value")]},
        {PLAIN: [(9, "value")]},
        {"d" * 40: [(1, "value")]},
    ],
)
def test_what_differs_is_named(wrong: Found) -> None:
    assert len(complaints({**RIGHT, **wrong})) == 1


@pytest.mark.parametrize(("rewound", "number"), [(1.05, 1), (1.1, 0)])
def test_a_server_may_forget_what_was_over_before(rewound: float, number: int) -> None:
    assert len(complaints({**RIGHT, ONE: []}, rewound=rewound)) == number
    assert len(complaints({**RIGHT, ONE: [(6, "value")]}, rewound=rewound)) == 1
