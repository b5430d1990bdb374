"""What the libraries really declare, judged: only their known faults are found."""

from __future__ import annotations

import pytest

from tests.brokers.hutch import vectors
from workkit.brokers.hutch.broker_facts import read_binding, read_exchange, read_queue
from workkit.brokers.hutch.doctor import judge
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.names import Dialect, Names
from workkit.brokers.hutch.topology import LEVELS

FAULTS = {"event": ["wildcard"], "hutch_1_4_0_with_schedule_broken": ["lossy-delay"] * len(LEVELS)}


@pytest.mark.parametrize("dialect", ["hutch", "event"])
@pytest.mark.parametrize("deployment", vectors.deployments())
def test_a_recorded_deployment_has_only_its_known_faults(deployment: str, dialect: Dialect) -> None:
    listing = vectors.deployments()[deployment]["listing"]
    made = Survey(
        names=Names(exchange="hutch", dialect=dialect),
        now_ms=0,
        exchanges={one["name"]: read_exchange(one) for one in listing["exchanges"]},
        queues={one["name"]: read_queue(one) for one in listing["queues"]},
        bindings=tuple(map(read_binding, listing["bindings"])),
    )
    assert [fault.kind for fault in judge(made, patience_ms=0)] == FAULTS.get(deployment, [])
