"""What the inspector promises of the dead set as it is read from a place on."""

from __future__ import annotations

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import FAILURE, Stage
from workkit import schedule
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.outcome import Dead
from workkit.text.wording import epoch_ms
from workkit.verbs.opening import by_time_of


def die(stage: Stage, *numbers: int) -> None:
    for number in numbers:
        stage.add_with(number)
    peer = stage.peer()
    while claims := peer.claim():
        for claim in claims:
            peer.end(claim, Dead(failure=FAILURE))


@promised(Can.BY_TIME)
def test_dead_jobs_are_read_in_pages_and_those_that_die_later_stand_behind_them(stage: Stage) -> None:
    inspector = by_time_of(stage.s)
    assert inspector.graves().is_last
    die(stage, *range(7))
    found: list[Job] = []
    after = ""
    for _ in range(20):
        page = inspector.graves(after=after, limit=3)
        assert len(page.jobs) <= 3
        found += page.jobs
        after = page.after
        if page.is_last:
            break
    assert sorted(stage.args(job)[0] for job in found) == list(range(7))
    assert {job.dead_id for job in found} == {job.dead_id for job in schedule.dead(stage.s)}
    assert {(job.state, job.error) for job in found} == {("dead", FAILURE.line)}
    assert inspector.graves(after=page.after).jobs == ()
    known = {job.dead_id for job in found}
    assert {job.dead_id for job in inspector.graves(after=page.again).jobs} <= known
    died = {job.dead_id: epoch_ms(job.due) for job in found if job.due}
    new = inspector.graves(after=page.again, is_known=lambda dead_id, died_ms: died[dead_id] == died_ms)
    assert (new.jobs, new.after, new.is_last) == ((), page.after, True)
    assert inspector.graves(is_known=lambda dead_id, died_ms: died[dead_id] != died_ms).jobs == tuple(found)
    die(stage, 7)
    (late,) = (job for job in inspector.graves(after=page.again).jobs if job.dead_id not in known)
    assert stage.args(late) == (7,)
    with pytest.raises(InvalidOptions):
        inspector.graves(after="yesterday")


@promised(Can.BY_TIME)
def test_who_is_dead_still_is_told(stage: Stage) -> None:
    inspector = by_time_of(stage.s)
    assert inspector.still_dead([]) == []
    die(stage, *range(3))
    jobs = sorted(inspector.graves().jobs, key=stage.args)
    assert schedule.retry(stage.s, jobs[1]) == 1
    assert inspector.still_dead(jobs) == [True, False, True]
