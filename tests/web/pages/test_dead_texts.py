"""The sentences of the page Dead, and the trial of a repair."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workkit.contract.history import PastRun
from workkit.errors import NotFound, Unsupported
from workkit.jobs.fingerprint import print_of
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.web.dead_jobs import LONGEST_ARGS, DeadJob, KnownDead, by_error, dead_job_of, key_of
from workkit.web.mask import veil_of
from workkit.web.pages.dead import headline, spoken_rest, trial
from workkit.web.works import Work

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


def dead(number: int, *, type_: str = "OSError", minutes: int = 0, **how: Any) -> Job:
    failure = Failure(type=type_, message=f"part {number} is full", where="app.py:3", traceback="t" * 8000)
    due = NOW - timedelta(minutes=minutes)
    given = {"args": (number,)} | how
    return Job(
        id=f"{number:040x}", schedule="app", fn="#'app/f", state="dead", due=due, failure=failure, error=failure.line,
        dead_id=f"{number:040x}@1", **given,
    )  # fmt: skip


def dead_jobs(*jobs: Job) -> tuple[DeadJob, ...]:
    return tuple(dead_job_of(job, veil_of()) for job in jobs)


THREE = dead_jobs(dead(1, minutes=17), dead(2, minutes=30), dead(3, type_="ValueError", minutes=94))


@pytest.mark.parametrize(
    ("known", "matching", "how", "said"),
    [
        (KnownDead(dead_jobs=(), of=0, is_all=True), 0, {}, "Nobody died. What fails for good comes here"),
        (KnownDead(dead_jobs=THREE, of=3, is_all=True), 3, {}, "3 dead jobs, 2 errors."),
        (KnownDead(dead_jobs=THREE, of=3, is_all=True), 1, {"has_filter": True}, "1 of 3 dead jobs, 2 errors."),
        (KnownDead(dead_jobs=THREE, of=10_000, is_all=False), 3, {"reading": 43}, "Reading 10,000 dead jobs: 43 %."),
        (KnownDead(dead_jobs=THREE, of=3, is_all=True), 2, {"is_one": True}, "2 jobs died of one error."),
        (KnownDead(dead_jobs=THREE, of=3, is_all=True), 0, {"is_one": True}, "Nobody is dead of this error any more."),
    ],
)
def test_the_headline(known: KnownDead, matching: int, how: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"reading": None, "has_filter": False, "is_one": False} | how
    assert headline(known, matching, by_error(known.dead_jobs), **given).startswith(said)


def test_what_stands_out_and_when_the_oldest_leaves() -> None:
    known = KnownDead(dead_jobs=THREE, of=3, is_all=True, most=10_000, kept_ms=90 * 86_400_000)
    assert spoken_rest(known, by_error(THREE), now=NOW, zone=PARIS, is_one=False) == (
        "2 of them died of one error between 10:45 and 10:58. "
        "Kept until 10,000 newer ones stand here, or for 90 days; the oldest leaves on Thu 18 Feb 2027."
    )
    bare = replace(known, most=None, kept_ms=None, of=5)
    said = spoken_rest(bare, by_error(THREE[:1]), now=NOW, zone=PARIS, is_one=False)
    assert said == "The last 3 are shown."


def test_the_groups_are_those_of_the_error_before_it_was_masked() -> None:
    jobs = [dead(1), dead(2), dead(3, type_="KeyError")]
    groups = by_error(dead_jobs(*jobs))
    assert [(group.print, group.n) for group in groups] == [(print_of(jobs[0]).print, 2), (print_of(jobs[2]).print, 1)]
    assert groups[0].record()["ids"] == [jobs[0].id, jobs[1].id]


@pytest.mark.parametrize(
    "how",
    [
        {"args": ("x" * 1_000_000,)},
        {"args": tuple(range(100_000))},
        {"args": (), "kwargs": {f"k{n}" * 1000: "y" * 1000 for n in range(500)}},
        {"args": ({"deep": ["z" * 500] * 1000},)},
        {"fn": "f" * 100_000, "name": "n" * 100_000},
    ],
)
def test_a_large_job_is_kept_small(how: dict[str, Any]) -> None:
    (dead_job,) = dead_jobs(dead(1, **how)) if "fn" not in how else dead_jobs(replace(dead(1), **how))
    kept = dead_job.job
    assert dead_job.is_whole is ("fn" in how)
    assert len(json.dumps([kept.args, kept.kwargs])) < 2 * LONGEST_ARGS
    assert len(kept.fn) + len(kept.name or "") <= 400
    assert kept.failure is not None
    assert kept.failure.traceback == ""


def test_no_secret_is_kept() -> None:
    failure = Failure(type="E", message="token=hunter2", traceback="password = 'hunter2'")
    job = replace(dead(1), kwargs={"password": "hunter2"}, failure=failure, error=failure.line)
    (dead_job,) = dead_jobs(job)
    assert "hunter2" not in f"{dead_job.job.args}{dead_job.job.kwargs}{dead_job.job.error}{dead_job.job.failure}"


@pytest.mark.parametrize("dead_id", ["x" * 200, '{"args":{"password":"hunter2"},"pad":"' + "y" * 200, "a\nb", "é"])
def test_a_record_that_is_its_own_name_is_named_by_a_hash(dead_id: str) -> None:
    assert len(key_of(dead_id)) == 40
    assert key_of("5c0d41@17") == "5c0d41@17"


ID = "5c0d41" + "0" * 34


def died(id: str, *, error: str = "E: full", seconds: int = 600) -> DeadJob:
    due = NOW - timedelta(seconds=seconds)
    job = Job(id=id, schedule="s", fn="f", due=due, state="dead", error=error, dead_id=id)
    return dead_job_of(job, veil_of())


def run(ending: Any) -> PastRun:
    return PastRun(id=ID, name=None, fn="f", due=NOW, ended=NOW, ending=ending, took_ms=2100)


class There:
    """An inspector that knows one job and some runs."""

    def __init__(self, state: Any, runs: list[PastRun] | None) -> None:
        self._state, self._runs, self.asked = state, runs, 0

    def job(self, which: str) -> Job:
        self.asked += 1
        if self._state is None:
            raise NotFound("no such job")
        return Job(id=which, schedule="s", fn="f", state=self._state, due=NOW + timedelta(seconds=15))

    @property
    def history(self) -> There:
        return self

    def runs(self, *, since_ms: int) -> Iterator[PastRun]:
        if self._runs is None:
            raise Unsupported("history is not kept")
        return iter(self._runs)


OTHERS = (died("a" * 40), died("b" * 40))


@pytest.mark.parametrize(
    ("there", "dead_jobs", "said", "ran"),
    [
        (There("running", []), OTHERS, "It runs.", False),
        (There("due", []), OTHERS, "It is due.", False),
        (There("retrying", []), OTHERS, "Failed again; its next attempt is in 15 s. 2 left as they are.", False),
        (There("held", []), OTHERS, "It is held.", False),
        (There(None, [run("done")]), OTHERS, "It ran, in 2.1 s.", True),
        (There("waiting", [run("done")]), OTHERS, "It ran, in 2.1 s.", True),
        (There(None, [run("discarded")]), OTHERS, "It ended: discarded.", False),
        (There("dead", [run("dead")]), OTHERS, "Failed again. 2 left as they are.", False),
        (There(None, []), OTHERS, "It is over; how long it took is told in a moment.", False),
        (There(None, None), OTHERS, "It is not dead; more of it is not known here.", False),
        (There("dead", []), (*OTHERS, died(ID, seconds=0)),
         "Failed again with the same error. 2 left as they are.", False),
        (There("dead", []), (*OTHERS, died(ID, seconds=0, error="E: other")),
         "Failed again: E: other. 2 left as they are.", False),
    ],
)  # fmt: skip
def test_where_it_is(there: There, dead_jobs: tuple[DeadJob, ...], said: str, ran: bool) -> None:
    begun_ms = round((NOW - timedelta(seconds=5)).timestamp() * 1000)
    work = Work(
        schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms
    )  # fmt: skip
    found = trial(there, work, dead_jobs, now=NOW)  # type: ignore[arg-type]  # as much of one as is asked
    assert (found.said, found.ran, found.left) == (said, ran, 2)
    asked = there.asked
    if work.fate in ("ran", "failed", "over"):
        assert trial(there, work, dead_jobs, now=NOW) == found  # type: ignore[arg-type]
        assert there.asked == asked


def test_a_run_that_is_written_late_is_waited_for_a_moment() -> None:
    there = There(None, [])
    begun_ms = round((NOW - timedelta(seconds=5)).timestamp() * 1000)
    work = Work(schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms)
    kept = Work(schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms)
    for one in (work, kept):
        assert not trial(there, one, OTHERS, now=NOW).ran  # type: ignore[arg-type]  # as much of one as is asked
    later = NOW + timedelta(seconds=3)
    found = trial(there, work, OTHERS, now=later)  # type: ignore[arg-type]
    assert (found.said, found.ran) == ("It ran; how long it took is not kept.", True)
    written = There(None, [run("done")])
    found = trial(written, kept, OTHERS, now=later)  # type: ignore[arg-type]
    assert (found.said, found.ran) == ("It ran, in 2.1 s.", True)
