"""What becomes of a run: retries, cancellation, the dead set (spec/lifecycle.md 5 and 6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, Peer, Stage
from workkit import schedule
from workkit.errors import InvalidArguments, NotFound
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done

MINUTE = 60_000


def dead(stage: Stage, n: int = 1) -> list[Job]:
    """Let jobs with the arguments 0, 1, ... fail for good."""
    stage.add(n)
    peer = stage.peer()
    for claim in peer.claim(n):
        peer.end(claim, Dead(failure=FAILURE))
    peer.leave()
    return schedule.dead(stage.s)


def retrying(stage: Stage, peer: Peer, *, delay_ms: int) -> None:
    peer.end(peer.claim_one(), Again(delay_ms=delay_ms, attempt=1, failure=FAILURE))


@promised(Can.RETRY)
def test_a_failed_run_comes_again_after_its_delay_with_its_attempt(stage: Stage) -> None:
    added = stage.add_with(1)
    peer = stage.peer()
    retrying(stage, peer, delay_ms=stage.pause_ms)
    assert peer.claim() == []
    (again,) = peer.claim_after(2 * MINUTE)
    assert (again.id, again.attempt, again.crashes) == (added.id, 1, 0)
    peer.end(again, Done())
    peer.leave()
    assert stage.left() == 0


@promised(Can.LOOK)
@promised(Can.RETRY)
def test_a_retrying_job_shows_its_error(stage: Stage) -> None:
    stage.add()
    retrying(stage, stage.peer(), delay_ms=MINUTE)
    (job,) = stage.jobs()
    assert (job.state, job.attempt, job.error) == ("retrying", 1, "OSError: disk full (app.py:3)")
    assert schedule.counts(stage.s).retrying == 1


def cancelled_and_added_again(stage: Stage, **when: Any) -> None:
    job = schedule.add(stage.s, stage.note, **when, **stage.given())
    assert schedule.cancel(stage.s, job.id[:8]).id == job.id
    assert stage.jobs() == []
    assert schedule.add(stage.s, stage.note, **when, **stage.given()).new


@promised(Can.CANCEL)
def test_a_cancelled_job_is_gone_and_can_be_added_again(stage: Stage) -> None:
    cancelled_and_added_again(stage, at="2030-01-01 09:00")


@promised(Can.RECUR)
def test_a_cancelled_recurring_job_is_gone_and_can_be_added_again(stage: Stage) -> None:
    cancelled_and_added_again(stage, every="day at 9am")


@promised(Can.CANCEL)
def test_a_cancelled_job_frees_its_unique_key(stage: Stage) -> None:
    def add() -> Job:
        return schedule.add(stage.s, stage.note, in_="1 hour", unique_key="order-7", **stage.given(1))

    first, again = add(), add()
    assert not again.new
    schedule.cancel(stage.s, again.id)
    assert stage.jobs() == []
    assert add().new
    assert first.new


@promised(Can.CANCEL)
def test_each_of_several_equal_jobs_is_cancelled_once(stage: Stage) -> None:
    jobs = [schedule.job(stage.s, stage.add_with("same").id) for _ in range(6)]
    assert {stage.args(job) for job in jobs} == {("same",)}
    for job in jobs:
        assert stage.producer.admin.cancel(job).id == job.id
    assert stage.jobs() == []
    for job in (*jobs, Job(id="f" * 40, schedule=stage.name, fn=stage.note)):
        with pytest.raises(NotFound):
            stage.producer.admin.cancel(job)


@promised(Can.CANCEL)
def test_a_running_job_that_is_cancelled_is_flagged_and_its_listener_is_told(stage: Stage) -> None:
    stage.add()
    peer = stage.peer()
    claim = peer.claim_one()
    assert schedule.cancel(stage.s, claim.job).state == "cancelling"
    assert [job.state for job in stage.jobs()] == ["cancelling"]
    assert peer.cancelled() == {claim.id}


@promised(Can.CANCEL)
def test_a_cancelled_run_that_fails_does_not_start_again(stage: Stage) -> None:
    stage.add()
    peer = stage.peer()
    claim = peer.claim_one()
    schedule.cancel(stage.s, claim.job)
    peer.end(claim, Again(delay_ms=0, attempt=1, failure=FAILURE))
    assert [found.trouble for found in peer.claim()] in ([], ["cancelled"])
    peer.leave()
    assert [job.state for job in stage.jobs()] in ([], ["cancelling"])


@promised(Can.KEEP_DEAD)
def test_what_fails_for_good_stands_in_the_dead_set(stage: Stage) -> None:
    (job,) = dead(stage)
    assert (job.fn, stage.args(job), job.state, job.error) == (
        stage.note,
        (0,),
        "dead",
        "OSError: disk full (app.py:3)",
    )
    counts = schedule.counts(stage.s)
    assert (counts.dead, counts.due) == (1, 0)
    assert stage.peer().claim() == []


@promised(Can.KEEP_DEAD)
def test_a_dead_job_is_retried_once(stage: Stage) -> None:
    (job,) = dead(stage)
    assert stage.producer.admin.retry([job]) == ["revived"]
    assert stage.producer.admin.retry([job]) == ["gone"]
    claim = stage.peer().claim_one()
    assert (claim.id, claim.attempt, claim.crashes) == (job.id, 0, 0)
    with pytest.raises(NotFound):
        schedule.retry(stage.s, job.id)


@promised(Can.KEEP_DEAD)
def test_many_dead_jobs_are_retried_each_once(stage: Stage) -> None:
    assert len(dead(stage, 12)) == 12
    assert schedule.retry(stage.s) == 12
    assert sorted(stage.args(claim)[0] for claim in stage.peer().claim(20)) == list(range(12))
    assert schedule.dead(stage.s) == []


@promised(Can.KEEP_DEAD)
def test_a_dead_job_is_retried_with_other_arguments_as_a_new_job(stage: Stage) -> None:
    (job,) = dead(stage)
    with pytest.raises(InvalidArguments):
        schedule.retry(stage.s, job, args=stage.layout.other([{1, 2}]))
    assert schedule.retry(stage.s, job, args=stage.layout.other(["other"])) == 1
    claim = stage.peer().claim_one()
    assert (claim.fn, list(stage.args(claim))) == (stage.note, ["other"])
    assert claim.id != job.id
    assert schedule.dead(stage.s) == []


@promised(Can.KEEP_DEAD)
def test_a_discarded_job_is_forgotten(stage: Stage) -> None:
    jobs = dead(stage, 5)
    assert schedule.discard(stage.s, jobs[0]) == 1
    assert {job.id for job in schedule.dead(stage.s)} == {job.id for job in jobs[1:]}
    assert stage.producer.admin.discard(jobs) == 4
    assert schedule.dead(stage.s) == []
