from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.contract.admin import Change
from workkit.contract.history import Ended, PastRun
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.web.pages.recurring_job_sections import last_said, next_said, pause_said, run_said, running_said

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
WHEN: dict[str, Any] = {"now": NOW, "zone": UTC}


def run(ending: Ended, *, late_ms: int = 4, took_ms: int = 205_000, error: str | None = None) -> PastRun:
    due = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
    return PastRun(id=None, name=None, fn=None, due=due, ended=due, ending=ending, late_ms=late_ms, took_ms=took_ms,
                   error=error)  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "error", "sentence"),
    [
        ([], None, ""),
        ([run("skipped")], None, ""),
        ([run("done")], None, "The last run, today at 02:30, took 3 min 25 s and started 4 ms after due."),
        ([run("done", late_ms=0)], None, "The last run, today at 02:30, took 3 min 25 s and started in time."),
        ([run("skipped"), run("missed")], None,
         "The last one, today at 02:30, was missed: nobody started it in time."),
        ([run("overlap")], None, "The last one, today at 02:30, was left out: the run before it still went on."),
        ([run("dead", took_ms=3000, error="OSError: disk full."), run("retried"), run("done")], "older",
         "The last run, today at 02:30, failed after 3 s: OSError: disk full. It has failed 2 times in a row."),
        ([run("retried", took_ms=3000)], "KeyError: 1", "The last run, today at 02:30, failed after 3 s: KeyError: 1."),
        ([run("cancelled", took_ms=3000)], None, "The last run, today at 02:30, was cancelled after 3 s."),
    ],
)  # fmt: skip
def test_how_the_last_run_went(runs: list[PastRun], error: str | None, sentence: str) -> None:
    assert last_said(runs, error, **WHEN) == sentence


@pytest.mark.parametrize(
    ("state", "minutes", "has_run", "sentence"),
    [
        ("waiting", 914, True, "Next tomorrow at 01:29:30, in 15 h 14 min."),
        ("waiting", 914, False, "Has not run yet; first tomorrow at 01:29:30, in 15 h 14 min."),
        ("paused", 914, True, "It would run next tomorrow at 01:29:30, in 15 h 14 min."),
        ("due", -4, True, "Its run of today at 10:11:30 is overdue 4 min."),
        ("waiting", None, True, "Its last run is over."),
        ("waiting", None, False, "It never runs."),
    ],
)
def test_when_it_runs_next(state: Any, minutes: int | None, has_run: bool, sentence: str) -> None:
    job = Job(id="1", schedule="s", fn="f", state=state)
    first = None if minutes is None else NOW + timedelta(minutes=minutes)
    assert next_said(job, first, has_run=has_run, **WHEN).says == sentence


def test_a_pause_says_since_when_and_until_when() -> None:
    paused = Change(at=NOW - timedelta(hours=1, seconds=30), by="ada", via="cli", verb="pause", target="job:nightly")
    other = Change(at=NOW, by="ada", via="cli", verb="pause", target="job:other")
    until = int((NOW + timedelta(days=1)).timestamp() * 1000)
    pause = Pause(reason="the partner's API moves", until_ms=until)
    assert pause_said(pause, "job:nightly", [other, paused], **WHEN) == (
        'Paused since 09:15 until tomorrow at 10:15:30: "the partner\'s API moves".'
    )
    assert pause_said(Pause(), "schedule", [], **WHEN) == "The schedule is paused."
    assert pause_said(Pause(until_ms=10**18), "fn:app.f", [], **WHEN) == "The function app.f is paused."
    assert pause_said(None, "", [], **WHEN) == ""


def test_a_run_that_goes_on() -> None:
    job = Job(id="1", schedule="s", fn="f", state="running", due=NOW, progress=(340, 1000))
    assert running_said(job, "web-1", **WHEN) == "web-1 runs the run due today at 10:15:30: 340 of 1,000."
    run = run_said(job, "web-1:7:0123456789ab", **WHEN)
    assert run.says == running_said(job, "web-1", **WHEN)
    assert (run.due, run.is_cancelled) == ("2026-11-20T10:15:30.000Z", False)
