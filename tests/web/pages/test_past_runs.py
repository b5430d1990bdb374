"""The past of a window: runs, counts, and what happened to the schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.web.charts.rects import NOW, PARIS, ran
from workkit.contract.history import Bucket, Cell, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.web.charts.axis import axis
from workkit.web.pages.past_runs import RING, Happened, Seen, joined, known_since, runs_of_cells, versions

HOUR = timedelta(hours=1)
AXIS = axis("24h", now=NOW, zone=PARIS)


def ring(count: int, every: timedelta) -> list[PastRun]:
    return [ran(NOW - (k + 1) * every) for k in range(count)]


def test_a_single_run_knows_more_than_the_one_of_the_ring() -> None:
    of_ring = PastRun(id=None, name=None, fn=None, due=NOW - HOUR, ended=NOW - HOUR, ending="done")
    older = ran(NOW - 2 * HOUR)
    found = joined([ran(NOW - HOUR), older], [of_ring])
    assert [(run.due, run.listener) for run in found] == [(NOW - HOUR, "worker-1"), (NOW - 2 * HOUR, "worker-1")]
    assert len(joined([], [of_ring, ran(NOW - HOUR, "dead")])) == 2


@pytest.mark.parametrize(
    ("seen", "runs", "since"),
    [
        (Seen(), ring(RING, timedelta(minutes=1)), AXIS.start),  # all single runs are there
        (Seen(since=NOW - HOUR), ring(5, HOUR), AXIS.start),  # the ring has all of its runs
        (Seen(since=NOW - HOUR), ring(RING, timedelta(seconds=10)), NOW - HOUR),
        (Seen(since=NOW - HOUR), ring(RING, HOUR), AXIS.start),
        (Seen(since=NOW - HOUR), [], AXIS.start),
    ],
)
def test_runs_are_all_known_from_an_instant_on(seen: Seen, runs: list[PastRun], since: Any) -> None:
    assert known_since(seen, runs, AXIS) == since


def test_counts_are_runs_as_long_as_their_cell() -> None:
    start, end = NOW, NOW + HOUR
    cells = [
        Bucket(start=start, end=end, cell=cell) for cell in (Cell(), Cell(done=4, dead=2, retried=1), Cell(missed=3))
    ]
    found = [(run.ending, run.times, run.ended - run.due) for run in runs_of_cells(cells)]
    assert found == [("done", 4, HOUR), ("retried", 3, timedelta()), ("missed", 3, timedelta())]


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR_MS = 3_600_000


def info(version: str, hours: float) -> ListenerInfo:
    up_ms = int(hours * HOUR_MS)
    return ListenerInfo(
        listener=f"{version}:{hours}", host="h", pid=1, version=version, schedules={}, threads=1, up_ms=up_ms
    )


def test_the_newest_version_began_with_its_first_listener() -> None:
    (found,) = versions([info("1.9", 50), info("2.0", 1), info("2.0", 3), info("2.1", 0), info("1.9", 0.5)], NOON)
    assert (found.at, found.kind, found.says) == (NOON - timedelta(hours=3), "version", "Version 2.0 began to listen")


@pytest.mark.parametrize("listeners", [[], [info("2.0", 1), info("2.0", 9)]])
def test_one_version_alone_is_no_new_one(listeners: list[ListenerInfo]) -> None:
    assert list(versions(listeners, NOON)) == []


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Happened(at=NOON, kind="mark", says="release 41", by="deploy"), "Marked: release 41, by deploy"),
        (Happened(at=NOON, kind="mark", says="release 41"), "Marked: release 41"),
        (Happened(at=NOON, kind="sync", says="A plan was synced", by="alice"), "A plan was synced by alice"),
        (Happened(at=NOON, kind="version", says="Version 2.0 began to listen"), "Version 2.0 began to listen"),
    ],
)
def test_what_happened_is_a_sentence(one: Happened, said: str) -> None:
    assert one.sentence == said
