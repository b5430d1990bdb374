"""How long an ending waits to be settled: a run that is not settled runs again if the process is killed."""

from __future__ import annotations

import math
from typing import Any, cast

from tests.servers import Server
from workkit.brokers.connect import open_broker
from workkit.jobs.outcome import DONE
from workkit.worker.loop import MANY, How, Loop


def test_endings_go_at_once_when_nothing_else_waits_here(server: Server, name: str) -> None:
    loop = Loop([(open_broker(name, redis=server.url), 1)], how=How(threads=1))
    (lane,) = loop._lanes
    lane.settle_at = math.inf
    assert not loop._settles(lane)
    lane.ends = [(cast(Any, object()), DONE)]
    assert loop._settles(lane)


def test_endings_beside_waiting_work_go_when_they_have_waited_or_are_many(server: Server, name: str) -> None:
    loop = Loop([(open_broker(name, redis=server.url), 1)], how=How(threads=1))
    (lane,) = loop._lanes
    loop._runner.submit([cast(Any, object())])  # no thread begins it, as none is started
    lane.ends, lane.settle_at = [(cast(Any, object()), DONE)], math.inf
    assert not loop._settles(lane)
    lane.ends *= MANY
    assert loop._settles(lane)
    lane.ends, lane.settle_at = lane.ends[:1], 0.0
    assert loop._settles(lane)
