"""Recurring jobs: all of them are listed, as they stand."""

from __future__ import annotations

from datetime import timedelta

from tests.contract.capability import Can, promised
from tests.contract.stage import Stage
from workkit import schedule


@promised(Can.RECUR)
def test_recurring_jobs_are_listed_as_they_stand(stage: Stage) -> None:
    given = stage.given(1)
    named = schedule.add(stage.s, stage.note, **given, every="day at 12:30", tz="Europe/Paris", name="nightly")
    plain = schedule.add(stage.s, stage.note, **stage.given(2), every="2 hours")
    schedule.add(stage.s, stage.note, **stage.given(3), in_="1 hour", name="once")
    stage.add_with(4)
    schedule.pause(stage.s, "nightly", reason="a move")
    found = {one.key: one.standing for one in stage.producer.inspector.recurring()}
    assert found.keys() == {"nightly", plain.id}
    assert (found["nightly"].state, found["nightly"].why) == ("paused", "paused: a move")
    assert (found["nightly"].due, found["nightly"].id) == (named.due, named.id)
    assert (found[plain.id].state, found[plain.id].due) == ("waiting", plain.due)
    assert plain.due is not None
    schedule.skip(stage.s, plain.id)
    (after,) = (one.standing for one in stage.producer.inspector.recurring() if one.key == plain.id)
    assert after.due == plain.due + timedelta(hours=2)


@promised(Can.RECUR)
def test_a_recurring_job_that_was_replaced_is_listed_once(stage: Stage) -> None:
    schedule.add(stage.s, stage.note, **stage.given(1), every="day at 2:30", name="nightly")
    assert len(stage.producer.inspector.recurring()) == 1
    new = schedule.add(stage.s, stage.note, **stage.given(2), every="day at 3:30", name="nightly")
    assert [(one.key, one.job.id) for one in stage.producer.inspector.recurring()] == [("nightly", new.id)]
    schedule.cancel(stage.s, "nightly")
    assert list(stage.producer.inspector.recurring()) == []


@promised(Can.RECUR)
def test_a_schedule_without_recurring_jobs_has_none(stage: Stage) -> None:
    assert list(stage.producer.inspector.recurring()) == []
