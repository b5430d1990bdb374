"""The judge of what a schedule keeps of its runs: it complains of each thing that is wrong, and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.acceptance.history import History, Promise, Run
from tests.acceptance.records import Record, Records, check_records

TICK, ONE = "a" * 40, "b" * 40
PROMISES = {"tick": Promise(dues=(1000, 2000)), "fails": Promise(attempts=2)}


def run(label: str, id: str, due: int, *, attempt: int = 0, how: str = "returned") -> Run:
    return Run(label=label, id=id, due=due, attempt=attempt, pid=1, start=due / 1000, end=due / 1000 + 0.1, how=how)


RUNS = [run("tick", TICK, 1000), run("tick", TICK, 2000), run("fails", ONE, 500, how="OSError")]
RING = [Record(TICK, 1000, 0, "done"), Record(TICK, 2000, 0, "done")]
SINGLE = [Record(ONE, 500, 0, "retried"), Record(TICK, 1000, 0, "done")]


def complaints(
    runs: Sequence[Run] = RUNS,
    ring: Sequence[Record] = RING,
    single: Sequence[Record] = SINGLE,
    days: int = 2,
    rewound: float | None = None,
) -> list[str]:
    records = Records(rings={TICK: list(ring)}, single=list(single), days={TICK: days})
    lines: list[Mapping[str, Any]] = [{"what": "rewound", "at": rewound}] if rewound is not None else []
    return list(check_records(History(runs=list(runs), lines=lines), records, PROMISES))


def test_what_agrees_is_right() -> None:
    assert complaints() == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"ring": RING[:1], "days": 1}, "its ring does not have it"),
        ({"single": SINGLE[1:]}, "S:runs does not have it"),
        ({"runs": RUNS[1:]}, "no run ended so"),
        ({"single": [*SINGLE, Record(ONE, 900, 0, "dead")]}, "no run ended so"),
        ({"single": [SINGLE[0], SINGLE[0]]}, "2 times in S:runs"),
        ({"days": 3}, "the days of aaaaaaaa have 3 runs, its ring 2"),
        ({"ring": [Record(TICK, 1000, 0, "dead"), RING[1]]}, "no run ended so"),
    ],
)
def test_what_differs_is_named(wrong: dict[str, Sequence[Record]], said: str) -> None:
    assert any(said in one for one in complaints(**wrong)), complaints(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rewound", "number"), [(2.05, 1), (2.1, 0)])
def test_a_server_may_forget_what_had_ended_before(rewound: float, number: int) -> None:
    assert len(complaints(ring=RING[:1], days=1, rewound=rewound)) == number
