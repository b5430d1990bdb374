"""The last single runs, kept: as they are read without keeping them, but for what has to be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.web.charts.rects import NOW, ran
from workkit.contract.history import PastRun
from workkit.web.recurring import recent_runs
from workkit.web.recurring.recent_runs import RecentRuns

SECOND = timedelta(seconds=1)


class History:
    """Runs as they were written, the last one first, and how many of them were read."""

    def __init__(self) -> None:
        self.kept: list[PastRun] = []
        self.read = 0

    def write(self, ended: datetime, *, place: str | None = None) -> None:
        run = ran(ended)
        self.kept.insert(0, replace(run, ended=ended, place=place or f"{run.due.timestamp()}-{len(self.kept)}"))

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        for run in self.kept:
            if run.ended.timestamp() * 1000 >= since_ms:
                self.read += 1
                yield run


@pytest.fixture
def history() -> History:
    found = History()
    for n in range(20):
        found.write(NOW + n * SECOND)
    return found


def test_only_what_was_added_is_read_again(history: History) -> None:
    recent = RecentRuns()
    assert recent.read(history, NOW + 20 * SECOND) == history.kept
    history.write(NOW + 30 * SECOND)
    history.read = 0
    assert recent.read(history, NOW + 20 * SECOND) == history.kept
    assert history.read == 3, "the new one, that of the last two seconds, and one that is known"
    assert recent.read(history, NOW + 20 * SECOND) == history.kept


def test_one_that_comes_in_late_from_another_shard_is_not_left_out(history: History) -> None:
    recent = RecentRuns()
    recent.read(history, NOW + 20 * SECOND)
    late = replace(history.kept[0], place="late")
    history.kept.insert(1, late)
    assert late in recent.read(history, NOW + 20 * SECOND)


def test_a_history_that_was_purged_is_read_anew(history: History) -> None:
    recent = RecentRuns()
    recent.read(history, NOW + 20 * SECOND)
    del history.kept[:]
    assert recent.read(history, NOW + 20 * SECOND) == []
    history.write(NOW + 40 * SECOND, place="new")
    assert [run.place for run in recent.read(history, NOW + 20 * SECOND)] == ["new"]


def test_no_more_than_the_last_ones_are_kept(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_runs, "MOST", 10)
    recent = RecentRuns()
    assert recent.read(history, NOW + 20 * SECOND) == history.kept[:10]
    for n in range(30, 45):
        history.write(NOW + n * SECOND)
    assert recent.read(history, NOW + 20 * SECOND) == history.kept[:10]
