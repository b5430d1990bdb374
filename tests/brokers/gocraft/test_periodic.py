"""Runs of periodic jobs: the members that Go pools put into `NSscheduled`."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.cron import HORIZON_SECONDS, PeriodicJob, activations, read_spec
from workkit.brokers.gocraft.text import read

UTC = ZoneInfo("UTC")


def starts() -> list[tuple[dict[str, Any], int, list[list[str]]]]:
    """Each recorded pool: what it was made of, the second it enqueued at, and its additions to `scheduled`."""
    found = []
    for recording in vectors.recordings("periodic"):
        pool: dict[str, Any] = {}
        for step in recording["steps"]:
            if step.get("call", {}).get("op") == "pool":
                pool = step["call"]
            commands = step.get("commands", ())
            added = [command for command in commands if command[:2] == ["ZADD", "gv:scheduled"]]
            sets = [command[2] for command in commands if command[:2] == ["SET", "gv:last_periodic_enqueue"]]
            if added:
                found.append((pool, int(sets[0]), added))
    return found


STARTS = starts()


def test_pools_were_recorded() -> None:
    assert [len(added) for _, _, added in STARTS] == [29, 29, 2]


@pytest.mark.parametrize(("pool", "now", "added"), STARTS, ids=range(len(STARTS)))
def test_a_pool_enqueues_the_runs_that_go_enqueued(pool: dict[str, Any], now: int, added: list[list[str]]) -> None:
    jobs = [PeriodicJob(name=name, spec=read_spec(spec)) for spec, name in pool["periodic"]]
    ours = [
        ["ZADD", "gv:scheduled", str(second), job.text_at(second).decode()]
        for job in jobs
        for second in activations(job.spec, after=now, before=now + HORIZON_SECONDS, local=UTC)
    ]
    assert sorted(ours) == sorted(added)


def test_a_window_is_open_at_both_ends() -> None:
    spec = read_spec("0 * * * * *")
    assert list(activations(spec, after=0, before=180, local=UTC)) == [60, 120]
    assert list(activations(spec, after=59, before=181, local=UTC)) == [60, 120, 180]
    assert list(activations(spec, after=60, before=60, local=UTC)) == []


def test_a_spec_that_never_fires_has_no_runs() -> None:
    assert list(activations(read_spec("0 0 30 2 *"), after=0, before=10**10, local=UTC)) == []


def test_a_run_may_have_arguments() -> None:
    job = PeriodicJob(name="report", spec=read_spec("@daily"), args={"b": 1, "a": "<"})
    assert job.text_at(86_400) == (
        b'{"name":"report","id":"periodic:report:@daily:86400","t":86400,"args":{"a":"\\u003c","b":1}}'
    )
    assert read(job.text_at(86_400)).args == {"a": "<", "b": 1}
