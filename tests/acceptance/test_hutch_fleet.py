"""A fleet on RabbitMQ, small: `python -m tests.acceptance.hutch_fleet --jobs 50000` is the real one. And its judge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance import hutch_verdict
from tests.acceptance.fleet_log import Run
from tests.acceptance.hutch_fleet import Fleet
from tests.acceptance.hutch_verdict import Dead, Owed
from tests.acceptance.soak_verdict import Incident
from tests.rabbit import Rabbit

# The broker is killed in tests/brokers/hutch/test_outages.py and test_delays.py: a node of RabbitMQ 3.10 that is killed
# again while it starts may leave a queue without a leader until its next start.
TROUBLES = {"killed": 1.0, "stopped": 1.5, "cut": 0.8, "producer cut": 1.0}


def test_kills_and_cuts_under_load_lose_nothing(tmp_path: Path, own_rabbit: Rabbit) -> None:
    with closing(Fleet(tmp_path, own_rabbit, seed=7, each=2)) as fleet:
        report = fleet.run(900, rate=300, troubles=TROUBLES, most=3)
    assert report.complaints == [], str(report)
    assert report.troubles.keys() == TROUBLES.keys()
    assert report.ran >= report.added, str(report)


def run(n: int, *, fails: int = 0, id: str = "", at: float = 100.0, end: float | None = 100.1, name: str = "a") -> Run:
    return Run(process=1, name=name, number=n, id=id or f"id-{n}", fails=fails, at=at, end=end)


KILLED = Incident(kind="killed", pid=1, at=200.0, until=200.1)
AWAY = Incident(kind="moved again", pid=0, at=199.0, until=205.0)
DEAD = Dead(name="dies", number=3, id="id-3", reason="failed")
RAN = [run(1), run(3, name="dies"), run(3, name="dies", fails=1)]


@pytest.mark.parametrize(
    ("runs", "dead", "says"),
    [
        ([*RAN], [DEAD], ""),
        (RAN[1:], [DEAD], "1 of a are lost"),
        ([run(1, end=None), *RAN[1:]], [DEAD], "1 of a are lost"),
        ([*RAN, run(1, at=101.0)], [DEAD], "ran twice without a cause"),
        ([run(1, at=199.9, end=None), *RAN[1:], run(1, at=203.0, end=203.1)], [DEAD], ""),
        ([run(1, at=199.9, end=200.05), *RAN[1:], run(1, fails=1, at=203.0)], [DEAD], "a 1 had attempt 1 of 0"),
        ([*RAN, run(4, at=202.0, end=202.1), run(4, at=203.0, end=203.1)], [DEAD], ""),
        ([*RAN, run(4, at=210.0, end=210.1), run(4, at=211.0, end=211.1)], [DEAD], "ran twice without a cause"),
        ([*RAN, run(1, id="other")], [DEAD], "ran as 2 messages, and was published once"),
        ([*RAN, run(2)], [DEAD], "a 2 ran, and nobody had published it"),
        ([*RAN], [], "1 are not in the dead queue"),
        ([*RAN], [DEAD, Dead(name="a", number=1, id="id-1", reason="failed")], "must not be"),
        ([*RAN], [DEAD, DEAD], "2 times in the dead queue"),
        ([*RAN], [Dead(name="dies", number=3, id="id-3", reason="crashed")], "dead as crashed, not failed"),
    ],
)
def test_the_judge_of_a_fleet_finds(runs: Sequence[Run], dead: Sequence[Dead], says: str) -> None:
    owed = Owed(dying=("dies",))
    owed.add("a", [1], last=0)
    if any(run.number == 4 for run in runs):
        owed.add("a", [4], last=0)
        owed.delayed.add(4)
    owed.add("dies", [3], last=1)
    found = list(hutch_verdict.complaints(owed, runs, dead, [KILLED, AWAY]))
    assert says in found[0] if says else not found, found
