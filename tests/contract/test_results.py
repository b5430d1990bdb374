"""Kept results: a value, a failure, and what is refused."""

from __future__ import annotations

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, Stage
from workkit import schedule
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import JobFailed, ResultPending
from workkit.jobs.outcome import DONE, Again, Dead, Kept, with_result
from workkit.jobs.run_options import RunOptions

KEPT = Kept(ms=60_000, kind="value", text=b"[1]")


@promised(Can.KEEP_RESULT)
def test_an_ending_leaves_its_result_and_a_refused_one_leaves_none(stage: Stage) -> None:
    peer = stage.peer()
    job = schedule.add_now(stage.s, stage.layout.note, **stage.layout.given([1]), keep="1 minute")
    claim = peer.claim_one()
    with pytest.raises(ResultPending):
        schedule.result(stage.s, job, wait=None)
    outcome = with_result(DONE, claim.options, KEPT)
    peer.end(claim, outcome)
    peer.end(claim, with_result(Dead(failure=FAILURE), claim.options))
    assert schedule.result(stage.s, job, wait=None) == [1]


@promised(Can.KEEP_RESULT)
def test_an_attempt_leaves_no_result_and_the_last_failure_one(stage: Stage) -> None:
    peer = stage.peer()
    job = schedule.add_now(stage.s, stage.layout.note, **stage.layout.given([1]), keep="1 minute")
    peer.end(claim := peer.claim_one(), with_result(Again(delay_ms=0, attempt=1, failure=FAILURE), claim.options))
    with pytest.raises(ResultPending):
        schedule.result(stage.s, job, wait=None)
    for claim in peer.claim():
        peer.end(claim, with_result(Dead(failure=FAILURE), claim.options))
    with pytest.raises(JobFailed, match="disk full"):
        schedule.result(stage.s, job, wait=None)


@promised(Can.KEEP_RESULT)
def test_a_listener_serves_a_function_that_keeps_its_result(stage: Stage) -> None:
    serves = {"note": Serving(options=RunOptions(keep_ms=60_000))}
    info = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1, serves=serves)
    for line in stage.peer().lines:
        line.consumer.leave()
        line.consumer.register(info)
