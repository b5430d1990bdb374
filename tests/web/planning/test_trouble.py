"""What is found out about a schedule, as far as it needs no server."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from workkit.contract.listener import ListenerInfo
from workkit.contract.recurring import Recurs
from workkit.jobs.job import Job
from workkit.triggers import parse
from workkit.web.planning.recurring import Row
from workkit.web.planning.trouble import mixed, one_time_crowds
from workkit.web.sentences import Mixed

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
MINUTE = 60_000


def listener(version: str, up_ms: int, pid: int = 1) -> ListenerInfo:
    return ListenerInfo(listener="a:1", host="a", pid=pid, version=version, schedules={}, threads=1, up_ms=up_ms)


@pytest.mark.parametrize(
    ("infos", "found"),
    [
        ([], None),
        ([listener("1", 90 * MINUTE)] * 3, None),
        ([listener("1", 90 * MINUTE), listener("2", 9 * MINUTE)], None),  # it is being rolled out
        (
            [listener("1", 90 * MINUTE), listener("2", 14 * MINUTE), listener("2", MINUTE)],
            Mixed(for_ms=14 * MINUTE, versions=(("2", 2), ("1", 1))),
        ),
        ([listener("1", 90 * MINUTE), listener("?", 90 * MINUTE, pid=0)], None),  # one without a description
    ],
)
def test_several_versions_may_run_at_once_for_ten_minutes(infos: list[ListenerInfo], found: Any) -> None:
    assert mixed(infos) == found


def test_recurring_jobs_are_taken_out_of_a_crowd() -> None:
    trigger = parse("every day at 6pm", now=NOW)
    job = Job(id="0" * 40, schedule="s", fn="f", name="a", trigger=trigger)
    row = Row(recurs=Recurs(key="a", job=job), runs=(), trouble=())
    six = NOW.replace(hour=18, minute=0, second=0)
    rows = [row, replace(row, recurs=Recurs(key="0" * 40, job=replace(job, name=None)))]
    assert one_time_crowds({six: 52, NOW: 60}, rows, NOW) == {six: (50, 0.0), NOW: (60, 0.0)}
    assert one_time_crowds({six: 2}, rows, NOW) == {}
