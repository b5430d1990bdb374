"""When a failed message runs again: the rules of both libraries, and where a handler says otherwise."""

from __future__ import annotations

import pytest

from tests.brokers.hutch import vectors
from workkit.brokers.hutch.levels import level_of
from workkit.brokers.hutch.retries import USUAL
from workkit.jobs.outcome import Again, Dead, Failure, decide
from workkit.jobs.run_options import RunOptions

FAILURE = Failure(type="OSError", message="disk full")


def test_hutch_waits_as_recorded() -> None:
    table = vectors.load("topology")["hutch_schedule_retry_wait"]["table"]
    for failures, (seconds, level) in table.items():
        assert USUAL["hutch"].delay_ms(int(failures), chance=0.99) == seconds * 1000
        assert level_of(seconds, "hutch") == level


def test_event_waits_by_chance_and_rounds_the_first_to_20_30_or_60() -> None:
    waits = {USUAL["event"].delay_ms(0, chance=n / 30) for n in range(30)}
    assert waits == {1000 * seconds for seconds in range(15, 45)}
    assert {level_of(ms / 1000, "event") for ms in waits} == {20, 30, 60}
    assert {USUAL["event"].delay_ms(2, chance=n / 30) for n in range(30)} == {
        1000 * (16 + 15 + chance * 3) for chance in range(30)
    }


@pytest.mark.parametrize(("attempt", "again"), [(0, True), (3, True), (4, False)])
def test_event_tries_four_times_again(attempt: int, again: bool) -> None:
    outcome = decide(OSError("disk full"), FAILURE, attempt=attempt, options=USUAL["event"])
    assert isinstance(outcome, Again if again else Dead)


@pytest.mark.parametrize(("said", "attempt", "again"), [(None, 0, False), (2, 1, True), (2, 2, False)])
def test_hutch_tries_again_as_often_as_its_handler_says(said: int | None, attempt: int, again: bool) -> None:
    options = RunOptions(retries=said).over(USUAL["hutch"])
    outcome = decide(OSError("disk full"), FAILURE, attempt=attempt, options=options)
    assert isinstance(outcome, Again if again else Dead)


def test_a_base_of_the_handler_makes_the_wait_exponential() -> None:
    options = RunOptions(retries=2, base_ms=1000, jitter=False).over(USUAL["event"])
    assert [options.delay_ms(attempt, chance=0.5) for attempt in range(3)] == [1000, 2000, 4000]
