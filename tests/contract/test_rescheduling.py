"""A job gets another time and keeps everything else, in one step (spec/features.md 8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, HOW, MINUTE, Stage
from workkit import schedule
from workkit.contract.admin import At
from workkit.errors import InvalidOptions, NotFound, TriggerError
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done

FULL: dict[str, Any] = {
    "overlap": "skip", "catch_up": "all", "catch_up_within": "2h", "spread": "5 minutes", "priority": 2, "retries": 3,
    "backoff": "linear", "base": "1m", "cap": "2h", "jitter": False, "timeout": "20m", "keep": "1 day",
    "keep_most": 1000, "crashes": 0, "start": "2026-01-01", "end": "2099-01-01", "count": 500, "unique_key": "k",
    "unique_until": "started", "ping": "https://hc.example/1",
}  # fmt: skip
HOUR = timedelta(hours=1)


def digest(stage: Stage, **more: Any) -> Job:
    given = {"every": "weekday at 9am", "tz": "Europe/Paris", "name": "digest", **stage.given("finance", 20), **more}
    return schedule.add(stage.s, stage.note, **given)


def content(job: Job) -> tuple[Any, ...]:
    return job.fn, job.args, job.kwargs, job.options, job.terms, job.name


@promised(Can.RESCHEDULE)
def test_a_job_that_waits_gets_another_time(stage: Stage) -> None:
    waits = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1))
    after = schedule.reschedule(stage.s, waits.id, in_="3 hours")
    assert waits.due is not None
    assert after.due is not None
    assert abs(after.due - waits.due - 2 * HOUR) < timedelta(seconds=5)
    assert (after.id != waits.id, after.replaced, after.new) == (True, waits.id, True)
    assert [(job.id, job.due, stage.args(job)) for job in stage.jobs()] == [(after.id, after.due, (1,))]
    with pytest.raises(NotFound):
        schedule.job(stage.s, waits.id)


@pytest.mark.parametrize("more", [{}, {"kwargs": {"x": [1, None, "é"]}}, FULL], ids=["plain", "kwargs", "options"])
@promised(Can.RESCHEDULE)
def test_everything_else_is_kept(stage: Stage, more: dict[str, Any]) -> None:
    before = schedule.job(stage.s, digest(stage, **more).id)
    after = schedule.reschedule(stage.s, "digest", every="weekday at 8am")
    stored = schedule.job(stage.s, "digest")
    assert content(stored) == content(after) == content(before)
    assert (stored.id, stored.due, stored.trigger) == (after.id, after.due, after.trigger)
    assert stored.trigger is not None
    assert before.trigger is not None
    assert stored.trigger.rules == ("* * * 1-5 8 0 0",)
    bounds = [(one.tz, one.start, one.end) for one in (stored.trigger, before.trigger)]
    assert bounds[0] == bounds[1]
    assert [job.id for job in stage.jobs()] == [after.id]


@promised(Can.RESCHEDULE)
def test_a_run_in_progress_continues_and_the_next_one_has_the_new_time(stage: Stage) -> None:
    before = digest(stage, every="minute", overlap="skip")
    assert before.due is not None
    peer = stage.peer()
    now = round(before.due.timestamp() * 1000)
    claim = peer.claim_one(now_ms=now)
    (run,) = peer.admit(claim, now_ms=now)
    after = schedule.reschedule(stage.s, "digest", every="weekday at 8am")
    peer.end(run, Done(), now_ms=now)
    assert (peer.refused, peer.fenced) == ([], [])
    assert [(job.id, job.state, job.due) for job in stage.jobs()] == [(after.id, "waiting", after.due)]


@promised(Can.RESCHEDULE)
def test_a_pause_stays(stage: Stage) -> None:
    digest(stage)
    plain = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1))
    every = schedule.add(stage.s, stage.note, every="2 hours", **stage.given(2))
    for which in ("digest", plain.id, every.id):
        schedule.pause(stage.s, which, reason="a move")
    ids = [schedule.reschedule(stage.s, which, when="every day at 8am").id for which in ("digest", plain.id, every.id)]
    found = {job.id: (job.state, job.why) for job in stage.jobs()}
    assert found == dict.fromkeys(ids, ("paused", "paused: a move"))
    for which in ("digest", *ids[1:]):
        schedule.resume(stage.s, which)
    assert {job.state for job in stage.jobs()} == {"waiting"}
    assert stage.producer.inspector.control().paused == {}


@pytest.mark.parametrize("called", ["digest", None])
@promised(Can.RESCHEDULE)
def test_the_count_of_runs_and_the_past_runs_go_on(stage: Stage, called: str | None) -> None:
    job = digest(stage, every="minute", count=3, name=called)
    for runs, every in enumerate(("2 minutes", "3 minutes"), start=1):
        schedule.drain(stage.s, **HOW, now=job.due)
        job = schedule.reschedule(stage.s, called or job.id, every=every)
        assert [one.ending for one in schedule.runs(stage.s, called or job.id)] == ["done"] * runs
    schedule.drain(stage.s, **HOW, now=job.due)
    assert stage.jobs() == [], "it has had three runs"


@promised(Can.RESCHEDULE)
def test_a_job_that_somebody_else_has_changed_is_not_half_done(stage: Stage) -> None:
    """Two who have read the same job: the second one changes nothing."""
    seen = schedule.job(stage.s, digest(stage).id)
    admin = stage.producer.admin
    due_ms = stage.producer.now_ms() + MINUTE
    first = schedule.reschedule(stage.s, "digest", every="day at 8am")
    before = stage.jobs()
    with pytest.raises(NotFound):
        admin.reschedule([seen], At(trigger=seen.trigger, due_ms=due_ms))
    with pytest.raises(NotFound):
        schedule.reschedule(stage.s, seen, every="day at 7am")
    assert stage.jobs() == before
    assert [one.id for one in before] == [first.id]


@promised(Can.RESCHEDULE)
def test_two_jobs_that_become_equal_stay_two(stage: Stage) -> None:
    first, second = (schedule.add(stage.s, stage.note, at=f"2030-01-05 {n}am", **stage.given(1)) for n in (8, 9))
    schedule.reschedule(stage.s, first, at="2030-01-05 9am")
    assert [job.due for job in stage.jobs()] == [second.due] * 2
    assert second.id in {job.id for job in stage.jobs()}


@promised(Can.RESCHEDULE)
def test_a_unique_key_stays_with_its_job(stage: Stage) -> None:
    first = schedule.add(stage.s, stage.note, in_="1 hour", unique_key="k", **stage.given(1))
    after = schedule.reschedule(stage.s, first, in_="2 hours")
    again = schedule.add(stage.s, stage.note, in_="1 hour", unique_key="k", **stage.given(2))
    assert (again.id, again.new) == (after.id, False)


@promised(Can.RESCHEDULE)
def test_snooze_puts_off_the_next_run_and_keeps_the_rule(stage: Stage) -> None:
    daily = schedule.add(stage.s, stage.note, every="day at 9am", name="daily", priority=2, **stage.given(1))
    once = schedule.add(stage.s, stage.note, in_="1 minute", **stage.given(2))
    assert daily.due is not None
    assert once.due is not None
    after = schedule.snooze(stage.s, "daily", "30 minutes", by="ann")
    assert (after.id, after.due, after.state) == (daily.id, daily.due + HOUR / 2, "waiting")
    both = schedule.snooze(stage.s, [once, "daily", daily.id], timedelta(hours=1))
    dues = {once.id: once.due + HOUR, daily.id: daily.due + 1.5 * HOUR}
    assert {job.id: job.due for job in both} == {job.id: job.due for job in stage.jobs()} == dues
    assert [(one.verb, one.by) for one in schedule.changes(stage.s)][-1] == ("snooze", "ann")
    peer = stage.peer()
    at_ms = round(dues[daily.id].timestamp() * 1000)
    assert [claim.id for claim in peer.claim(now_ms=at_ms - 1)] == [once.id]
    (claim,) = peer.claim(now_ms=at_ms)
    peer.admit(claim, now_ms=at_ms)
    assert schedule.job(stage.s, "daily").state == "running"
    assert [job.due for job in stage.jobs() if job.state == "waiting"] == [daily.due + 24 * HOUR]


@promised(Can.RESCHEDULE)
def test_snooze_changes_all_or_nothing(stage: Stage) -> None:
    waits = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1))
    paused = schedule.add(stage.s, stage.note, every="day at 9am", name="paused", **stage.given(2))
    schedule.pause(stage.s, "paused")
    peer = stage.peer()
    stage.add_with(3)
    running = peer.claim_one()
    stage.add_with(4)
    peer.end(peer.claim_one(), Dead(failure=FAILURE))
    (dead,) = schedule.dead(stage.s)
    stage.add_with(5)
    peer.end(peer.claim_one(), Again(delay_ms=10 * MINUTE, attempt=1, failure=FAILURE))
    (retrying,) = schedule.jobs(stage.s, state="retrying")
    for other in ("nobody", running.id, dead.id, paused.id, retrying.id):
        with pytest.raises((NotFound, InvalidOptions)):
            schedule.snooze(stage.s, [waits.id, other], "1h")
    with pytest.raises(TriggerError):
        schedule.snooze(stage.s, waits.id, "soon")
    assert schedule.job(stage.s, waits.id).due == waits.due
    assert schedule.snooze(stage.s, [], "1h") == []


@promised(Can.RESCHEDULE)
def test_a_snoozed_job_that_is_overdue_waits_from_now(stage: Stage) -> None:
    (added,) = stage.add(1)
    now = stage.producer.now_ms()
    after = schedule.snooze(stage.s, added.id, "1h")
    assert after.due is not None
    assert abs(after.due.timestamp() * 1000 - now - 60 * MINUTE) < 10_000
    assert stage.peer().claim() == []
