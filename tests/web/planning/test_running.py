from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.contract.history import PastRun
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.web.planning.running import Running, running_jobs

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


def ring(*took_ms: int) -> list[PastRun]:
    ran = [PastRun(id=None, name=None, fn=None, due=NOW, ended=NOW, ending="done", took_ms=ms) for ms in took_ms]
    return [*ran, PastRun(id=None, name=None, fn=None, due=NOW, ended=NOW, ending="missed")]


def one(for_ms: int, runs: Sequence[PastRun] = (), progress: Any = None) -> Running:
    job = Job(id="1", schedule="s", fn="f", name="nightly", state="running", due=NOW - timedelta(milliseconds=for_ms),
              progress=progress)  # fmt: skip
    info = ListenerInfo(listener="a", host="a", pid=1, version="1", schedules={}, threads=1, running=(job,))
    (found,) = running_jobs([info], {"nightly": runs}, now=NOW, most=5)
    return found


@pytest.mark.parametrize(
    ("for_ms", "took_ms", "is_long", "is_longest"),
    [
        (90_000, (60_000,) * 20, False, False),
        (121_000, (60_000,) * 20, True, True),
        (121_000, (60_000,) * 59 + (200_000,), True, False),
        (202_000, (60_000,) * 59 + (200_000,), True, True),
        (900, (1,) * 20, False, False),  # it may have begun so late
        (10**9, (), False, False),
    ],
)
def test_a_run_is_long_by_the_last_runs_of_its_job(
    for_ms: int, took_ms: tuple[int, ...], is_long: bool, is_longest: bool
) -> None:
    found = one(for_ms, ring(*took_ms))
    assert (found.is_long, found.is_longest) == (is_long, is_longest)
    assert found.usual_ms == (60_000 if 60_000 in took_ms else 1 if took_ms else None)


@pytest.mark.parametrize(
    ("progress", "for_ms", "done"),
    [
        ((340, 1000), 84_000, "10:19:00"),  # 163 s to go
        ((500, 1000), 15_000, "10:15:50"),
        ((1000, 1000), 84_000, None),
        ((0, 1000), 84_000, None),
        ((1, 1e300), 84_000, None),
        ((float("nan"), 2), 84_000, None),
        ((-1, 2), 84_000, None),
        ("segment 3 of 8", 84_000, None),
        (None, 84_000, None),
    ],
)
def test_progress_tells_when_a_run_is_done(progress: Any, for_ms: int, done: str | None) -> None:
    at = one(for_ms, progress=progress).done_at
    assert (None if at is None else f"{at:%H:%M:%S}") == done


def test_the_first_one_due_is_first_and_what_has_no_time_last() -> None:
    jobs = [Job(id=str(n), schedule="s", fn="f", state="running", due=due) for n, due in enumerate((None, NOW))]
    info = ListenerInfo(listener="a", host="a", pid=1, version="1", schedules={}, threads=1, running=tuple(jobs))
    found = running_jobs([info, info], {}, now=NOW, most=3)
    assert [(each.job.id, each.for_ms) for each in found] == [("1", 0), ("1", 0), ("0", None)]
