"""What the verbs promise of a schedule: names, keys, pauses, looks, the doctor (spec/features.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests import handlers
from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, HOW, MINUTE, Stage
from tests.processes import until
from workkit import schedule
from workkit.contract.admin import Limited, Paused, Quieted, Undo
from workkit.contract.listener import Claim
from workkit.contract.producer import Added
from workkit.errors import ChangedMeanwhile, NotFound
from workkit.jobs.admission import FREE, Pause
from workkit.jobs.call import FunctionCall
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import Terms
from workkit.verbs.opening import by_time_of


def drained(stage: Stage) -> list[Any]:
    """Run what is due, and return the first argument of each run."""
    handlers.calls.clear()
    schedule.drain(stage.s, **HOW)
    return sorted(stage.noted(call)[0] for call in handlers.calls)


def paused_and_resumed(stage: Stage, which: dict[str, Any], *, running: list[int], held: list[int]) -> None:
    schedule.pause(stage.s, **which, reason="migration")
    assert drained(stage) == running
    if Can.LOOK in stage.layout.can:
        assert {job.state for job in stage.jobs()} == {"paused"}
        assert {job.why for job in stage.jobs()} == {"paused: migration"}
        assert schedule.counts(stage.s).paused == len(held)
    schedule.resume(stage.s, **which)
    assert drained(stage) == held


@pytest.mark.parametrize("target", ["schedule", "function"])
@promised(Can.PAUSE)
def test_what_is_paused_does_not_start_before_it_is_resumed(stage: Stage, target: str) -> None:
    stage.add(3)
    which = {} if target == "schedule" else {"fn": handlers.note}
    paused_and_resumed(stage, which, running=[], held=[0, 1, 2])


@promised(Can.PAUSE_ONE)
def test_a_job_that_is_paused_does_not_start_before_it_is_resumed(stage: Stage) -> None:
    _, second, _ = stage.add(3)
    paused_and_resumed(stage, {"which": second.id}, running=[0, 2], held=[1])


@promised(Can.PAUSE)
def test_what_is_added_while_its_schedule_is_paused_does_not_start(stage: Stage) -> None:
    schedule.pause(stage.s)
    stage.add(2)
    assert drained(stage) == []
    schedule.resume(stage.s)
    assert drained(stage) == [0, 1]


@promised(Can.PAUSE)
def test_a_function_stays_paused_when_its_schedule_is_resumed(stage: Stage) -> None:
    stage.add(1)
    schedule.pause(stage.s, fn=handlers.note, reason="mail is down")
    schedule.pause(stage.s)
    schedule.resume(stage.s)
    assert drained(stage) == []
    if Can.LOOK in stage.layout.can:
        assert {job.why for job in stage.jobs()} == {"paused: mail is down"}
    schedule.resume(stage.s, fn=handlers.note)
    assert drained(stage) == [0]


@promised(Can.PAUSE)
def test_a_schedule_stays_paused_when_one_of_its_functions_is_resumed(stage: Stage) -> None:
    stage.add(1)
    schedule.pause(stage.s)
    schedule.pause(stage.s, fn=handlers.note)
    schedule.resume(stage.s, fn=handlers.note)
    assert drained(stage) == []
    schedule.resume(stage.s)
    assert drained(stage) == [0]


@promised(Can.PAUSE)
def test_a_pause_ends_at_its_time(stage: Stage) -> None:
    stage.add(1)
    soon = stage.producer.now_ms() + 600
    stage.producer.admin.steer(Paused("schedule", Pause(until_ms=soon)))
    (found,) = stage.producer.inspector.control().paused.values()
    assert found.until_ms is not None
    assert abs(found.until_ms - soon) < 100
    assert drained(stage) == []
    until(lambda: drained(stage) == [0], what="the pause to end")


@promised(Can.SKIP)
def test_skip_leaves_the_next_run_out(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, every="day at 9am", **stage.given())
    assert job.due is not None
    assert schedule.skip(stage.s, job).due == job.due + timedelta(days=1)
    assert [found.due for found in stage.jobs()] == [job.due + timedelta(days=1)]


@promised(Can.RUN)
def test_run_runs_a_job_once_now(stage: Stage) -> None:
    once = schedule.add(stage.s, handlers.note, in_="1 hour", **stage.given(1))
    for _ in range(2):
        assert schedule.run(stage.s, once).state == "due"
    assert [job.state for job in stage.jobs()] == ["due"]
    assert drained(stage) == [1]
    assert stage.jobs() == []
    with pytest.raises(NotFound):
        stage.producer.admin.run(once)


@promised(Can.RUN)
def test_run_runs_a_failed_job_again_now(stage: Stage) -> None:
    added = stage.add_with(1)
    peer = stage.peer()
    peer.end(peer.claim_one(), Again(delay_ms=3_600_000, attempt=1, failure=FAILURE))
    schedule.run(stage.s, added.id)
    again = peer.claim_one()
    assert (again.id, again.attempt) == (added.id, 1)


@promised(Can.RECUR)
def test_run_runs_a_recurring_job_once_more_and_keeps_its_times(stage: Stage) -> None:
    daily = schedule.add(stage.s, handlers.note, every="day at 9am", **stage.given(2))
    schedule.run(stage.s, daily)
    assert drained(stage) == [2]
    assert [(job.id, job.due) for job in stage.jobs()] == [(daily.id, daily.due)]


@promised(Can.UNDO)
def test_an_undo_puts_back_what_a_cancellation_took_away(stage: Stage) -> None:
    job = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1))
    admin, undos = stage.producer.admin, list[Undo]()
    admin.by(None, undos=undos).cancel(job)
    assert stage.jobs() == []
    if not undos:
        admin.steer(Undo(verb="cancel", job=job, kept=b"", place=""))
    admin.steer(undos[0])
    assert [(found.id, found.due) for found in stage.jobs()] == [(job.id, job.due)]
    with pytest.raises(ChangedMeanwhile):
        admin.steer(undos[0])


@promised(Can.INTERRUPT)
def test_one_run_is_cancelled_and_its_job_stays(stage: Stage) -> None:
    peer, added = stage.peer(), stage.add_with("run")
    claim = peer.claim_one()
    admin, job = stage.producer.admin, claim.job
    listener = next((info.listener for info in stage.producer.inspector.listeners() if info.running), "nobody")
    with pytest.raises(NotFound):
        admin.cancel(job, listener="nobody:1:0123456789ab")
    assert peer.cancelled() == set()
    assert admin.cancel(job, listener=listener).state == "cancelling"
    assert [found.state for found in stage.jobs()] == ["cancelling"]
    (told,) = peer.cancelled()
    assert told.startswith(f"{added.id}@"), "the run, and not the job"


@promised(Can.QUIET)
def test_a_listener_is_told_to_take_nothing_new(stage: Stage) -> None:
    name = min(stage.peer().names)
    assert stage.producer.admin.steer(Quieted(name, True))
    assert stage.producer.inspector.control().quiet == {name}
    states = {info.listener: info.state for info in stage.producer.inspector.listeners()}
    assert states[name] == "quiet"
    assert list(states.values()).count("quiet") == 1
    assert stage.producer.admin.steer(Quieted(name, False))
    assert stage.producer.inspector.control().quiet == set()


@promised(Can.NAME)
def test_a_job_of_the_same_name_is_replaced(stage: Stage) -> None:
    first = schedule.add(stage.s, stage.note, every="day at 9am", name="digest")
    assert not schedule.add(stage.s, stage.note, every="day at 9am", name="digest").new
    second = schedule.add(stage.s, stage.note, every="day at 10am", name="digest")
    assert second.id != first.id
    assert [job.id for job in stage.jobs()] == [second.id]
    assert schedule.job(stage.s, "digest").id == second.id
    assert set(stage.producer.plans.named()) == {"digest"}


@promised(Can.NAME)
def test_a_name_is_taken_until_the_run_of_its_job_has_ended(stage: Stage) -> None:
    def add(n: int, **how: Any) -> Job:
        return schedule.add_now(stage.s, stage.note, **stage.given(n), name="import", **how)

    def admitted() -> list[Claim]:
        return [went for claim in peer.claim() for went in peer.admit(claim, claim.admission(UNSAID, FREE))]

    peer, first = stage.peer(), add(1)
    (running,) = admitted()
    kept = add(2, on_conflict="keep")
    assert (kept.new, kept.id, kept.due) == (False, first.id, None)
    second = add(3)
    assert (second.new, second.replaced) == (True, None)
    assert admitted() == []
    third = add(4)
    assert (third.new, third.replaced) == (True, second.id)
    peer.end(running, Done())
    (running,) = admitted()
    assert stage.args(running) == (4,)
    peer.end(running, Done())
    assert stage.left() == 0


@promised(Can.UNIQUE)
def test_one_job_of_a_unique_key_waits(stage: Stage) -> None:
    first = schedule.add_now(stage.s, handlers.note, **stage.given(1), unique_key="order-7")
    again = schedule.add_now(stage.s, handlers.note, **stage.given(2), unique_key="order-7")
    assert (first.new, again.new) == (True, False)
    assert (again.id == first.id) == stage.layout.keeps_first
    assert drained(stage) == [1 if stage.layout.keeps_first else 2]
    assert schedule.add_now(stage.s, handlers.note, **stage.given(3), unique_key="order-7").new


@promised(Can.UNIQUE)
def test_an_addition_under_a_key_that_is_taken_never_tells_a_due_time_that_is_not_stored(stage: Stage) -> None:
    first = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given(1), unique_key="order-7")
    again = schedule.add(stage.s, stage.note, in_="2 hours", **stage.given(1), unique_key="order-7")
    assert (first.new, again.new) == (True, False)
    assert again.due in (first.due, None)  # None: the layout does not tell it


@promised(Can.TAGS)
def test_jobs_are_found_and_changed_by_a_tag(stage: Stage) -> None:
    first = schedule.add_now(stage.s, handlers.note, **stage.given(1), tags=["user:7", "paid"])
    schedule.add_now(stage.s, handlers.note, **stage.given(2), tags=["user:77"])
    assert [job.id for job in schedule.jobs(stage.s, tag="user:7")] == [first.id]
    assert schedule.counts(stage.s, tag="paid").all == 1
    assert [job.id for job in schedule.cancel(stage.s, tag="user:7")] == [first.id]
    assert drained(stage) == [2]


@promised(Can.GROUPS)
def test_what_follows_a_batch_runs_after_it(stage: Stage) -> None:
    with schedule.batch(stage.s, "import", then=FunctionCall(handlers.note, (3,))) as batch:
        for n in (1, 2):
            batch.add(handlers.note, args=[n])
    assert drained(stage) == [1, 2, 3]
    assert stage.noted(handlers.calls[-1])[0] == 3
    assert batch.state().state == "done"


@promised(Can.ONCE)
def test_the_first_job_of_a_lasting_key_is_returned_however_it_ended(stage: Stage) -> None:
    def add(n: int) -> Job:
        return schedule.add_now(stage.s, handlers.note, **stage.given(n), once_key="pay:7", once_for="90 days")

    first, again = add(1), add(2)
    assert (first.new, again.new, again.id, again.state, again.ending) == (True, False, first.id, "waiting", None)
    assert drained(stage) == [1]
    third = add(3)
    assert (third.new, third.id, third.state, third.ending, third.due) == (False, first.id, "done", "done", None)
    assert drained(stage) == []


@promised(Can.LIMIT_SCHEDULE)
def test_the_limit_of_a_schedule_stands_for_all_listeners(stage: Stage) -> None:
    stage.producer.admin.steer(Limited(limit=2, turn_ms=None))
    control = stage.another_producer()[0].inspector.control()
    assert (control.limit, control.turn_ms) == (2, None)


@promised(Can.LOOK)
def test_a_job_is_found_in_every_state_and_counted(stage: Stage) -> None:
    peer = stage.peer()
    waiting = schedule.add(stage.s, stage.note, in_="1 hour", **stage.given()).id
    dead, again, running, due = (stage.add_with(n).id for n in range(4))
    claims = {claim.id: claim for claim in peer.claim()}
    peer.end(claims[dead], Dead(failure=FAILURE))
    peer.end(claims[again], Again(delay_ms=60_000, attempt=1, failure=FAILURE))
    peer.end(claims[due], Done())
    due = stage.add_with(5).id
    expected = {waiting: "waiting", dead: "dead", again: "retrying", running: "running", due: "due"}
    assert {job.id: job.state for job in stage.jobs()} == expected
    for id, state in expected.items():
        assert schedule.job(stage.s, id).state == state
        assert schedule.job(stage.s, id[:8]).id == id
    counts = schedule.counts(stage.s)
    assert (counts.waiting, counts.due, counts.running, counts.retrying, counts.dead) == (1, 1, 1, 1, 1)
    assert {job.schedule for job in stage.jobs()} == {stage.name}


@promised(Can.LOOK_AT_DUE)
def test_what_is_due_and_what_is_dead_is_found_and_counted(stage: Stage) -> None:
    peer = stage.peer()
    dead = stage.add_with(1).id
    peer.end(peer.claim_one(), Dead(failure=FAILURE))
    peer.leave()
    due = [stage.add_with(n).id for n in range(2, 5)]
    found = list(schedule.jobs(stage.s, state="due"))
    assert {(job.id, job.fn, stage.args(job)) for job in found} == {
        (id, stage.note, (n,)) for n, id in enumerate(due, 2)
    }
    (gone,) = schedule.jobs(stage.s, state="dead")
    assert (gone.id, stage.args(gone), gone.error, gone.attempt) == (dead, (1,), FAILURE.line, 0)
    for id, state in ((dead, "dead"), *((id, "due") for id in due)):
        assert (schedule.job(stage.s, id).id, schedule.job(stage.s, id[:12]).state) == (id, state)
    counts = schedule.counts(stage.s)
    assert (counts.due, counts.dead) == (3, 1)
    for which in ("0" * 40, "abcdef", ""):
        with pytest.raises(NotFound) as caught:
            stage.producer.inspector.job(which)
        assert str(caught.value).startswith(f'no job "{which}" in {stage.name}.')


@promised(Can.LOOK)
def test_waiting_jobs_are_listed_soonest_first(stage: Stage) -> None:
    hours = [7, 3, 40, 1, 12, 5]
    for n in hours:
        schedule.add(stage.s, stage.note, in_=f"{n} hours", **stage.given(n))
    assert [stage.args(job)[0] for job in stage.jobs()] == sorted(hours)
    assert [stage.args(job)[0] for job in schedule.jobs(stage.s, state="waiting")] == sorted(hours)
    assert list(schedule.jobs(stage.s, state="dead")) == []


@promised(Can.LOOK_AT_DELAYED, refused=False)
def test_a_job_that_is_nowhere_is_refused_with_the_nearest(stage: Stage) -> None:
    ids = [schedule.add(stage.s, stage.note, in_=f"{n} hours", **stage.given()).id for n in range(1, 7)]
    for id in ids:
        with pytest.raises(NotFound) as caught:
            stage.producer.inspector.job(id[:5])
        assert (caught.value.given, caught.value.suggestion) == (id[:5], id[:8])
    for which in ("0" * 40, "abcdef", ""):
        with pytest.raises(NotFound) as caught:
            stage.producer.inspector.job(which)
        assert str(caught.value).startswith(f'no job "{which}" in {stage.name}.')


@promised(Can.LIST_LISTENERS, refused=False)
def test_listeners_are_listed_with_what_they_hold_until_they_leave(stage: Stage) -> None:
    stage.add(3)
    peer = stage.peer()
    claims = peer.claim()
    infos = stage.producer.inspector.listeners()
    assert {info.listener for info in infos} == peer.names
    assert sorted(stage.args(job)[0] for info in infos for job in info.running) == [0, 1, 2]
    for claim in claims:
        peer.end(claim, Done())
    peer.leave()
    assert stage.producer.inspector.listeners() == []
    assert schedule.counts(stage.s).listeners == 0


@promised(Can.CHECK)
def test_a_healthy_schedule_has_no_finding_and_a_dead_job_is_one(stage: Stage) -> None:
    stage.add(2)
    peer = stage.peer()
    first, _ = peer.claim()
    assert [f for f in stage.producer.doctor.checkup(patience_ms=0) if f.schedule] == []
    peer.end(first, Dead(failure=FAILURE))
    (finding,) = (f for f in stage.producer.doctor.checkup(patience_ms=0) if f.schedule)
    assert (finding.kind, finding.repairs) == ("dead", False)
    assert finding.what
    assert finding.why
    assert finding.remedy
    assert not stage.producer.doctor.repair(finding)


def test_a_pulse_tells_what_waits_runs_and_is_dead(stage: Stage) -> None:
    now_ms = stage.producer.now_ms()
    peer = stage.peer()
    stage.add_with(1)
    peer.end(peer.claim_one(), Dead(failure=FAILURE))
    stage.add_with(2)
    claim = peer.claim_one()
    (soon,) = stage.producer.adding([stage.new_job(3, due_ms=now_ms + MINUTE)])()
    pulse = stage.producer.inspector.pulse()
    assert abs(pulse.now_ms - now_ms) < MINUTE
    if Can.LOOK in stage.layout.can:
        assert not pulse.unknown
        assert (pulse.counts.waiting, pulse.counts.due, pulse.counts.running, pulse.counts.dead) == (1, 0, 1, 1)
        assert [(job.id, job.state) for job in pulse.soon] == [(soon.id, "waiting")]
        assert [job.id for info in pulse.listeners for job in info.running] == [claim.id]
    else:
        assert pulse.counts.dead == 1
        assert pulse.unknown["soon"].startswith("listing waiting jobs cannot be done here.")


@promised(Can.BY_TIME)
def test_what_waits_is_counted_by_its_time(stage: Stage) -> None:
    now_ms = stage.producer.now_ms() // 1000 * 1000 + 60 * MINUTE
    dues = (now_ms, now_ms + MINUTE - 1000, now_ms + MINUTE, now_ms + 3 * MINUTE)
    stage.producer.adding([stage.new_job(n, due_ms=due) for n, due in enumerate(dues)])()
    edges = [now_ms + n * MINUTE for n in range(4)]
    inspector = by_time_of(stage.s)
    assert inspector.ahead(edges) == [2, 1, 0]
    assert inspector.ahead(edges[:1]) == []
    peer = stage.peer()
    stage.add_with(5)
    peer.end(peer.claim_one(), Again(delay_ms=10 * MINUTE, attempt=1, failure=FAILURE))
    again_ms = stage.producer.now_ms() + 10 * MINUTE
    assert inspector.ahead([again_ms - 5 * MINUTE, again_ms + 5 * MINUTE]) == [1]


@promised(Can.PAUSE)
def test_a_pulse_tells_of_a_pause(stage: Stage) -> None:
    stage.producer.admin.steer(Paused("schedule", Pause(reason="migration")))
    stage.producer.adding([stage.new_job(n, due_ms=1000) for n in range(2)])()
    pulse = stage.producer.inspector.pulse()
    assert pulse.control.paused == {"schedule": Pause(reason="migration")}
    if Can.LOOK in stage.layout.can:
        assert (pulse.counts.due, pulse.counts.paused, pulse.counts.late_ms) == (0, 2, None)
        assert [(job.state, job.why) for job in pulse.soon] == [("paused", "paused: migration")] * 2


@promised(Can.TELL)
def test_listeners_tell_which_functions_they_know(stage: Stage) -> None:
    assert stage.producer.inspector.history.knows() == {}
    with schedule.listener(stage.s, **HOW):
        known = stage.producer.inspector.history.knows()["#'tests.handlers/welcome"]
        assert ([one.name for one in known.parameters], known.listeners) == (["email"], 1)
    assert stage.producer.inspector.history.knows() == {}


@promised(Can.NAME)
def test_a_name_is_given_only_where_what_was_seen_stands(stage: Stage) -> None:
    def named(retries: int, *, seen: str) -> Added:
        new = stage.new_job(1, due_ms=stage.producer.now_ms() + MINUTE)
        new.terms, new.options, new.seen = Terms(name="one"), RunOptions(retries=retries), seen
        return stage.producer.adding([new])()[0]

    assert named(1, seen="f" * 40).is_other
    first = named(1, seen="")
    assert first.new
    assert not first.is_other
    refused = named(2, seen="")
    assert (refused.is_other, refused.new, refused.id) == (True, False, first.id)
    second = named(2, seen=first.id)
    assert (second.new, second.replaced) == (True, first.id)
    assert named(3, seen=first.id).is_other
    assert stage.producer.inspector.job("one").id == second.id
