"""What is said of a job that runs once, state by state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.contract.history import PastRun
from workkit.jobs.job import Job
from workkit.jobs.run_options import RunOptions
from workkit.web.pages.single_job_sentences import JobFacts, failed_text, frames, same_error_text, state_sentence

NOW = datetime(2026, 11, 20, 11, 15, 30, tzinfo=UTC)
RETRIES = RunOptions(retries=5, jitter=False, base_ms=10_000, backoff="constant")


def standing(*, after: float = 0.0, **given: Any) -> JobFacts:
    """A job that is due so many seconds from now."""
    beside = {name: given.pop(name) for name in ("listener", "place", "last", "usual_ms") if name in given}
    job = Job(id="5" * 40, schedule="app", fn="#'app/rows", due=NOW + timedelta(seconds=after), **given)
    return JobFacts(job=job, now=NOW, zone=UTC, **beside)


def ended(ending: Any) -> PastRun:
    return PastRun(id="5", name=None, fn="x", due=NOW, ended=NOW + timedelta(seconds=11), ending=ending, took_ms=2100)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (standing(after=15, state="waiting"), "Runs in 15 s, at 11:15:45."),
        (standing(after=86_400, state="waiting"), "Runs in 1 d, tomorrow 11:15:30."),
        (standing(state="due"), "Due now, 11:15:30."),
        (standing(after=-72, state="due"), "Overdue 1 min 12 s, due 11:14:18: no listener has taken it."),
        (
            standing(after=15, state="retrying", attempt=3, options=RETRIES, usual_ms=2_000),
            "Attempt 4 of 6 is in 15 s, at 11:15:45. If all fail, it is dead at about 11:16:11.",
        ),
        (
            standing(after=15, state="retrying", attempt=0, options=RunOptions(retries=20, jitter=False)),
            "Attempt 1 of 21 is in 15 s, at 11:15:45. If all fail, it is dead at about 22:41.",
        ),
        (
            standing(after=15, state="retrying", attempt=5, options=RETRIES),
            "Attempt 6 of 6 is in 15 s, at 11:15:45. If it fails, it is dead at about 11:15:45.",
        ),
        (standing(after=15, state="retrying", attempt=2), "Attempt 3 is in 15 s, at 11:15:45."),
        (standing(after=-3, state="retrying", attempt=2), "Attempt 3 is due."),
        (standing(state="held", why="app.rows is at its limit of 2", place=3),
         "Waits: app.rows is at its limit of 2. 3rd in line."),
        (standing(after=36, state="held", why="app.mail is held by its rate 100/minute", place=2),
         "Waits: app.mail is held by its rate 100/minute. 2nd in line. Its turn comes in about 36 s, at 11:16:06."),
        (standing(after=-5, state="held", why="app.rows is at its limit of 2"),
         "Waits: app.rows is at its limit of 2."),
        (standing(state="running", listener="worker-2", progress=(340, 1000)),
         "Runs on worker-2, due at 11:15:30, 340 of 1,000."),
        (standing(state="cancelling"), "Is being cancelled: its run is interrupted."),
        (standing(after=60, state="paused", why="paused: migration"), "Paused: migration. Due 11:16:30."),
        (standing(state="dead"), "Dead since 11:15:30: it runs again only if somebody retries it."),
        (standing(state="done", last=ended("done")), "Done at 11:15:41, after 2.1 s."),
        (standing(state="done", last=ended("missed")), "Missed at 11:15:41."),
        (standing(state="done"), "It is over."),
    ],
)  # fmt: skip
def test_where_a_job_stands(found: JobFacts, said: str) -> None:
    assert state_sentence(found) == said


@pytest.mark.parametrize(
    ("state", "attempt", "said"),
    [
        ("waiting", 0, ""),
        ("retrying", 1, "Failed once."),
        ("retrying", 3, "Failed 3 times."),
        ("dead", 0, "Failed once."),
        ("done", 2, ""),
    ],
)  # fmt: skip
def test_how_often_it_failed(state: Any, attempt: int, said: str) -> None:
    assert failed_text(standing(state=state, attempt=attempt)) == said


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([], "Attempt 3."),
        ([2], "Attempt 3. Attempt 2 ended with the same error."),
        ([1, 2], "Attempt 3. Attempts 1 and 2 ended with the same error."),
        (list(range(1, 9)), "Attempt 3. Attempts 1 to 8 ended with the same error."),
    ],
)
def test_which_attempts_ended_alike(others: list[int], said: str) -> None:
    assert same_error_text(others, shown=3) == said


def test_frames_are_read_innermost_first_and_only_those_of_the_error_itself() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/srv/a.py", line 1, in cause\n    1 / 0\nZeroDivisionError: division by zero\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/srv/app/tracing.py", line 18, in wrapper\n    return fn(*args)\n           ^^^^^^^^^\n'
        '  File "/srv/app/export.py", line 31, in rows\n'
        "OSError: disk full\n"
    )
    assert [(f.file, f.line, f.function, f.source) for f in frames(text)] == [
        ("srv/app/export.py", "31", "rows", ""),
        ("srv/app/tracing.py", "18", "wrapper", "return fn(*args)"),
    ]
    assert frames("no traceback") == frames("") == ()
