"""What becomes of a run: the whole table."""

from __future__ import annotations

from typing import Any

import pytest

from workkit.errors import Discard, FunctionNotFound, JobCancelled, JobTimeout, Retry
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released, decide
from workkit.jobs.run_options import UNSAID, RunOptions

FAILURE = Failure(type="OSError", message="disk full", where="app.py:3")
DEAD = Dead(failure=FAILURE)
TWICE = RunOptions(retries=2, jitter=False)


def again(seconds: float, attempt: int, failure: Failure | None = FAILURE) -> Again:
    return Again(delay_ms=round(seconds * 1000), attempt=attempt, failure=failure)


@pytest.mark.parametrize(
    ("error", "attempt", "options", "outcome"),
    [
        (None, 0, UNSAID, Done()),
        (None, 5, TWICE, Done()),
        (Discard("order was cancelled"), 0, TWICE, Done(discarded="order was cancelled")),
        (Retry(), 0, UNSAID, again(0, 1, None)),
        (Retry(after="30s"), 3, UNSAID, again(30, 4, None)),
        (Retry(after="30s"), 1, TWICE, again(30, 2, None)),
        (Retry(after="30s"), 2, TWICE, DEAD),
        (Retry(), 0, RunOptions(retries=0), DEAD),
        (FunctionNotFound("no such function"), 2, TWICE, Released(unknown=True)),
        (JobCancelled("job was cancelled"), 0, TWICE, Done(discarded="cancelled")),
        (OSError("disk full"), 0, UNSAID, DEAD),
        (OSError("disk full"), 0, RunOptions(retries=0), DEAD),
        (OSError("disk full"), 0, TWICE, again(5, 1)),
        (OSError("disk full"), 1, TWICE, again(10, 2)),
        (OSError("disk full"), 2, TWICE, DEAD),
        (OSError("disk full"), 9, TWICE, DEAD),  # the policy was cut short meanwhile
        (JobTimeout(), 0, TWICE, again(5, 1)),
        (SystemExit(3), 0, UNSAID, DEAD),
        (SystemExit(3), 0, TWICE, again(5, 1)),
        (KeyboardInterrupt(), 0, UNSAID, DEAD),
        (OSError("disk full"), 0, RunOptions(retries=2, jitter=False, retry_on=(OSError,)), again(5, 1)),
        (ValueError("no"), 0, RunOptions(retries=2, retry_on=(OSError,)), DEAD),
        (ValueError("no"), 0, RunOptions(retries=2, retry_on=()), DEAD),
        (OSError("disk full"), 0, RunOptions(retries=2, discard_on=(OSError,)), Done(discarded=FAILURE.line)),
        (OSError("disk full"), 0, RunOptions(discard_on=(OSError,)), Done(discarded=FAILURE.line)),
        (ValueError("no"), 0, RunOptions(retries=2, jitter=False, discard_on=(OSError,)), again(5, 1)),
    ],
    ids=str,
)
def test_fate(error: BaseException | None, attempt: int, options: RunOptions, outcome: Outcome) -> None:
    assert decide(error, FAILURE, attempt=attempt, options=options) == outcome


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        (RunOptions(), [5, 10, 20, 40, 80]),
        (RunOptions(base_ms=1000, cap_ms=5000), [1, 2, 4, 5, 5]),
        (RunOptions(backoff="linear", base_ms=2000), [2, 4, 6, 8, 10]),
        (RunOptions(backoff="constant", base_ms=2000), [2, 2, 2, 2, 2]),
        (RunOptions(backoff="constant", base_ms=2000, cap_ms=1500), [1.5] * 5),
    ],
    ids=str,
)
def test_back_off(options: RunOptions, seconds: list[float]) -> None:
    assert [options.delay_ms(n, chance=0.0) / 1000 for n in range(5)] == seconds
    assert [options.delay_ms(n, chance=0.5) / 1000 for n in range(5)] == [0.75 * s for s in seconds]
    assert options.delay_ms(10_000, chance=0.999) > 0


def test_without_jitter_the_pause_is_exact() -> None:
    assert {RunOptions(jitter=False).delay_ms(0, chance=chance) for chance in (0.0, 0.3, 0.9)} == {5000}


def test_what_the_job_says_wins_field_by_field() -> None:
    handler = RunOptions(retries=5, base_ms=1000, retry_on=(OSError,), timeout_ms=9000)
    job = RunOptions(retries=0, timeout_ms=100)
    assert job.over(handler) == RunOptions(retries=0, base_ms=1000, retry_on=(OSError,), timeout_ms=100)
    assert UNSAID.over(handler) is handler
    assert job.over(UNSAID) is job


@pytest.mark.parametrize("after", [30, "soon", -1])
def test_a_retry_that_cannot_be_meant_is_a_failure_of_its_own(after: Any) -> None:
    outcome = decide(Retry(after=after), FAILURE, attempt=0)
    assert isinstance(outcome, Dead)
    assert outcome.failure.type == "Retry"
    assert str(after) in outcome.failure.message
    assert outcome.failure.where == FAILURE.where


def test_a_failure_in_one_line() -> None:
    assert FAILURE.line == "OSError: disk full (app.py:3)"
    assert Failure(type="KeyError", message="").line == "KeyError"
