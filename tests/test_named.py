"""Names: one job under each, found, replaced and cancelled by it; on one server and over shards."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import aio, errors, schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture(params=[1, 4])
def s(server: Server, name: str, request: pytest.FixtureRequest) -> schedule.Schedule:
    handlers.calls.clear()
    handlers.gate.clear()
    return schedule.create(name, redis=server.url, shards=request.param)


def test_the_same_again_changes_nothing(s: schedule.Schedule) -> None:
    first = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    again = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    assert (first.new, first.name, first.replaced) == (True, "digest", None)
    assert (again.new, again.id, again.due) == (False, first.id, first.due)


def test_other_words_replace_it(s: schedule.Schedule) -> None:
    first = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    second = schedule.add(s, handlers.note, every="day at 10am", name="digest")
    assert (second.new, second.replaced) == (True, first.id)
    assert [job.id for job in schedule.jobs(s)] == [second.id]


def test_a_job_is_found_and_cancelled_by_its_name(s: schedule.Schedule) -> None:
    added = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    schedule.add(s, handlers.note, every="day at 9am", name="other")
    found = schedule.job(s, "digest")
    assert (found.id, found.name, found.terms.name) == (added.id, "digest", "digest")
    assert schedule.cancel(s, "digest").id == added.id
    assert [job.name for job in schedule.jobs(s)] == ["other"]


def test_a_cancel_of_a_job_that_is_missing_returns_none_where_that_is_fine(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    found = schedule.cancel(s, job, missing_ok=True)
    assert (found and found.id) == job.id
    for which in ("digest", job.id, job.id[:8], job):
        assert schedule.cancel(s, which, missing_ok=True) is None
        assert asyncio.run(aio.cancel(s, which, missing_ok=True)) is None
        with pytest.raises(errors.NotFound):
            asyncio.run(aio.cancel(s, which))


def test_a_name_comes_before_the_beginning_of_an_id(s: schedule.Schedule) -> None:
    other = schedule.add(s, handlers.note, every="day at 9am")
    named = schedule.add(s, handlers.note, every="day at 9am", name=other.id[:8])
    assert schedule.job(s, other.id[:8]).id == named.id
    assert schedule.job(s, other.id).id == other.id


def test_a_name_that_is_not_there_is_refused_with_the_nearest(s: schedule.Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 9am", name="digest")
    for verb in (schedule.job, schedule.cancel):
        with pytest.raises(errors.NotFound, match=r'no job "digets" .* Nearest: "digest" tests\.handlers\.note \(wai'):
            verb(s, "digets")


def test_a_name_is_free_once_its_job_is_over(server: Server, s: schedule.Schedule) -> None:
    first = schedule.add_now(s, handlers.note, args=[1], name="import")
    assert schedule.drain(s, **HOW).ran == 1
    assert schedule.job(s, "import").state == "done"
    second = schedule.add_now(s, handlers.note, args=[2], name="import")
    assert (second.new, second.replaced) == (True, None)
    assert second.id != first.id
    assert schedule.drain(s, **HOW).ran == 1
    assert handlers.calls == [(1,), (2,)]
    assert not any(b":names" in key for key in server.client().scan_iter())


def test_a_run_that_has_begun_is_not_disturbed_by_its_successor(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.wait_for_gate, name="import")
    with schedule.listener(s, threads=2, **HOW):
        until(lambda: handlers.calls)
        second = schedule.add(s, handlers.note, at="2050-01-01", name="import")
        assert (second.new, second.replaced) == (True, None)
        assert schedule.job(s, "import").id == second.id
        handlers.gate.set()
        until(lambda: schedule.counts(s).totals.get("done") == 1)
    assert [job.id for job in schedule.jobs(s)] == [second.id]
    assert schedule.job(s, "import").id == second.id


@pytest.mark.parametrize("how", [{}, {"on_conflict": "replace"}], ids=str)
def test_what_is_added_under_the_name_of_a_running_job_waits_for_its_end(
    s: schedule.Schedule, how: dict[str, Any]
) -> None:
    schedule.add_now(s, handlers.wait_for_gate, name="import")
    with schedule.listener(s, threads=3, **HOW):
        until(lambda: handlers.calls)
        second = schedule.add_now(s, handlers.note, args=[2], name="import", **how)
        until(lambda: schedule.job(s, second).state == "held", what="the second one to wait")
        third = schedule.add_now(s, handlers.note, args=[3], name="import", **how)
        assert (second.new, third.new, third.replaced) == (True, True, second.id)
        kept = schedule.add_now(s, handlers.note, args=[4], name="import", on_conflict="keep")
        assert (kept.new, kept.id) == (False, third.id)
        until(lambda: schedule.job(s, third).state == "held", what="the third one to wait")
        assert len(handlers.calls) == 1
        handlers.gate.set()
        until(lambda: schedule.counts(s).totals.get("done") == 2)
    assert handlers.calls[1:] == [(3,)]


def test_keep_answers_the_job_of_the_name_whether_it_waits_or_runs(s: schedule.Schedule) -> None:
    first = schedule.add_now(s, handlers.wait_for_gate, name="import", on_conflict="keep")
    waits = schedule.add_now(s, handlers.note, args=[1], name="import", on_conflict="keep")
    assert (first.new, waits.new, waits.id) == (True, False, first.id)
    with schedule.listener(s, threads=3, **HOW):
        until(lambda: handlers.calls)
        for when in ("now", "2050-01-01"):
            again = schedule.add(s, handlers.note, at=when, name="import", on_conflict="keep")
            assert (again.new, again.id, again.due) == (False, first.id, None)
        handlers.gate.set()
        until(lambda: schedule.counts(s).totals.get("done") == 1)
    assert list(schedule.jobs(s)) == []
    assert schedule.add_now(s, handlers.note, name="import", on_conflict="keep").new, "it is over: the name is free"


def test_keep_leaves_a_recurring_job_of_the_name(s: schedule.Schedule) -> None:
    daily = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    again = schedule.add_now(s, handlers.note, name="digest", on_conflict="keep")
    assert (again.new, again.id, again.due) == (False, daily.id, daily.due)


def test_a_name_is_taken_while_its_job_waits_for_another_attempt(s: schedule.Schedule) -> None:
    first = schedule.add_now(s, handlers.fail, name="import", retries=1, base="1h")
    assert schedule.drain(s, raise_errors=False, **HOW).retried == 1
    kept = schedule.add_now(s, handlers.note, name="import", on_conflict="keep")
    assert (kept.new, kept.id) == (False, first.id)
    behind = schedule.add_now(s, handlers.note, args=["behind"], name="import")
    assert (behind.new, behind.replaced) == (True, None)
    assert schedule.drain(s, raise_errors=False, **HOW).ran == 0
    schedule.run(s, first)
    tally = schedule.drain(s, raise_errors=False, **HOW)
    assert (tally.failed, tally.ran) == (1, 1)
    assert handlers.calls[-1] == ("behind",)


def test_a_fan_out_that_runs_late_and_again_adds_each_part_once(s: schedule.Schedule) -> None:
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    for n in (1, 2):
        for is_new in (True, False):
            added = schedule.add(s, handlers.note, at=due, args=[n], name=f"part-{n}", late="run")
            assert (added.new, added.due) == (is_new, due)
    assert schedule.drain(s, **HOW).ran == 2
    assert sorted(handlers.calls) == [(1,), (2,)]


def test_a_job_that_adds_its_own_name_runs_again_after_its_end(s: schedule.Schedule) -> None:
    handlers.adds_to.append(s)
    schedule.add_now(s, handlers.add_itself, args=[1], name="poll")
    schedule.drain(s, **HOW)
    assert handlers.calls == [(1,), (2,), (3,)]


def test_a_recurring_job_that_adds_its_own_name_with_keep_stays(s: schedule.Schedule) -> None:
    handlers.adds_to.append(s)
    job = schedule.add(
        s, handlers.add_itself, every="day at 9am", args=[1], kwargs={"on_conflict": "keep"}, name="poll"
    )
    schedule.run(s, job)
    schedule.drain(s, **HOW)
    assert handlers.calls == [(1,)]
    assert [found.id for found in schedule.jobs(s)] == [job.id]


def test_add_many_takes_names_as_add_does(s: schedule.Schedule) -> None:
    rows = [{"fn": "app:f", "every": "day at 9am", "name": f"job-{n % 3}", "args": [n // 3]} for n in range(9)]
    assert schedule.add_many(s, rows).new == 9
    assert sorted(job.name or "" for job in schedule.jobs(s)) == ["job-0", "job-1", "job-2"]
    assert {job.args for job in schedule.jobs(s)} == {(2,)}
    assert schedule.add_many(s, rows[6:]).known == 3


def test_all_that_meet_by_a_name_or_a_key_stand_in_one_shard(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=16)
    for n in range(20):
        schedule.add(s, handlers.note, at="2050-01-01", args=[n], name="one")
        schedule.add(s, handlers.note, at="2050-01-01", args=[n], unique_key="one")
        schedule.add_now(s, handlers.note, args=[1], throttle="1m")
    assert len(list(schedule.jobs(s))) == 3


def test_a_named_job_is_paused_skipped_and_run_by_its_name(s: schedule.Schedule) -> None:
    added = schedule.add(s, handlers.note, every="day at 9am", name="digest")
    schedule.add(s, handlers.note, every="day at 9am", args=["other"])
    schedule.pause(s, "digest", reason="holiday")
    assert [job.name for job in schedule.jobs(s, state="paused")] == ["digest"]
    schedule.resume(s, "digest")
    assert list(schedule.jobs(s, state="paused")) == []
    assert added.due is not None
    assert (schedule.skip(s, "digest").due or added.due) > added.due
    schedule.run(s, "digest")
    assert schedule.drain(s, **HOW).ran == 1
    assert handlers.calls == [()]
    assert schedule.job(s, "digest").state == "waiting"
