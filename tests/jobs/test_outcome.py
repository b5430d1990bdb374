"""What becomes of a run: the whole table."""

from __future__ import annotations

import pytest

from workkit.errors import Discard, FunctionNotFound, Retry, TriggerError
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released, decide

FAILURE = Failure(type="OSError", message="disk full", where="app.py:3")


@pytest.mark.parametrize(
    ("error", "attempt", "outcome"),
    [
        (None, 0, Done()),
        (None, 5, Done()),
        (Discard("order was cancelled"), 0, Done(discarded="order was cancelled")),
        (Retry(), 0, Again(delay_ms=0, attempt=1)),
        (Retry(after="30s"), 3, Again(delay_ms=30_000, attempt=4)),
        (FunctionNotFound("no such function"), 2, Released(delay_ms=2000, unknown=True)),
        (OSError("disk full"), 0, Dead(failure=FAILURE)),
        (SystemExit(3), 0, Dead(failure=FAILURE)),
        (KeyboardInterrupt(), 0, Dead(failure=FAILURE)),
    ],
    ids=str,
)
def test_fate(error: BaseException | None, attempt: int, outcome: Outcome) -> None:
    assert decide(error, FAILURE, attempt=attempt) == outcome


def test_a_retry_without_a_unit_is_an_error() -> None:
    with pytest.raises(TriggerError, match="after=30 has no unit"):
        decide(Retry(after=30), None, attempt=0)  # type: ignore[arg-type]


def test_a_failure_in_one_line() -> None:
    assert FAILURE.line == "OSError: disk full (app.py:3)"
    assert Failure(type="KeyError", message="").line == "KeyError"
