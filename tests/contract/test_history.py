"""Past runs: each is told of with its ending, and all are counted."""

from __future__ import annotations

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, HOW, Stage
from tests.processes import until
from workkit import schedule
from workkit.contract.history import ALL, Cell, PastRun
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.outcome import Again, Dead, Ran
from workkit.verbs.past import summed

RAN = Ran(late_ms=3, took_ms=5)


def of_ending(stage: Stage) -> dict[str, PastRun]:
    return {run.ending: run for run in stage.producer.inspector.history.runs()}


@promised(Can.REMEMBER)
def test_a_run_that_failed_is_kept_with_its_error(stage: Stage) -> None:
    peer = stage.peer()
    stage.add_with(1)
    peer.end(peer.claim_one(), Again(delay_ms=0, attempt=1, failure=FAILURE, ran=RAN))
    stage.add_with(2)
    for claim in peer.claim():
        peer.end(claim, Dead(failure=FAILURE, ran=RAN))
    found = of_ending(stage)
    assert found.keys() == {"retried", "dead"}
    for run in found.values():
        assert (run.late_ms, run.took_ms, run.error) == (3, 5, "OSError: disk full")
        assert (run.ended - run.due).total_seconds() == pytest.approx(0.008)


@promised(Can.REMEMBER)
def test_runs_are_read_up_to_an_instant(stage: Stage) -> None:
    first = stage.add_with(1)
    assert schedule.drain(stage.s, **HOW).ran == 1
    ended = stage.producer.now_ms()  # an estimate of the server's clock
    until(lambda: stage.producer.now_ms() > ended + 100)
    then = stage.producer.now_ms()
    until(lambda: stage.producer.now_ms() > then + 100)
    second = stage.add_with(2)
    assert schedule.drain(stage.s, **HOW).ran == 1
    inspector = stage.producer.inspector
    assert [run.id for run in inspector.history.runs()] == [second.id, first.id]
    assert [run.id for run in inspector.history.runs(until_ms=then)] == [first.id]
    assert [run.id for run in inspector.history.runs(since_ms=then + 1)] == [second.id]


@promised(Can.REMEMBER)
def test_a_job_that_is_over_is_told_from_one_that_never_was(stage: Stage) -> None:
    over = stage.add_with(1)
    assert schedule.drain(stage.s, **HOW).ran == 1
    assert [run.id for run in schedule.runs(stage.s, over.id)] == [over.id]
    found = schedule.job(stage.s, over.id)
    assert (found.state, found.ending, found.id) == ("done", "done", over.id)
    with pytest.raises(NotFound):
        schedule.job(stage.s, "f" * 40)
    with pytest.raises(NotFound):
        schedule.cancel(stage.s, over.id)
    with pytest.raises(NotFound):
        schedule.runs(stage.s, "f" * 40)


@promised(Can.REMEMBER)
def test_all_runs_are_counted(stage: Stage) -> None:
    for n in range(20):
        stage.add_with(n)
    assert schedule.drain(stage.s, **HOW).ran == 20
    cell = summed(schedule.history(stage.s, over="1 hour"))
    assert (cell.done, cell.runs, cell.durations.total) == (20, 20, 20)
    assert sum(run.times for run in schedule.runs(stage.s)) == 20
    assert stage.producer.inspector.history.past(ALL, since_ms=0, until_ms=1, tier="d")[0].cell == Cell()


@promised(Can.REMEMBER)
def test_who_changed_what_is_kept(stage: Stage) -> None:
    job = stage.add_with(1)
    schedule.pause(stage.s, reason="migration", by="alice")
    schedule.resume(stage.s, by="bob")
    schedule.cancel(stage.s, job.id, by="carol")
    found = [(change.verb, change.by, change.id) for change in schedule.changes(stage.s)]
    assert found == [("cancel", "carol", job.id), ("resume", "bob", None), ("pause", "alice", None)]


@promised(Can.REMEMBER)
def test_a_mark_is_among_the_changes(stage: Stage) -> None:
    schedule.mark(stage.s, "release 41", by="deploy")
    found = [(change.verb, change.by, change.after) for change in schedule.changes(stage.s)]
    assert found == [("mark", "deploy", {"text": "release 41"})]


@promised(Can.REMEMBER)
def test_a_single_run_has_a_place_from_which_others_are_read(stage: Stage) -> None:
    inspector = stage.producer.inspector
    peer = stage.peer()
    stage.add(6)
    for claim in peer.claim():
        peer.end(claim, Dead(failure=FAILURE, ran=RAN))
    runs = list(inspector.history.runs())
    assert len(runs) == len({run.place for run in runs}) == 6
    for k, run in enumerate(runs):
        assert run.place is not None
        assert inspector.history.run(run.place) == run
        assert list(inspector.history.runs(before=run.place)) == runs[k + 1 :]
    assert list(inspector.history.runs(until_ms=1)) == []
    for place in ("1-1", "0.1-1", "here", ""):
        with pytest.raises(NotFound):
            inspector.history.run(place)
    with pytest.raises(InvalidOptions):
        list(inspector.history.runs(before="here"))
