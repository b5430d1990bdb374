"""What the page of the dead jobs says first, as a table; and what is kept of a dead job."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workkit.jobs.fingerprint import print_of
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.web.dead.grave import LONGEST_ARGS, Grave, grave_of, key_of
from workkit.web.dead.groups import by_error
from workkit.web.dead.index import Known
from workkit.web.dead.sentences import headline, spoken_rest
from workkit.web.mask import veil_of

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


def graves(*jobs: Job) -> tuple[Grave, ...]:
    return tuple(grave_of(job, veil_of()) for job in jobs)


THREE = graves(dead(1, minutes=17), dead(2, minutes=30), dead(3, type_="ValueError", minutes=94))


@pytest.mark.parametrize(
    ("known", "matching", "how", "said"),
    [
        (Known(graves=(), of=0, is_all=True), 0, {}, "Nobody died. What fails for good comes here"),
        (Known(graves=THREE, of=3, is_all=True), 3, {}, "3 dead jobs, 2 errors."),
        (Known(graves=THREE, of=3, is_all=True), 1, {"has_filter": True}, "1 of 3 dead jobs, 2 errors."),
        (Known(graves=THREE, of=10_000, is_all=False), 3, {"reading": 43}, "Reading 10,000 dead jobs: 43 %."),
        (Known(graves=THREE, of=3, is_all=True), 2, {"is_one": True}, "2 jobs died of one error."),
        (Known(graves=THREE, of=3, is_all=True), 0, {"is_one": True}, "Nobody is dead of this error any more."),
    ],
)
def test_the_headline(known: Known, matching: int, how: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"reading": None, "has_filter": False, "is_one": False} | how
    assert headline(known, matching, by_error(known.graves), **given).startswith(said)


def test_what_stands_out_and_when_the_oldest_leaves() -> None:
    known = Known(graves=THREE, of=3, is_all=True, most=10_000, kept_ms=90 * 86_400_000)
    assert spoken_rest(known, by_error(THREE), now=NOW, zone=PARIS, is_one=False) == (
        "2 of them died of one error between 10:45 and 10:58. "
        "Kept until 10,000 newer ones stand here, or for 90 days; the oldest leaves on Thu 18 Feb 2027."
    )
    bare = replace(known, most=None, kept_ms=None, of=5)
    said = spoken_rest(bare, by_error(THREE[:1]), now=NOW, zone=PARIS, is_one=False)
    assert said == "The last 3 are shown."


def test_the_groups_are_those_of_the_error_before_it_was_masked() -> None:
    jobs = [dead(1), dead(2), dead(3, type_="KeyError")]
    groups = by_error(graves(*jobs))
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
    (grave,) = graves(dead(1, **how)) if "fn" not in how else graves(replace(dead(1), **how))
    kept = grave.job
    assert grave.is_whole is ("fn" in how)
    assert len(json.dumps([kept.args, kept.kwargs])) < 2 * LONGEST_ARGS
    assert len(kept.fn) + len(kept.name or "") <= 400
    assert kept.failure is not None
    assert kept.failure.traceback == ""


def test_no_secret_is_kept() -> None:
    failure = Failure(type="E", message="token=hunter2", traceback="password = 'hunter2'")
    job = replace(dead(1), kwargs={"password": "hunter2"}, failure=failure, error=failure.line)
    (grave,) = graves(job)
    assert "hunter2" not in f"{grave.job.args}{grave.job.kwargs}{grave.job.error}{grave.job.failure}"


@pytest.mark.parametrize("dead_id", ["x" * 200, '{"args":{"password":"hunter2"},"pad":"' + "y" * 200, "a\nb", "é"])
def test_a_record_that_is_its_own_name_is_named_by_a_hash(dead_id: str) -> None:
    assert len(key_of(dead_id)) == 40
    assert key_of("5c0d41@17") == "5c0d41@17"
