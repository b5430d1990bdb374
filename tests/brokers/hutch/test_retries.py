"""When a failed message runs again: the rules of both libraries, and where a handler says otherwise."""

from __future__ import annotations

import pytest

from tests.brokers.hutch import vectors
from tests.brokers.hutch.opened import Opened, new, one
from workkit.brokers.hutch import compose
from workkit.brokers.hutch.codec import USUAL
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.jobs.outcome import Again, Dead, Failure, decide
from workkit.jobs.run_options import UNSAID, RunOptions

FAILURE = Failure(type="OSError", message="disk full")


def test_hutch_waits_as_recorded() -> None:
    table = vectors.load("topology")["hutch_schedule_retry_wait"]["table"]
    for failures, (seconds, _) in table.items():
        assert USUAL["hutch"].delay_ms(int(failures), chance=0.99) == seconds * 1000


def test_event_waits_by_chance() -> None:
    waits = {USUAL["event"].delay_ms(0, chance=n / 30) for n in range(30)}
    assert waits == {1000 * seconds for seconds in range(15, 45)}
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


ALL = RunOptions(retries=3, backoff="linear", base_ms=1500, cap_ms=60_000, jitter=False)
SAID = {
    "workkit-retries": 3, "workkit-backoff": "linear", "workkit-base-ms": 1500, "workkit-cap-ms": 60_000,
    "workkit-jitter": False,
}  # fmt: skip


def test_options_of_retries_travel_in_headers_through_retries_and_the_dead_queue(on: Opened) -> None:
    listener = on.listener()
    job = new({"n": 1})
    job.options = ALL
    (added,) = listener.adding([job])()
    claim = one(listener)
    assert (claim.options, claim.job.options) == (ALL, ALL)
    assert SAID.items() <= claim.receipt.message.headers.items()
    listener.claim(0, ends=[(claim, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    claim = one(listener)
    assert (claim.attempt, claim.options) == (1, ALL)
    listener.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    (dead,) = listener.inspector.jobs(state="dead")
    assert (dead.id, dead.options) == (added.id, ALL)
    listener.admin.retry([dead], args=[{"n": 2}])
    claim = one(listener)
    assert (claim.args, claim.attempt, claim.options) == (({"n": 2},), 0, ALL)


def test_a_message_without_options_has_no_such_headers(on: Opened) -> None:
    listener = on.listener()
    listener.adding([new({})])()
    claim = one(listener)
    assert claim.options is UNSAID
    assert set(claim.receipt.message.headers) == {"workkit-due"}


def test_options_of_a_delayed_message_are_listed(on: Opened) -> None:
    broker = on.broker()
    job = new({}, due_ms=broker.now_ms() + 60_000)
    job.options = ALL
    broker.adding([job])()
    (found,) = broker.inspector.jobs(state="waiting")
    assert found.options == ALL


@pytest.mark.parametrize("value", [-1, "3", 3.5, True, None, [3], {"a": 1}, b"3", 1 << 70])
def test_retries_that_cannot_be_read_are_left_out(value: object) -> None:
    message = Message(exchange="e", routing_key="k", headers={"workkit-retries": value, "workkit-backoff": b"constant"})
    assert message.options == RunOptions(backoff="constant")


def test_another_program_that_sends_a_message_again_keeps_its_options() -> None:
    names = Names(exchange="e", dialect="event")
    message = Message(exchange="e", routing_key="k", headers=dict(SAID), body=b"{}")
    assert message.options == ALL
    assert compose.again(names, message, queue="q", attempt=1, now_ms=0, delay_ms=0).options == ALL
