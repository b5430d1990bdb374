"""Pages of jobs: each job comes once, in the order of the list, and looking ends in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.capability import Can, promised
from tests.contract.stage import Stage
from workkit.contract.where import Has, JobPage, JobQuery, Term, Where, looked_up
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job

UNHURRIED = 60_000.0


def pages_of(stage: Stage, query: JobQuery) -> list[JobPage]:
    """Read all pages of a query."""
    found = [stage.producer.inspector.page(query)]
    while found[-1].after is not None:
        found.append(stage.producer.inspector.page(replace(query, after=found[-1].after)))
        assert len(found) < 100
    return found


def ids(jobs: list[Job]) -> list[str]:
    return [job.id for job in jobs]


@promised(Can.LOOK_AT_DUE, refused=False)
def test_pages_hold_each_job_once_in_the_order_of_the_list(stage: Stage) -> None:
    stage.add(7)
    pages = pages_of(stage, JobQuery(limit=3, budget_ms=UNHURRIED))
    assert [len(page.jobs) for page in pages] == [3, 3, 1]
    shown = [job for page in pages for job in page.jobs]
    assert ids(shown) == ids(list(stage.producer.inspector.jobs(state="due")))
    assert {job.state for job in shown} == {"due"}


@promised(Can.LOOK_AT_DUE, refused=False)
def test_a_page_holds_only_what_is_meant_and_says_how_many_it_looked_at(stage: Stage) -> None:
    added = stage.add(80)
    wanted = added[70].id
    query = JobQuery(where=Where(terms=(Term(field="id", test=Has(texts=(wanted,))),)), budget_ms=0)
    first, *others = pages_of(stage, query)
    assert first.after is not None
    assert 0 < first.looked < 80
    assert sum(page.looked for page in (first, *others)) == 80
    assert [job.id for page in (first, *others) for job in page.jobs] == [wanted]


@promised(Can.LOOK_AT_DUE, refused=False)
def test_a_page_of_one_state(stage: Stage) -> None:
    stage.add(3)
    (due,) = pages_of(stage, JobQuery(state="due"))
    assert len(due.jobs) == 3
    assert pages_of(stage, JobQuery(state="dead"))[0].jobs == ()


@promised(Can.LOOK_AT_DUE, refused=False)
def test_the_filter_sees_what_the_asker_sees(stage: Stage) -> None:
    stage.add(1)
    query = JobQuery(state="due", where=Where(texts=("hidden",)), see=lambda job: replace(job, name="hidden"))
    (page,) = pages_of(stage, query)
    assert [job.name for job in page.jobs] == ["hidden"]


@promised(Can.LOOK_AT_DUE, refused=False)
def test_a_place_that_is_none_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidOptions, match="is no place in this list"):
        stage.producer.inspector.page(JobQuery(state="due", after="here"))


@promised(Can.LOOK_AT_DUE, refused=False)
def test_a_job_that_a_filter_names_is_looked_up(stage: Stage) -> None:
    (one, other) = stage.add(2)
    find = stage.producer.inspector.job
    now = next(stage.producer.inspector.jobs(state="due")).due
    assert now is not None

    def found(id: str) -> list[str] | None:
        jobs = looked_up(
            Where(terms=(Term(field="id", test=Has(texts=(f"{id}*",), whole=True)),)), find, state=None, now=now
        )
        return None if jobs is None else [job.id for job in jobs]

    assert found(one.id) == [one.id]
    assert found(other.id) == [other.id]
    assert found("0" * 40) == []
    assert found("12345") is None


@promised(Can.LOOK_AT_DUE, refused=False)
def test_dead_records_of_a_job_are_looked_through(stage: Stage) -> None:
    (one,) = stage.add(1)
    where = Where(terms=(Term(field="id", test=Has(texts=(one.id,), whole=True)),))
    find = stage.producer.inspector.job
    now = next(stage.producer.inspector.jobs(state="due")).due
    assert now is not None
    assert looked_up(where, find, state="dead", now=now) is None
    found = looked_up(where, find, state="due", now=now)
    assert found is not None
    assert [job.id for job in found] == [one.id]
