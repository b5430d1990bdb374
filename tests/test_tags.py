"""Verbs that choose jobs by a tag: each finds and changes the jobs with it, and no error names another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers import Server
from workkit import Job, aio, schedule
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
OURS, THEIRS = "user:7", "user:77"


def work(text: str = "") -> None:
    if text == "fails":
        raise OSError("disk full")


def other() -> None: ...


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def ours(s: Schedule) -> list[Job]:
    """Two jobs of one user; another user has similar ones."""
    schedule.add(s, work, at="2050-01-01 9am", args=["c"], tags=[THEIRS], name="report-8")
    schedule.add(s, work, every="day at 9am", args=["d"], name="report-9")
    return [
        schedule.add(s, work, every="day at 9am", args=["a"], tags=["paid", OURS], name="report-7"),
        schedule.add(s, other, every="day at 10am", tags=[OURS]),
    ]


def ids(jobs: Any) -> set[str]:
    return {job.id for job in jobs}


def test_listings_and_counts_have_the_jobs_with_a_tag(s: Schedule, ours: list[Job]) -> None:
    assert ids(schedule.jobs(s, tag=OURS)) == ids(schedule.jobs(s, where=f"tag:{OURS}")) == ids(ours)
    assert ids(schedule.jobs(s, tag=OURS, where="fn:other")) == {ours[1].id}
    assert ids(schedule.jobs(s, tag="paid", names="report-*")) == {ours[0].id}
    assert list(schedule.jobs(s, tag="user")) == list(schedule.jobs(s, tag=OURS, state="dead")) == []
    schedule.add_now(s, work, args=["fails"], tags=[OURS])
    schedule.drain(s, raise_errors=False, **HOW)
    counts = schedule.counts(s, tag=OURS)
    assert (counts.waiting, counts.dead, counts.all, counts.late_ms) == (2, 1, 3, None)
    assert set(counts.unknown) == {"listeners", "totals", "known_dead"}
    schedule.add_now(s, work, tags=["late"])
    due = schedule.counts(s, tag="late")
    assert (due.due, due.all) == (1, 1)
    assert due.late_ms is not None
    assert 0 <= due.late_ms < 60_000
    assert schedule.counts(s, tag="nobody").all == 0


def test_cancel_takes_all_jobs_with_a_tag(s: Schedule, ours: list[Job]) -> None:
    assert ids(schedule.cancel(s, tag=OURS)) == ids(ours)
    assert {job.name for job in schedule.jobs(s)} == {"report-8", "report-9"}
    with pytest.raises(NotFound, match='no job with the tag "user:7" waits or runs in'):
        schedule.cancel(s, tag=OURS)
    assert schedule.cancel(s, tag=OURS, missing_ok=True) == []


def test_a_job_that_is_named_too_must_have_the_tag(s: Schedule, ours: list[Job]) -> None:
    with pytest.raises(NotFound, match='no job "report-8" with the tag "user:7"'):
        schedule.cancel(s, "report-8", tag=OURS)
    assert schedule.cancel(s, "report-8", tag=OURS, missing_ok=True) is None
    assert schedule.cancel(s, "report-7", tag=OURS).id == ours[0].id
    assert schedule.cancel(s, ours[1].id[:8], tag=OURS).id == ours[1].id
    assert {job.name for job in schedule.jobs(s)} == {"report-8", "report-9"}


def test_pause_and_resume_take_all_jobs_with_a_tag(s: Schedule, ours: list[Job]) -> None:
    schedule.pause(s, tag=OURS, reason="unpaid")
    assert ids(schedule.jobs(s, state="paused")) == ids(ours)
    schedule.resume(s, tag=OURS)
    assert list(schedule.jobs(s, state="paused")) == []
    schedule.pause(s, tag=OURS, fn=other)
    assert ids(schedule.jobs(s, state="paused")) == {ours[1].id}
    schedule.resume(s, tag=OURS, fn=work)
    assert ids(schedule.jobs(s, state="paused")) == {ours[1].id}
    schedule.resume(s, ours[1], tag=OURS)
    assert list(schedule.jobs(s, state="paused")) == []
    schedule.pause(s, fn=work)  # a pause of the function stays
    schedule.resume(s, tag=OURS)
    assert any(target.startswith("fn:") for target in schedule_control(s))


def schedule_control(s: Schedule) -> Any:
    from workkit.verbs.opening import producer_of

    return producer_of(s).inspector.control().paused


def test_times_change_for_all_jobs_with_a_tag_or_for_none(s: Schedule, ours: list[Job]) -> None:
    before = {job.id: job.due for job in schedule.jobs(s)}
    skipped = {job.id: job.due for job in schedule.skip(s, tag=OURS)}
    assert set(skipped) == ids(ours)
    assert all(skipped[id] > before[id] for id in skipped)  # type: ignore[operator]
    snoozed = {job.id: job.due for job in schedule.snooze(s, time="30 minutes", tag=OURS)}
    assert all(snoozed[id] > skipped[id] for id in skipped)  # type: ignore[operator]
    moved = schedule.reschedule(s, tag=OURS, every="day at 8pm")
    assert {job.tags for job in moved} == {("paid", OURS), (OURS,)}
    assert ids(schedule.jobs(s, tag=OURS)) == ids(moved)
    assert schedule.job(s, "report-8").due == before[schedule.job(s, "report-8").id]

    once = schedule.add(s, work, at="2050-01-01 9am", tags=[OURS])
    at = {job.id: job.due for job in schedule.jobs(s)}
    with pytest.raises(InvalidOptions, match=f"{once.short_id} .* runs once"):
        schedule.skip(s, tag=OURS)
    counted = schedule.add(s, work, every="day at 9am", count=3, args=["counted"], tags=[OURS])
    at[counted.id] = counted.due
    with pytest.raises(InvalidOptions, match="count= with a job that runs once"):
        schedule.reschedule(s, tag=OURS, at="2050-01-01 10am")
    schedule.pause(s, once)
    with pytest.raises(InvalidOptions):
        schedule.snooze(s, time="1 hour", tag=OURS)
    assert {job.id: job.due for job in schedule.jobs(s)} == at


def test_dead_jobs_are_chosen_by_a_tag(s: Schedule) -> None:
    for tag in (OURS, THEIRS):
        for _ in range(2):
            schedule.add_now(s, work, args=["fails"], tags=[tag])
    schedule.drain(s, raise_errors=False, **HOW)
    mine = schedule.dead(s, tag=OURS)
    assert ids(mine) == ids(schedule.jobs(s, state="dead", tag=OURS))
    assert len(mine) == 2
    assert ids(schedule.dead(s, mine[0], tag=OURS)) == {mine[0].id}
    assert schedule.retry(s, tag=OURS, where="no such error") == 0
    assert schedule.retry(s, mine[0], tag=OURS) == 1
    assert [job.tags for job in schedule.jobs(s, state="due")] == [(OURS,)]
    assert schedule.discard(s, tag=OURS, where="disk full") == 1
    assert schedule.discard(s, tag=OURS) == 0
    assert {job.tags for job in schedule.dead(s)} == {(THEIRS,)}
    with pytest.raises(NotFound, match="no dead job"):
        schedule.retry(s, schedule.dead(s)[0], tag=OURS)


VERBS: list[Callable[..., Any]] = [
    schedule.cancel,
    schedule.pause,
    schedule.resume,
    schedule.skip,
    lambda s, *which, **tag: schedule.reschedule(s, *which, at="2050-01-01 9am", **tag),
    lambda s, *which, **tag: schedule.snooze(s, *which, time="1 hour", **tag),
    schedule.dead,
    schedule.retry,
    schedule.discard,
]
EVERY: list[Callable[..., Any]] = [*VERBS, schedule.jobs, schedule.counts]


@pytest.mark.parametrize("verb", VERBS, ids=range(len(VERBS)))
def test_an_error_for_one_tag_names_no_job_of_another(s: Schedule, verb: Callable[..., Any]) -> None:
    theirs = schedule.add(s, work, every="day at 9am", tags=[THEIRS, "secret"], name="report-8")
    schedule.add_now(s, work, args=["fails"], tags=[THEIRS, "secret"])
    schedule.drain(s, raise_errors=False, **HOW)
    (grave,) = schedule.dead(s)
    hidden = {"report-8", theirs.id, theirs.short_id, grave.id, grave.short_id, THEIRS, "secret"}
    for which in ("report-", "report-7", "report-8", theirs.id[:6], theirs.id[:5], theirs, grave.id[:6], grave, "x"):
        with pytest.raises(NotFound) as caught:
            verb(s, which, tag=OURS)
        text = f"{caught.value} {caught.value.suggestion} {caught.value.remedy} {caught.value.accepted}"
        asked = which.id if isinstance(which, Job) else which
        assert not [one for one in hidden if one in text and one not in asked], text
        assert not getattr(caught.value, "ids", ())
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert {job.state for job in schedule.jobs(s)} == {"waiting", "dead"}


@pytest.mark.parametrize(
    ("tag", "said"), [("user:*", "has a *"), ("", "is empty"), (7, "is not a text"), ("x" * 65, "has 65 bytes")]
)
def test_what_is_no_tag_is_refused(s: Schedule, tag: Any, said: str) -> None:
    for verb in EVERY:
        with pytest.raises(InvalidOptions, match="tag=") as caught:
            verb(s, tag=tag)
        assert said in str(caught.value).replace("\\", "")
        assert caught.value.where == "tag"


def test_a_verb_without_a_job_and_without_a_tag_is_refused(s: Schedule) -> None:
    for verb in (VERBS[0], *VERBS[3:6]):
        with pytest.raises(InvalidOptions, match="neither a name, an id nor a Job"):
            verb(s)


def test_a_layout_without_tags_refuses_them(server: Server, name: str) -> None:
    other = schedule.create(name, redis=server.url, layout="gocraft")
    for verb in EVERY:
        with pytest.raises(Unsupported, match="jobs have no tags in layout='gocraft'"):
            verb(other, tag=OURS)


def test_coroutines_choose_by_a_tag_too(s: Schedule, ours: list[Job]) -> None:
    async def all_of_them() -> None:
        assert ids([job async for job in aio.jobs(s, tag=OURS)]) == ids(ours)
        assert (await aio.counts(s, tag=OURS)).waiting == 2
        assert len(await aio.skip(s, tag=OURS)) == len(await aio.snooze(s, time="1 hour", tag=OURS)) == 2
        assert len(await aio.reschedule(s, tag=OURS, every="day at 8pm")) == 2
        await aio.pause(s, tag=OURS)
        await aio.resume(s, tag=OURS)
        assert len(await aio.cancel(s, tag=OURS)) == 2
        assert await aio.dead(s, tag=OURS) == []
        assert await aio.retry(s, tag=OURS) == await aio.discard(s, tag=OURS) == 0

    asyncio.run(all_of_them())
