"""Dead listeners, fences, and replies that get lost (spec/lifecycle.md 1.3 to 1.5, 2 and 4)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, Stage
from tests.processes import until
from workkit import schedule
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import ServerUnreachable
from workkit.jobs.admission import FREE
from workkit.jobs.outcome import Again, Done, Released
from workkit.jobs.run_options import RunOptions
from workkit.triggers.trigger import once
from workkit.verbs.addition import addition


@promised(Can.REAP)
def test_the_work_of_a_dead_listener_is_handed_back_and_it_is_fenced(stage: Stage) -> None:
    stage.add(4)
    gone, other = stage.peer(timeout_ms=500), stage.peer(timeout_ms=500)
    held = gone.claim()
    back: list[int] = []

    def is_reaped() -> bool:
        back.append(other.reaped())
        return sum(back) == 4

    until(is_reaped, timeout=15)
    handed = other.claim()
    assert sorted((stage.args(claim)[0], claim.crashes, claim.attempt) for claim in handed) == [
        (n, 1, 0) for n in range(4)
    ]
    for claim in held:
        gone.end(claim, Done())
    assert {claim.id for claim in gone.fenced} == {claim.id for claim in held}
    for claim in held:
        gone.end(claim, Done())
    assert {claim.id for claim in gone.refused} == {claim.id for claim in held}
    assert schedule.counts(stage.s).running == 4, "the endings had no effect"
    for claim in handed:
        other.end(claim, Done())
    assert other.refused == []
    assert stage.jobs() == []


@promised(Can.REPEAT)
def test_a_claim_whose_reply_was_lost_is_answered_again(stage: Stage) -> None:
    stage.add(6)
    peer = stage.peer()
    for line in peer.lines:
        line.lose_next()
        with pytest.raises(ServerUnreachable):
            line.consumer.claim(2)
    first = peer.claim(2)
    assert sorted(stage.args(claim)[0] for claim in [*first, *peer.claim(6)]) == list(range(6))


@promised(Can.REPEAT)
def test_an_ending_whose_reply_was_lost_has_one_effect(stage: Stage) -> None:
    stage.add(2)
    peer = stage.peer()
    first, second = peer.claim()
    line = peer.line_of(first)
    line.lose_next()
    with pytest.raises(ServerUnreachable):
        line.consumer.claim(0, ends=[(first, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    again = [*peer.claim(), *peer.claim()]
    assert [(stage.args(claim)[0], claim.attempt) for claim in again] == [(stage.args(first)[0], 1)]
    counts = schedule.counts(stage.s)
    assert (counts.running, counts.retrying) == (2, 0)
    peer.end(second, Done())
    peer.end(again[0], Done())
    assert peer.refused == []
    assert stage.jobs() == []


@promised(Can.RECUR)
def test_an_admission_whose_reply_was_lost_has_one_effect(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, every="minute", **stage.given())
    assert job.due is not None
    due = round(job.due.timestamp() * 1000)
    peer = stage.peer()
    claim = peer.claim_one(now_ms=due)
    line = peer.line_of(claim)
    line.lose_next()
    with pytest.raises(ServerUnreachable):
        line.consumer.admit([(claim, None)], now_ms=due)
    (armed,) = peer.admit(claim, now_ms=due)
    peer.end(armed, Done())
    assert peer.refused == []
    assert [(found.id, found.state) for found in stage.jobs()] == [(job.id, "waiting")]


@promised(Can.REPEAT)
def test_an_addition_whose_reply_was_lost_is_made_once(stage: Stage) -> None:
    stage.lose_next_addition()
    assert stage.add_with(1).new
    stage.lose_next_addition()
    (added,) = stage.producer.adding([stage.new_job(2, due_ms=stage.producer.now_ms())])()
    assert added.new
    assert sorted(stage.args(claim)[0] for claim in stage.peer().claim()) == [1, 2]


@promised(Can.REPEAT)
def test_equal_lengths_whose_replies_were_lost_are_added_once_each(stage: Stage) -> None:
    given = {"fn": stage.note, "in_": "2 hours", **stage.given("same")}
    for _ in range(3):
        stage.lose_next_addition()
        new = addition(given, s=stage.s, now_ms=stage.producer.now_ms)
        (added,) = stage.producer.adding([new])()
        assert added.new
        assert added.id in {job.id for job in stage.jobs()}
    assert len(stage.jobs()) == 3


def test_what_stands_for_one_occurrence_has_one_id_whoever_adds_it(stage: Stage) -> None:
    other, _ = stage.another_producer()
    ids = []
    for producer, occurrence in ((stage.producer, "a@1"), (other, "a@1"), (other, "a@2")):
        new = stage.new_job(1)
        new.identity, new.trigger = occurrence, once(datetime(2026, 11, 20, 9, tzinfo=UTC))
        ids.append(producer.adding([new])()[0].id)
    assert ids[0] == ids[1] != ids[2]


@promised(Can.RECUR)
def test_what_may_have_begun_at_a_dead_listener_says_so(stage: Stage) -> None:
    given = {"crashes": 0, **stage.given(1)}
    jobs = [schedule.add_now(stage.s, stage.note, **given).id for _ in range(2)]
    gone, other = stage.peer(timeout_ms=500), stage.peer(timeout_ms=500)
    first, second = gone.claim()
    wanted = first.admission(first.options, FREE)
    assert wanted is not None
    (admitted,) = gone.admit(first, wanted)
    assert not wanted.is_met(slots=admitted.slots)
    back: list[int] = []

    def is_reaped() -> bool:
        back.append(other.reaped())
        return sum(back) == 2

    until(is_reaped, timeout=15)
    handed = {claim.id: claim for claim in other.claim()}
    assert sorted(handed) == sorted(jobs)
    begun = {id: (claim.crashes, claim.standing and claim.standing.has_begun) for id, claim in handed.items()}
    assert begun == {first.id: (1, True), second.id: (1, False)}
    other.end(handed[first.id], Released())  # a live listener knows that no thread has begun it
    (again,) = other.claim()
    assert again.standing is not None
    assert not again.standing.has_begun


@promised(Can.RECUR)
def test_a_function_may_run_at_most_once(stage: Stage) -> None:
    serves = {"note": Serving(options=RunOptions(crashes=0))}
    info = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1, serves=serves)
    for line in stage.peer().lines:
        line.consumer.leave()
        line.consumer.register(info)
