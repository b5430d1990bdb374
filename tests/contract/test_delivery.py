"""Delivery: every due occurrence is started once, and nothing before its time (spec/lifecycle.md 1.1 to 1.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import handlers
from tests.contract.capability import Can, promised
from tests.contract.stage import HOW, Peer, Stage
from tests.processes import until
from workkit import schedule
from workkit.contract.listener import Claim
from workkit.contract.producer import BulkPlace, BulkStep, Tally
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.job import Job
from workkit.jobs.outcome import Done, Released

MINUTE = 60_000


def due_ms(job: Job) -> int:
    assert job.due is not None
    return round(job.due.timestamp() * 1000)


def every_minute(stage: Stage) -> tuple[Job, int]:
    job = schedule.add(stage.s, stage.note, every="minute", **stage.given())
    return job, due_ms(job)


def test_due_jobs_are_each_claimed_by_one_listener(stage: Stage) -> None:
    stage.add(20)
    first, second = stage.peer(), stage.peer()
    claims = [*first.claim(3), *second.claim(3), *first.claim(20), *second.claim(20)]
    assert sorted(stage.args(claim)[0] for claim in claims) == list(range(20))
    assert first.claim() == second.claim() == []


def test_a_claim_holds_what_a_run_needs(stage: Stage) -> None:
    added = stage.add_with("a", {"b": [1.5, None]})
    claim = stage.peer().claim_one()
    assert (claim.id, claim.fn, list(stage.args(claim))) == (added.id, stage.note, ["a", {"b": [1.5, None]}])
    assert (claim.due_ms, claim.attempt, claim.crashes, claim.trouble, claim.armed) == (added.due_ms, 0, 0, None, True)
    assert (claim.job.id, stage.args(claim.job)) == (added.id, ("a", {"b": [1.5, None]}))


@promised(Can.PRETEND)
def test_a_job_is_not_claimed_before_it_is_due(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given())
    peer = stage.peer()
    assert peer.claim() == []
    assert peer.claim(now_ms=due_ms(job) - 1) == []
    assert peer.claim_one(now_ms=due_ms(job)).id == job.id


@promised(Can.LOOK)
def test_the_due_time_of_a_job_is_kept(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, in_="90 minutes", **stage.given())
    assert [due_ms(found) for found in stage.jobs()] == [due_ms(job)]
    assert 89 * MINUTE < due_ms(job) - stage.producer.now_ms() <= 90 * MINUTE + 1000


def test_an_ended_one_shot_is_gone(stage: Stage) -> None:
    stage.add()
    peer = stage.peer()
    peer.end(peer.claim_one(), Done())
    assert peer.refused == []
    peer.leave()
    assert stage.left() == 0


@promised(Can.KNOW, refused=False)
def test_the_same_job_added_again_is_known(stage: Stage) -> None:
    first = schedule.add(stage.s, stage.note, at="2030-01-01 09:00", **stage.given(1))
    again = schedule.add(stage.s, stage.note, at="2030-01-01 09:00", **stage.given(1))
    assert again.id == first.id, "a reader could not know it either"
    assert (first.new, again.new) == (True, False)
    assert [job.id for job in stage.jobs()] == [first.id]


@promised(Can.KNOW, refused=False)
def test_at_with_a_length_added_again_within_its_second_is_known(stage: Stage) -> None:
    rows = [{"fn": stage.note, "at": "in 2 hours", **stage.given(1)}] * 3  # rows of one call share the present
    assert schedule.add_many(stage.s, rows) == Tally(new=1, known=2)
    assert len(stage.jobs()) == 1


def test_equal_jobs_of_add_now_are_runs_of_their_own(stage: Stage) -> None:
    added = [stage.add_with("same") for _ in range(4)]
    assert all(one.new for one in added)
    assert sorted(claim.id for claim in stage.peer().claim()) == sorted(one.id for one in added)
    assert len({one.id for one in added}) == 4


@pytest.mark.parametrize("when", [{"in_": "1 second"}, {"when": "in 1 second"}], ids=str)
def test_equal_additions_of_a_length_are_runs_of_their_own(stage: Stage, when: dict[str, Any]) -> None:
    added = [schedule.add(stage.s, stage.note, **when, **stage.given("same")) for _ in range(6)]
    assert schedule.add_many(stage.s, [{"fn": stage.note, **when, **stage.given("same")}] * 6) == Tally(new=6, known=0)
    assert all(one.new for one in added)
    assert len({one.id for one in added}) == 6
    peer, claims = stage.peer(), list[Claim]()

    def all_claimed() -> bool:
        claims.extend(peer.claim())
        return len(claims) >= 12

    until(all_claimed)
    assert len({claim.id for claim in claims}) == len(claims) == 12
    assert {one.id for one in added} < {claim.id for claim in claims}


def test_jobs_added_in_bulk_all_run(stage: Stage) -> None:
    schedule.add_many(stage.s, [{"fn": stage.note, "at": "now", **stage.given(n)} for n in range(300)])
    handlers.calls.clear()
    assert schedule.drain(stage.s, **HOW).ran == 300
    assert sorted(stage.noted(call)[0] for call in handlers.calls) == list(range(300))
    assert stage.left() == 0


def test_a_released_job_returns_with_its_time_and_no_attempt_spent(stage: Stage) -> None:
    added = stage.add_with(1)
    peer = stage.peer()
    peer.end(peer.claim_one(), Released())
    again = peer.claim_one()
    assert (again.id, again.due_ms, again.attempt) == (added.id, added.due_ms, 0)


@promised(Can.OFFER_OTHERS)
def test_a_job_that_a_listener_cannot_run_is_offered_to_others_only(stage: Stage) -> None:
    stage.add()
    mine, other = stage.peer(), stage.peer()
    claim = mine.claim_one()
    mine.end(claim, Released(unknown=True))
    assert mine.claim_after(stage.pause_ms) == []
    (given,) = other.claim_after(MINUTE)
    assert (given.id, given.due_ms) == (claim.id, claim.due_ms)


def test_a_listener_is_offered_again_what_it_has_given_back_once_it_reconsiders(stage: Stage) -> None:
    stage.add(3)
    mine = stage.peer()
    for claim in mine.claim():
        mine.end(claim, Released(unknown=True))
    assert mine.claim() == []
    for line in mine.lines:
        line.consumer.maintain(reconsider=True)
    assert sorted(stage.args(claim) for claim in until(mine.claim)) == [(0,), (1,), (2,)]


@promised(Can.RECUR)
def test_a_recurring_job_is_armed_before_it_starts_and_stays(stage: Stage) -> None:
    job, due = every_minute(stage)
    peer = stage.peer()
    claim = peer.claim_one(now_ms=due)
    assert not claim.armed
    (armed,) = peer.admit(claim, now_ms=due)
    assert armed.armed
    peer.end(armed, Done())
    assert next_of(peer, due) == (job.id, due + MINUTE)
    assert peer.refused == []


@promised(Can.RECUR)
def test_a_recurring_job_released_before_it_is_armed_keeps_its_chain(stage: Stage) -> None:
    job, due = every_minute(stage)
    peer = stage.peer()
    peer.end(peer.claim_one(now_ms=due), Released(), now_ms=due)
    (found,) = stage.jobs()
    assert (found.id, due_ms(found)) == (job.id, due)


@promised(Can.RECUR)
def test_ticks_missed_while_no_listener_was_there_make_one_run(stage: Stage) -> None:
    _, due = every_minute(stage)
    peer, now = stage.peer(), due + 10 * MINUTE + 1
    (armed,) = peer.admit(peer.claim_one(now_ms=now), now_ms=now)
    assert armed.armed
    assert peer.claim(now_ms=now) == []
    assert next_of(peer, now)[1] == due + 11 * MINUTE


def next_of(peer: Peer, now: int) -> tuple[str, int]:
    """The occurrence that is due within the next minute: its job, and when it is due."""
    claim: Claim = peer.claim_one(now_ms=now + MINUTE)
    return claim.id, claim.due_ms


@promised(Can.WAKE)
def test_a_listener_that_sleeps_is_woken_by_an_addition(stage: Stage) -> None:
    peer = stage.peer()
    assert peer.claim() == []
    stage.add(16)  # some for each shard
    assert all(line.consumer.wait(5) for line in peer.lines)


@promised(Can.BATCH)
def test_a_batch_moves_on_with_its_rows_in_one_step_and_once(stage: Stage) -> None:
    begun = BulkPlace(id="1f0c2a9b", rows=0, digest="ab")
    stage.producer.batch(begun)
    assert stage.producer.batch(begun.id) == begun
    jobs, after = [stage.new_job(0), stage.new_job(1)], replace(begun, rows=2, digest="cd")
    stage.lose_next_addition()
    assert [one.new for one in stage.producer.adding(jobs, step=BulkStep(before=begun, after=after))()] == [True, True]
    other, _ = stage.another_producer()
    assert other.batch(begun.id) == after
    for digest in ("cd", "ef"):
        late = BulkStep(before=begun, after=replace(after, rows=1, digest=digest))
        with pytest.raises(InvalidOptions):
            other.adding(jobs[:1], step=late)()
    assert len(stage.jobs()) == 2
    with pytest.raises(NotFound):
        other.batch("00000000")
