"""The facts of the page Now, and the seconds with many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.contract.inspector import Recurs
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.triggers import parse
from workkit.web.pages.planned_jobs import PlannedJob
from workkit.web.pages.trouble import crowded, mixed, one_time_crowds
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
    row = PlannedJob(recurs=Recurs(key="a", job=job), runs=(), trouble=())
    six = NOW.replace(hour=18, minute=0, second=0)
    rows = [row, replace(row, recurs=Recurs(key="0" * 40, job=replace(job, name=None)))]
    assert one_time_crowds({six: 52, NOW: 60}, rows, NOW) == {six: (50, 0.0), NOW: (60, 0.0)}
    assert one_time_crowds({six: 2}, rows, NOW) == {}


START = 1_800_000_000_000
DAY = 86_400_000


class Queue:
    """Counts as an inspector does, and how often it is asked."""

    def __init__(self, dues: dict[int, int]) -> None:
        self.dues, self.asked = Counter(dues), 0

    def ahead(self, edges: Sequence[int]) -> list[int]:
        self.asked += 1
        assert list(edges) == sorted(edges)
        return [sum(n for due, n in self.dues.items() if since <= due < until) for since, until in pairwise(edges)]


def second(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC)


@pytest.mark.parametrize("length", [60_000, 900_000, 6_300_000, DAY])
def test_a_crowded_second_is_found_in_few_questions(length: int) -> None:
    due = START + 3 * length + 7_000
    queue = Queue({due: 200, due + 400: 5, due + 20_000: 49, START + 30_000: 3})
    edges = [START + k * length for k in range(9)]
    counts = queue.ahead(edges)
    assert crowded(queue.ahead, edges, counts) == {second(due): 205}
    assert queue.asked <= 5


def test_nothing_is_asked_where_no_span_is_crowded() -> None:
    queue = Queue({START: 49})
    edges = [START, START + 60_000]
    counts = queue.ahead(edges)
    assert crowded(queue.ahead, edges, counts) == {}
    assert queue.asked == 1


@given(
    st.dictionaries(st.integers(0, DAY - 1), st.integers(1, 120), max_size=20),
    st.integers(0, 999),
)
def test_what_is_found_is_there(dues: dict[int, int], shift: int) -> None:
    queue = Queue({START + due: n for due, n in dues.items()})
    edges = [START + shift, *range(START + 901_000, START + DAY - 900_000, 901_000), START + DAY - shift]
    for at, n in crowded(queue.ahead, edges, queue.ahead(edges)).items():
        ms = round(at.timestamp() * 1000)
        assert n == queue.ahead([max(ms, edges[0]), min(ms + 1_000, edges[-1])])[0] >= 50
