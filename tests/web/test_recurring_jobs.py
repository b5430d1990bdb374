"""Recurring jobs as rows, and the last single runs that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.web.charts.rects import NOW, ran
from workkit.contract.history import Ended, PastRun
from workkit.contract.inspector import Recurs
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job, JobState
from workkit.triggers import cron
from workkit.web import recurring_jobs
from workkit.web.pages.recurring import p95_ms, took_within
from workkit.web.recurring_jobs import RecentRuns, RecurringJobs, RecurringRow, counted, in_a_row, in_order, page_of


def run(ending: Ended = "done", *, ago: int = 60, late_ms: int = 0, took_ms: int = 5) -> PastRun:
    due = NOW - timedelta(seconds=ago)
    return PastRun(id=None, name=None, fn=None, due=due, ended=due, ending=ending, late_ms=late_ms, took_ms=took_ms)


def row(
    key: str, *runs: PastRun, due: int | None = 60, state: JobState = "waiting", named: bool = True
) -> RecurringRow:
    job = Job(
        id=key.ljust(40, "0"), schedule="s", fn="app.f", name=key if named else None, trigger=cron("* * * * * 0 0")
    )
    at = None if due is None else NOW + timedelta(seconds=due)
    standing = RecurringJobs(read=NOW, jobs=(Recurs(key=key, job=job, state=state, due=at),), runs={key: runs})
    (found,) = standing.rows("name", now=NOW)
    assert standing.rows("next", now=NOW) == [found]
    assert standing.counts()["all"] == 1
    return found


TROUBLE = [
    row("plain", named=False),
    row("soon", run(), due=10),
    row("later", run(), due=600),
    row("over", run(), due=None),
    row("overdue", run(), due=-30),
    row("late", run(late_ms=1000)),
    row("failing", run("retried")),
    row("left-out", run("skipped", ago=-60), run("dead")),
    row("missed", run("missed")),
]


def test_trouble_comes_first_then_what_is_soon() -> None:
    found = [one.key for one in in_order(TROUBLE, "trouble", now=NOW)]
    assert found == [
        "failing", "left-out", "missed", "late", "overdue", "soon", "later", "over", "plain",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("due", "state", "later", "shown"),
    [
        (10, "waiting", 5, NOW + timedelta(seconds=10)),
        (10, "waiting", 12, NOW.replace(hour=11, minute=0, second=0)),  # it has begun meanwhile: then its next time
        (0, "waiting", 4, NOW.replace(hour=11, minute=0, second=0)),
        (-30, "due", 4, NOW - timedelta(seconds=30)),  # it was overdue when it was read
        (10, "retrying", 12, NOW + timedelta(seconds=10)),
    ],
)
def test_what_was_due_since_it_was_read_has_begun(due: int, state: JobState, later: int, shown: datetime) -> None:
    found = row("one", due=due, state=state)
    assert found.due(NOW, NOW + timedelta(seconds=later)) == shown
    assert found.is_overdue(NOW) is (due < 0)


def test_each_list_is_counted() -> None:
    rows = [*TROUBLE, row("paused", run("dead"), state="paused")]
    assert counted(rows) == {"all": 10, "failing": 3, "late": 1, "missed": 1, "paused": 1}


def test_the_longest_comes_first_and_what_never_ran_last() -> None:
    rows = [row("new"), row("short", run(took_ms=1)), row("long", run("missed"), run(took_ms=9))]
    assert [one.key for one in in_order(rows, "took", now=NOW)] == ["long", "short", "new"]


@pytest.mark.parametrize(
    ("after", "keys", "following"),
    [
        (None, "ab", "2:b"),
        ("2:b", "cd", "4:d"),
        ("4:d", "e", None),
        ("2:gone", "cd", "4:d"),  # the row before has left the list
        ("1:b", "cd", "4:d"),  # it has moved
        ("9:gone", "", None),
    ],
)
def test_pages_follow_one_another(after: str | None, keys: str, following: str | None) -> None:
    page, found = page_of([row(key) for key in "abcde"], after, most=2)
    assert ("".join(one.key for one in page), found) == (keys, following)


@pytest.mark.parametrize("after", ["b", ":b", "-1:b", "x:b"])
def test_what_is_no_place_is_refused(after: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        page_of([row("a")], after, most=2)
    assert (caught.value.given, caught.value.where) == (after, "after")


def test_failures_are_counted_from_the_last_run_on() -> None:
    assert in_a_row([run("dead"), run("retried"), run(), run("dead")]) == 2
    assert in_a_row([run(), run("dead")]) == 0


def test_shares_of_how_long_runs_took() -> None:
    ring = [run(took_ms=ms) for ms in range(1, 21)] + [run("missed", took_ms=9999)]
    assert (took_within(ring, 0.5), p95_ms(ring), p95_ms([])) == (10, 19, None)
    assert took_within([run(took_ms=7)], 0.5) == 7


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
    assert recent.read(history.runs, NOW + 20 * SECOND) == history.kept
    history.write(NOW + 30 * SECOND)
    history.read = 0
    assert recent.read(history.runs, NOW + 20 * SECOND) == history.kept
    assert history.read == 3, "the new one, that of the last two seconds, and one that is known"
    assert recent.read(history.runs, NOW + 20 * SECOND) == history.kept


def test_one_that_comes_in_late_from_another_shard_is_not_left_out(history: History) -> None:
    recent = RecentRuns()
    recent.read(history.runs, NOW + 20 * SECOND)
    late = replace(history.kept[0], place="late")
    history.kept.insert(1, late)
    assert late in recent.read(history.runs, NOW + 20 * SECOND)


def test_a_history_that_was_purged_is_read_anew(history: History) -> None:
    recent = RecentRuns()
    recent.read(history.runs, NOW + 20 * SECOND)
    del history.kept[:]
    assert recent.read(history.runs, NOW + 20 * SECOND) == []
    history.write(NOW + 40 * SECOND, place="new")
    assert [run.place for run in recent.read(history.runs, NOW + 20 * SECOND)] == ["new"]


def test_no_more_than_the_last_ones_are_kept(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring_jobs, "MOST_RUNS", 10)
    recent = RecentRuns()
    assert recent.read(history.runs, NOW + 20 * SECOND) == history.kept[:10]
    for n in range(30, 45):
        history.write(NOW + n * SECOND)
    assert recent.read(history.runs, NOW + 20 * SECOND) == history.kept[:10]
